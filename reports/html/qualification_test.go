package html

import (
	"regexp"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

func writeQualification(t *testing.T, q *model.Qualification) string {
	t.Helper()
	var b strings.Builder
	if err := Qualification(&b, q); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestQualificationShowsEverything(t *testing.T) {
	q := modeltest.Qualification()
	q.Scenarios[1].Certificates[0].Items = []certify.Item{{Name: "A>B delay", Want: "5 ms", Got: "9 ms", Bound: "1 ms"}}
	q.Capabilities[0].Said = map[string]string{"program": "mine"}
	got := writeQualification(t, q)
	for _, want := range []string{"<title>NOT QUALIFIED · exec:./mine for rc-gbn", "0123456789ab",
		"GBN-NAK-002 FAIL: second NAK", "second NAK of psn=&#43;2", "loss-middle",
		"waived by lab until 2027-01-31", "2 of 2 certificates valid", "0 of 1 certificates valid",
		"A&gt;B delay: 9 ms, want 5 ms", "XPASS", "EXPIRED", "<td>" + quantity.Count(5000) + "</td>",
		`href="./scenarios/loss-middle/report.html"`, "bound of <strong>PT-XX-01</strong>",
		"does not declare operation READ", q.Command, "kernel", "&#34;program&#34;: &#34;mine&#34;"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
	for _, re := range []*regexp.Regexp{loads, handler, regexp.MustCompile(`<script`)} {
		if found := re.FindString(got); found != "" {
			t.Errorf("found %q", found)
		}
	}
}

// TestQualificationOverABadLink: a page with a FAIL never says that it says nothing about the device, whether or not
// the profile requires the rule.
func TestQualificationOverABadLink(t *testing.T) {
	const nothing = "says nothing about"
	q := modeltest.Qualification()
	got := writeQualification(t, q)
	for _, want := range []string{"<strong>NOT QUALIFIED (link INVALID)</strong>",
		"FAIL: link INVALID in loss-tail, during the run: late, which takes nothing from what stands"} {
		if !strings.Contains(got, want) || strings.Contains(got, nothing) {
			t.Errorf("no %q, or it %q", want, nothing)
		}
	}
	q.Targets, q.Rules[2].Required = nil, false // the profile does not require the rule of the FAIL
	if q.Settle(); q.Status != "INVALID" || strings.Contains(writeQualification(t, q), nothing) {
		t.Errorf("%s, and the page %s the device above a FAIL", q.Status, nothing)
	}
	q.Rules[2].Status = "INCONCLUSIVE"
	if q.Settle(); q.Status != "INVALID" || !strings.Contains(writeQualification(t, q), nothing) {
		t.Errorf("%s, and the page does not say that it %s the device", q.Status, nothing)
	}
}

// Text of a program is escaped, and an empty qualification gives a page as well.
func TestQualificationOdd(t *testing.T) {
	q := modeltest.Qualification()
	q.Subject, q.Rules[0].Finding, q.Capabilities[0].Said = "<script>x</script>", `"><img src=x onerror=y>`,
		"</pre><script>"
	if got := writeQualification(t, q); strings.Contains(got, "<script>") || strings.Contains(got, "<img") {
		t.Error("markup of a program got through")
	}
	if got := writeQualification(t, &model.Qualification{Status: "PASS", Qualified: true}); !strings.Contains(got,
		"The profile has no targets") {
		t.Error("an empty page is not one")
	}
}
