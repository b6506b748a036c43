package markdown

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

func write(t *testing.T, r *model.Result) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The golden file is rewritten by: go test ./reports/markdown -rewrite
func TestGolden(t *testing.T) {
	datadriven.RunTest(t, "testdata/markdown.txt", func(t *testing.T, d *datadriven.TestData) string {
		r := modeltest.Result()
		if d.Cmd == "empty" {
			r = &model.Result{Status: rule.Error.String(), Reason: "sim: limit reached", Impl: r.Impl, Bench: "sim"}
		}
		return write(t, r)
	})
}

func TestHostileText(t *testing.T) {
	r := modeltest.Result()
	nasty := "<script>alert(1)</script> | **x** `y`\n# heading ``` [a](b)"
	r.Verdicts[2].Title, r.Verdicts[4].Reason, r.Warnings[0], r.Command, r.Ladders[0].Text = nasty, nasty,
		nasty, nasty, nasty
	got := write(t, r)
	parts := strings.Split(got, "````")
	if len(parts) != 5 {
		t.Fatalf("%d fences in\n%s", len(parts)-1, got)
	}
	text := parts[0] + parts[2] + parts[4] // code blocks are literal
	for _, c := range special {
		text = strings.ReplaceAll(text, `\`+string(c), "")
	}
	for _, bad := range []string{"<script", "\n# heading", "[a]", "**x**", "`y`"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q became markup in\n%s", bad, text)
		}
	}
}

func TestListIsBounded(t *testing.T) {
	r := modeltest.Result()
	v := r.Verdicts[2]
	r.Verdicts, r.Ladders = nil, nil
	for range failuresShown + 5 {
		r.Verdicts = append(r.Verdicts, v)
	}
	got := write(t, r)
	if n := strings.Count(got, "- **FAIL**"); n != failuresShown || !strings.Contains(got, "- and 5 more\n") {
		t.Errorf("%d failures listed in\n%s", n, got)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriteErrorIsReturned(t *testing.T) {
	if err := Write(full{}, modeltest.Result()); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("error %v", err)
	}
}

// A list of what a gate left out that is cut says how much it lacks; one that is not, nothing.
func TestLeftOutIsBounded(t *testing.T) {
	for n, want := range map[int]string{leftShown: "s40\n</details>", leftShown + 48: "s40, and 48 more\n</details>"} {
		g, out := modeltest.Gate(), &strings.Builder{}
		g.Stages[1].Left = nil
		for i := range n {
			g.Stages[1].Left = append(g.Stages[1].Left, fmt.Sprint("s", i+1))
		}
		if err := Gate(out, g); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%d: no %q in %s, %v", n, want, out, err)
		}
	}
}
