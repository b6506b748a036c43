package terminal

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

func write(t *testing.T, r *model.Result, o Options) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The golden file is rewritten by: go test ./reports/terminal -rewrite
func TestGolden(t *testing.T) {
	datadriven.RunTest(t, "testdata/terminal.txt", func(t *testing.T, d *datadriven.TestData) string {
		r := modeltest.Result()
		if d.Cmd == "empty" {
			r = &model.Result{Status: rule.Error.String(), Reason: "sim: limit reached",
				Impl: [2]string{"gbn", "irn"}, Bench: "sim"}
		}
		return strings.ReplaceAll(write(t, r, Options{Color: d.HasArg("color")}), "\x1b", "^")
	})
}

func TestColoursOnlyWhenAsked(t *testing.T) {
	plainText, coloured := write(t, modeltest.Result(), Options{}), write(t, modeltest.Result(), Options{Color: true})
	if strings.Contains(plainText, "\x1b") {
		t.Error("colours without being asked for")
	}
	bare := coloured
	for _, sgr := range []string{"0", bold, dim, red, green, yellow, bold + ";" + red} {
		bare = strings.ReplaceAll(bare, "\x1b["+sgr+"m", "")
	}
	if bare != plainText {
		t.Errorf("colours change the text:\n%q\n%q", bare, plainText)
	}
}

// Text from a device or a file does not move the cursor or set the title of the window.
func TestHostileText(t *testing.T) {
	r := modeltest.Result()
	nasty := "\x1b]0;owned\a\x1b[2J\r\b\u202e"
	r.Reason, r.Bench, r.Warnings[0], r.Report, r.Verdicts[2].Title, r.Verdicts[2].Findings[0].Text = nasty, nasty,
		nasty, nasty, nasty, nasty
	r.Ladders[0].Text, r.Certificates[1].Reason, r.Certificates[1].Items[0].Got = nasty, nasty, nasty
	got := write(t, r, Options{})
	if strings.ContainsAny(got, "\x1b\a\r\b\u202e") {
		t.Errorf("control characters in %q", got)
	}
}

func TestLadderExcerptHoldsTheFinding(t *testing.T) {
	for _, at := range []int{1, 5, 20, 39} {
		var b strings.Builder
		b.WriteString("header\n")
		for i := range 40 {
			mark := ""
			if i == at {
				mark = "  <== RULE"
			}
			fmt.Fprintf(&b, "line %d%s\n", i, mark)
		}
		var p printer
		p.ladder(b.String())
		got := p.String()
		if strings.Count(got, "\n") != ladderLines+1 || !strings.Contains(got, fmt.Sprintf("line %d  <== RULE\n",
			at)) || !strings.Contains(got, "header") {
			t.Errorf("finding in line %d:\n%s", at, got)
		}
	}
}

func TestManyFailuresAreListedShortly(t *testing.T) {
	r := modeltest.Result()
	v := r.Verdicts[2]
	r.Verdicts = nil
	for range failuresShown + 5 {
		r.Verdicts = append(r.Verdicts, v)
	}
	got := write(t, r, Options{})
	if all, full := strings.Count(got, "FAIL RC-NAK-002: "), strings.Count(got, "WRITE_MIDDLE"); all != failuresShown+
		5 || full != failuresShown {
		t.Errorf("%d failures, %d of them in full\n%s", all, full, got)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriteErrorIsReturned(t *testing.T) {
	if err := Write(full{}, modeltest.Result(), Options{}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("error %v", err)
	}
}
