package waivers

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
)

func parsed(t *testing.T, text string) []Waiver {
	t.Helper()
	list, err := parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestWaivers(t *testing.T) {
	w := parsed(t, "# known\n\nwaive RC-RNR-* impl=rxe kernel=6.1..6.6 owner=net expires=2027-01-31 : code 25\n")
	for _, c := range []struct {
		impl, kernel, today string
		before, want        rule.Status
		reason              string
	}{
		{"rxe", "6.1.0-56-amd64", "2027-01-31", rule.Fail, rule.XFail, "waived by net"},
		{"rxe", "6.6.50", "2027-01-31", rule.Pass, rule.XPass, "but passes"},
		{"rxe", "6.6.117+deb12-amd64", "2027-01-31", rule.Fail, rule.XFail, "waived by net"},
		{"rxe", "6.6+", "2027-01-31", rule.Fail, rule.XFail, "waived by net"},
		{"rxe", "6.1.fc", "2027-01-31", rule.Fail, rule.XFail, "waived by net"},
		{"rxe", "6.7.1+deb12", "2027-01-31", rule.Fail, rule.Fail, ""},
		{"rxe", "6.1", "2027-02-01", rule.Fail, rule.Fail, "expired on 2027-01-31"},
		{"rxe", "6.1", "2027-02-01", rule.Pass, rule.Pass, ""},
		{"rxe", "6.12.0", "2027-01-31", rule.Fail, rule.Fail, ""},
		{"rxe", "5.15.3", "2027-01-31", rule.Fail, rule.Fail, ""},
		{"rxe", "", "2027-01-31", rule.Fail, rule.Fail, ""},
		{"gbn", "6.1", "2027-01-31", rule.Fail, rule.Fail, ""},
		{"rxe", "6.1", "2027-01-31", rule.Inconclusive, rule.Inconclusive, ""},
	} {
		v := []rule.Verdict{{Rule: "RC-RNR-002", Status: c.before}}
		Apply(v, w, Device{Names: []string{"gbn", c.impl}, Kernel: c.kernel}, c.today)
		if v[0].Status != c.want || !strings.Contains(v[0].Reason, c.reason) {
			t.Errorf("%+v: %v %q", c, v[0].Status, v[0].Reason)
		}
	}
}

// TestExcuse: a rule may pass in one run and break in another.
func TestExcuse(t *testing.T) {
	w := parsed(t, "waive RC-RNR-* impl=* owner=net expires=2027-01-31 : code 25\n")
	v := []rule.Verdict{{Rule: "RC-RNR-002", Status: rule.Pass}, {Rule: "RC-RNR-003", Status: rule.Fail}}
	Excuse(v, w, Device{Names: []string{"rxe"}}, "2026-01-01")
	if v[0].Status != rule.Pass || v[1].Status != rule.XFail {
		t.Errorf("%v and %v, want PASS and XFAIL", v[0].Status, v[1].Status)
	}
}

// TestWaiversOfScenarios: a waiver may name scenarios, and only a scenario that would show the deviation shows that it
// is gone.
func TestWaiversOfScenarios(t *testing.T) {
	const rest = " owner=o expires=2027-01-31 : r\n"
	w := parsed(t, "waive A impl=x in=loss-tail,random/read"+rest+"waive B impl=x sure=loss-tail"+rest+
		"waive C impl=x"+rest)
	for _, c := range []struct {
		passed []string
		want   [3]bool
	}{
		{nil, [3]bool{}},
		{[]string{"loss-middle", "loss"}, [3]bool{false, false, true}},
		{[]string{"loss-middle", "random/read"}, [3]bool{true, false, true}},
		{[]string{"loss-tail"}, [3]bool{true, true, true}},
	} {
		for i := range w {
			if w[i].RefutedBy(c.passed) != c.want[i] {
				t.Errorf("the waiver of %s, passed in %v: want %v", w[i].Rule, c.passed, c.want[i])
			}
		}
	}
	for scenario, want := range map[string]int{"": 2, "loss-middle": 2, "random/read": 3} {
		if got := In(scenario, w); len(got) != want {
			t.Errorf("%q: %+v, want %d waivers", scenario, got, want)
		}
	}
	for scenario, want := range map[string]int{"": 1, "loss-tail": 1, "loss-middle": 0} {
		if got := In(scenario, parsed(t, "waive D impl=x in=loss-tail,run"+rest)); len(got) != want {
			t.Errorf("%q: %+v, want %d waivers of runs", scenario, got, want)
		}
	}
	v := []rule.Verdict{{Rule: "B", Status: rule.Pass}, {Rule: "C", Status: rule.Pass}, {Rule: "B", Status: rule.Fail},
		{Rule: "A", Status: rule.Fail}}
	Apply(v, w, Device{Names: []string{"x"}}, "2026-01-01")
	for i, want := range []rule.Status{rule.Pass, rule.XPass, rule.XFail, rule.Fail} {
		if v[i].Status != want {
			t.Errorf("a single run: %s is %v, want %v", v[i].Rule, v[i].Status, want)
		}
	}
}

func TestExpired(t *testing.T) {
	w := parsed(t,
		"waive A impl=x owner=o expires=2026-01-31 : r\nwaive B impl=x owner=o expires=2026-02-01 : r\n")
	if got := Expired(w, "2026-02-01"); len(got) != 1 || got[0].Rule != "A" {
		t.Errorf("expired on 2026-02-01: %+v, want A", got)
	}
}

func TestParseWaiversRefuses(t *testing.T) {
	const good = "waive A impl=x owner=o expires=2026-01-31 : r"
	for text, want := range map[string]string{
		"waver A":                                               "want waive RULE",
		good + "\n\n" + "waive":                                 "3: ",
		strings.Replace(good, "owner=o ", "", 1):                "no owner",
		strings.Replace(good, " : r", "", 1):                    "no reason",
		strings.Replace(good, "2026-01-31", "soon", 1):          "want a day such as",
		strings.Replace(good, "A", "[", 1):                      "syntax error in pattern",
		strings.Replace(good, "impl=x", "impl=", 1):             "each once and with a value",
		strings.Replace(good, "impl=x", "impl=x impl=y", 1):     "each once",
		strings.Replace(good, "impl=x", "impl=x colour=y", 1):   "want impl=",
		strings.Replace(good, "impl=x", "impl=x kernel=six", 1): "want a range such as 6.1..6.6",
		strings.Repeat(good+"\n", limit+1):                      "more than 1000",
	} {
		if _, err := parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}
