package junit

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

// The golden file is rewritten by: go test ./reports/junit -rewrite
func TestGolden(t *testing.T) {
	datadriven.RunTest(t, "testdata/junit.txt", func(t *testing.T, d *datadriven.TestData) string {
		r := modeltest.Result()
		switch d.Cmd {
		case "invalid":
			r.Status, r.Reason, r.Verdicts = rule.Invalid.String(), "link certificate: "+r.Certificates[1].Reason, nil
		case "fault":
			r.Status, r.Validity, r.Verdicts = rule.Fail.String(), validity.Valid, nil
			r.Fault = &model.Fault{Side: "A", Program: "exec:./mine", What: "endpoint A ended in the middle of the run"}
			r.Reason = r.Fault.What
		case "empty":
			r.Status, r.Verdicts = rule.Pass.String(), nil
		}
		var b strings.Builder
		if err := Write(&b, r); err != nil {
			t.Fatal(err)
		}
		return b.String()
	})
}

// Text of devices and files is untrusted: the document stays well-formed, and none of the text becomes markup.
func TestHostileText(t *testing.T) {
	r := modeltest.Result()
	nasty := "</failure><x a=\"1\">&amp; ]]> \x00\x1b[31m \xff \uFFFE"
	r.Reason, r.Status, r.Impl[0], r.Spec = nasty, rule.Error.String(), nasty, nasty
	r.Ladders[0].Text = nasty
	for i := range r.Verdicts {
		r.Verdicts[i].Title, r.Verdicts[i].Reason = nasty, nasty
		for k := range r.Verdicts[i].Findings {
			r.Verdicts[i].Findings[k].Text = nasty
		}
	}
	var b strings.Builder
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	cases := 0
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not well formed: %v\n%s", err, b.String())
		}
		if e, ok := token.(xml.StartElement); ok {
			if e.Name.Local == "x" {
				t.Error("text became markup")
			}
			if e.Name.Local == "testcase" {
				cases++
			}
		}
	}
	if want := len(r.Verdicts) + 2; cases != want {
		t.Errorf("%d testcases, want %d", cases, want)
	}
}

type broken struct{ after int }

func (b *broken) Write(p []byte) (int, error) {
	if b.after--; b.after < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestWriteErrorIsReturned(t *testing.T) {
	for after := range 2 {
		if err := Write(&broken{after}, modeltest.Result()); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("after %d writes: error %v", after, err)
		}
	}
}
