package junit

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

func TestQualification(t *testing.T) {
	var b strings.Builder
	if err := Qualification(&b, modeltest.Qualification()); err != nil {
		t.Fatal(err)
	}
	var doc suites
	if err := xml.Unmarshal([]byte(b.String()), &doc); err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	// Failures: FAIL, XPASS, a core rule without a verdict, and three targets outside, and with them the verdict
	// itself, although a link was not valid. Errors: the scenario of that link, and the targets without a run.
	if doc.Tests != 3+7+12 || doc.Failures != 7 || doc.Errors != 3 || doc.Skipped != 3 {
		t.Errorf("%d tests, %d failures, %d errors, %d skipped\n%s", doc.Tests, doc.Failures, doc.Errors,
			doc.Skipped, b.String())
	}
	for _, want := range []string{`message="NOT QUALIFIED: `, "second NAK of psn=+2", "PT-XX-03: first",
		`name="targets"`, `name="impl_a" value="exec:./mine"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q", want)
		}
	}
}

// The verdict is a failure when the implementation is at fault, and neither failure nor error when it is qualified.
func TestQualificationVerdict(t *testing.T) {
	for _, c := range []struct {
		q       model.Qualification
		failure bool
		err     bool
	}{
		{model.Qualification{Qualified: true, Status: "PASS"}, false, false},
		{model.Qualification{Status: "FAIL"}, true, false},
		{model.Qualification{Status: "INVALID"}, false, true},
	} {
		if got := verdictCase(&c.q); (got.Failure != nil) != c.failure || (got.Error != nil) != c.err {
			t.Errorf("%s: %+v", c.q.Status, got)
		}
	}
}
