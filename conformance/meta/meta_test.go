package meta

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/fixture"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// lossy is a run with a loss and its repair.
const lossy = `qp rto=100us
A>B WRITE_FIRST psn=+0 len=1024 dmalen=2056
A>X WRITE_MIDDLE psn=+1 len=1024
A>B WRITE_LAST psn=+2 len=8 A
B>A NAK psn=+1 msn=0 PSN_SEQ_ERR
A>B WRITE_MIDDLE psn=+1 len=1024
A>B WRITE_LAST psn=+2 len=8 A
B>A ACK psn=+2 msn=1
`

// recorded reads a fixture.
func recorded(t *testing.T, text string) *Recording {
	t.Helper()
	f, err := fixture.Parse(strings.NewReader(text), 0)
	if err != nil {
		t.Fatal(err)
	}
	r := &Recording{Name: "fixture", Header: f.Header, Options: rule.Options{Features: []string{"rc", "gbn"}}}
	f.Play(r)
	return r
}

// check returns a rule that makes this check.
func check(needs rule.Vantage, make func(*rule.Context) rule.Check) []rule.Rule {
	return []rule.Rule{{ID: "X-Y-001", Level: rule.Must, Needs: needs, Sees: rule.RequestOut | rule.RequestIn,
		Stimulus: "any", New: make}}
}

func status(t *testing.T, what string, v rule.Verdict, err error, want rule.Status, says string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, f := range v.Findings {
		text += f.Text + "\n"
	}
	if v.Status != want || !strings.Contains(text, says) {
		t.Errorf("%s: %v, want %v with %q\n%s", what, v.Status, want, says, text)
	}
}

func TestTheProductKeepsTheRules(t *testing.T) {
	over := []*Recording{recorded(t, lossy)}
	v, err := Silent(Judged, rules.All(), over)
	status(t, "silence", v, err, rule.Pass, "")
	v, err = Later(Judged, rules.All(), over)
	status(t, "clock", v, err, rule.Pass, "")
	v, err = FromOneTap(Judged, rules.All(), over)
	status(t, "one tap", v, err, rule.Pass, "")
	v, err = FromFiles(Judged, rules.All(), over, t.TempDir())
	status(t, "captures", v, err, rule.Pass, "")
	v, err = Repeated([][2]*Recording{{over[0], recorded(t, lossy)}})
	status(t, "seed", v, err, rule.Pass, "")
}

func TestNothingIsInconclusive(t *testing.T) {
	for _, id := range []func() (rule.Verdict, error){
		func() (rule.Verdict, error) { return Silent(Judged, rules.All(), nil) },
		func() (rule.Verdict, error) { return Later(Judged, rules.All(), nil) },
		func() (rule.Verdict, error) { return FromOneTap(Judged, rules.All(), nil) },
		func() (rule.Verdict, error) { return FromFiles(Judged, rules.All(), nil, t.TempDir()) },
		func() (rule.Verdict, error) { return Repeated(nil) },
		func() (rule.Verdict, error) { return Caught(nil, nil, nil), nil },
	} {
		v, err := id()
		status(t, v.Rule, v, err, rule.Inconclusive, "")
	}
}

func TestSeed(t *testing.T) {
	v, err := Repeated([][2]*Recording{{recorded(t, lossy), recorded(t, strings.Replace(lossy, "A>X", "A>B", 1))}})
	status(t, "two traces", v, err, rule.Fail, "differs from the first in line")
}

func TestSilence(t *testing.T) {
	eager := check(0, func(c *rule.Context) rule.Check {
		return rule.Check{Sight: func(*rule.Sight) {}, End: func(vtime.Time) { c.Met() }}
	})
	over := recorded(t, lossy)
	started := func(h trace.Header, list []rule.Rule, o rule.Options,
		play func(trace.Sink) error) ([]rule.Verdict, error) {
		return Judged(h, list, o, func(s trace.Sink) error {
			// as a judge would do that starts its checks before the first sight
			s.Event(&trace.Event{Kind: trace.Probe})
			return play(s)
		})
	}
	v, err := Silent(started, eager, []*Recording{over})
	status(t, "met at the end", v, err, rule.Fail, "X-Y-001 says PASS of a trace in which nothing happens")
}

func TestClock(t *testing.T) {
	absolute := check(0, func(c *rule.Context) rule.Check {
		return rule.Check{Sight: func(s *rule.Sight) {
			if s.At < vtime.Time(vtime.Second) {
				c.Met()
			}
		}}
	})
	v, err := Later(Judged, absolute, []*Recording{recorded(t, lossy)})
	status(t, "knows when the run began", v, err, rule.Fail, "X-Y-001 is PASS")
}

func TestOneTap(t *testing.T) {
	both := check(rule.Both, func(c *rule.Context) rule.Check {
		return rule.Check{Sight: func(*rule.Sight) { c.Met() }}
	})
	careless := func(h trace.Header, list []rule.Rule, o rule.Options,
		play func(trace.Sink) error) ([]rule.Verdict, error) {
		list = slices.Clone(list)
		list[0].Needs = 0 // as a judge would do that ignores needs
		return Judged(h, list, o, play)
	}
	v, err := FromOneTap(Judged, both, []*Recording{recorded(t, lossy)})
	status(t, "refused", v, err, rule.Pass, "")
	v, err = FromOneTap(careless, both, []*Recording{recorded(t, lossy)})
	status(t, "judged", v, err, rule.Fail, "X-Y-001 needs both taps, and says PASS with that of A alone")
}

func TestCaptures(t *testing.T) {
	calls := 0
	forgetful := func(h trace.Header, list []rule.Rule, o rule.Options,
		play func(trace.Sink) error) ([]rule.Verdict, error) {
		if calls++; calls == 2 {
			// as if the files had been empty
			return Judged(h, list, o, func(s trace.Sink) error { s.End(0); return nil })
		}
		return Judged(h, list, o, play)
	}
	v, err := FromFiles(forgetful, rules.All(), []*Recording{recorded(t, lossy)}, t.TempDir())
	status(t, "empty files", v, err, rule.Fail, "GBN-NAK-001 is PASS")
	failing := func(trace.Header, []rule.Rule, rule.Options, func(trace.Sink) error) ([]rule.Verdict, error) {
		return nil, errors.New("unreadable")
	}
	if _, err := FromFiles(failing, rules.All(), []*Recording{recorded(t, lossy)}, t.TempDir()); err == nil {
		t.Error("an error of the judge is lost")
	}
}

func TestMutants(t *testing.T) {
	list := check(0, nil)
	id := []string{"X-Y-001"}
	status(t, "caught", Caught(list, []Kill{{Engine: "broken-x", Caught: id}}, nil), nil, rule.Pass, "")
	status(t, "survives", Caught(list, []Kill{{Engine: "broken-x", Missed: id}}, nil), nil, rule.Fail,
		"X-Y-001 does not catch broken-x")
	status(t, "caught elsewhere", Caught(list, []Kill{{Engine: "x", Missed: id}, {Engine: "y", Caught: id}}, nil),
		nil, rule.Pass, "")
	status(t, "no engine", Caught(list, nil, nil), nil, rule.Fail, "no engine is there that breaks it")
	status(t, "excused", Caught(list, nil, map[string]string{"X-Y-001": "cannot be broken"}), nil,
		rule.Inconclusive, "")
}

func TestDeviations(t *testing.T) {
	known, err := waivers.Read("rxe")
	status(t, "waived", SoftRoCEDeviations(known), err, rule.Pass, "NEG-LEN-004 is waived until 2027-06-30")
	status(t, "not waived", DeviceDeviations(), nil, rule.Pass, "RC-TMO-001 fails without a waiver")
	exists := map[string]bool{}
	for _, r := range rules.All() {
		exists[r.ID] = true
	}
	for _, d := range slices.Concat(ofSoftRoCE, ofDevices) {
		if (len(d.Rules) == 0) != (d.Allowed != "") {
			t.Errorf("%s: give the rules, or say why it is allowed", d.What)
		}
		for _, id := range d.Rules {
			if !exists[id] {
				t.Errorf("%s: there is no rule %s", d.What, id)
			}
		}
	}
}

func TestRulesAreComplete(t *testing.T) {
	list := Rules()
	if len(list) != 12 || !slices.IsSortedFunc(list, func(a, b rule.Rule) int { return strings.Compare(a.ID, b.ID) }) {
		t.Errorf("%d rules, want 12, in the order of IDs", len(list))
	}
	form := regexp.MustCompile(`^META-[A-Z]+-001$`)
	for _, r := range list {
		r.Unbuilt = "judged by an experiment"
		if err := rule.Complete(&r); err != nil || !form.MatchString(r.ID) {
			t.Errorf("%s: %v", r.ID, err)
		}
	}
}
