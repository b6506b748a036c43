package link

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/plan"
	"github.com/rdma-gauntlet/gauntlet/harness/merge"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/injector"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
	"github.com/rdma-gauntlet/gauntlet/netem/tc"
)

// Where netem makes the link, the relay before it makes the impairments that netem lacks, and no others.
func TestNetemIsBehindTheRelay(t *testing.T) {
	const load = "link rate=50M delay=3ms\nload write msg=1KiB count=1\n"
	for _, c := range []struct{ text, beyond, stages string }{
		{"", "", "netem"},
		{"loss random p=1%\n", "", "netem"},
		{"drop A psn=+1\n", "scripted faults", "relay netem"},
		{"inject B at=1us : WRITE_ONLY psn=+3 len=8 dmalen=8\n", "crafted packets", "relay netem"},
		{"loss A>B burst p=1e-4 len=8 h=0.3\nloss B>A random p=1%\ndrop B type=ACK\n",
			"scripted faults, losses of this kind", "relay netem"},
	} {
		sp := mustSpec(t, load+c.text)
		site, hop := &Site{Spec: sp}, plan.RouteOf(sp, false).WAN()
		if got := strings.Join(beyondNetem(hop, sp), ", "); got != c.beyond {
			t.Errorf("%q: beyond netem are %q, want %q", c.text, got, c.beyond)
		}
		var names []string
		for _, st := range stages(site, hop, nil, Choice{Netem: true, Alone: c.beyond == ""}) {
			switch st := st.(type) {
			case *relayStage:
				names = append(names, "relay")
				if d := st.does; d.AB.Rate != 0 || d.AB.Delay != 0 || d.BA.Loss != (spec.Loss{}) || !st.behind {
					t.Errorf("%q: the relay does %+v", c.text, d)
				}
			case *netemStage:
				names = append(names, "netem")
				if d := st.does; d.AB.Rate != sp.Link.AB.Rate || d.AB.Delay != sp.Link.AB.Delay ||
					d.BA.Loss != sp.Link.BA.Loss || d.AB.Loss.Model == spec.Sojourn {
					t.Errorf("%q: netem does %+v", c.text, d)
				}
			}
		}
		if got := strings.Join(names, " "); got != c.stages {
			t.Errorf("%q: %s, want %s", c.text, got, c.stages)
		}
		alone := stages(site, hop, nil, Choice{})
		if st, ok := alone[0].(*relayStage); !ok || len(alone) != 1 || st.behind || st.does != sp.Link {
			t.Errorf("%q without netem: %+v", c.text, alone[0])
		}
	}
}

// The error tells a link that neither relay nor netem can make from one that this kernel lacks.
func TestLinkBeyondNetem(t *testing.T) {
	const load = "load write msg=1KiB count=1\n"
	_, err := choose(t, load+"link ecn-min=5 ecn-max=20 ecn-p=1%\n", "netem")
	if !errors.Is(err, bench.ErrUnsupported) || !strings.Contains(err.Error(), "ecn-min") {
		t.Errorf("marks by the queue: %v", err)
	}
	c, err := choose(t, load+"drop A psn=+1\n", "netem")
	switch has := tc.Probe().Netem; {
	case has && (err != nil || !c.Netem || c.Alone || !strings.Contains(c.Why,
		"behind the relay, which does the scripted faults")):
		t.Errorf("with netem: %+v %v", c, err)
	case !has && (errors.Is(err, bench.ErrUnsupported) || err == nil || !strings.Contains(err.Error(), "has none")):
		t.Errorf("without netem: %v", err)
	}
}

// told is a stage with a given report and log.
type told struct {
	stage
	Report
	log    []merge.LinkFate
	failed error
}

func (s *told) report() (Report, error)          { return s.Report, s.failed }
func (s *told) fates() ([]merge.LinkFate, error) { return s.log, s.failed }
func (s *told) busy() (bool, error)              { return s.Overflow > 0, s.failed }

// A chain is as late as its latest stage, and has the fate of every packet if all stages have.
func TestChainAddsUp(t *testing.T) {
	relay := &told{Report: Report{LateMax: 5 * vtime.Millisecond, Overflow: 1, Exact: true, Lost: [2]uint64{3, 0},
		Made: [2]uint64{0, 2}, Damaged: [2]uint64{5, 6}, Underway: true}, log: []merge.LinkFate{}}
	kernel := &told{Report: Report{LateMax: 7 * vtime.Millisecond, Lost: [2]uint64{1, 1}, Copied: [2]uint64{8, 9}}}
	got, err := (&Chain{stages: []stage{relay, kernel}}).Report()
	want := Report{LateMax: 7 * vtime.Millisecond, Overflow: 1, Lost: [2]uint64{4, 1}, Made: [2]uint64{0, 2},
		Damaged: [2]uint64{5, 6},
		Copied:  [2]uint64{8, 9}, Underway: true}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for name, c := range map[string]struct {
		stages []stage
		whole  bool
	}{"both": {[]stage{relay, kernel}, false}, "relay": {[]stage{relay}, true}, "netem": {[]stage{kernel}, false}} {
		if list, whole, err := (&Chain{stages: c.stages}).Fates(); list == nil || whole != c.whole || err != nil {
			t.Errorf("%s: %v, whole %t, %v", name, list, whole, err)
		}
	}
	if busy, err := (&Chain{stages: []stage{kernel, relay}}).Busy(); !busy || err != nil {
		t.Error(busy, err)
	}
	kernel.failed = errors.New("gone")
	if _, err := (&Chain{stages: []stage{relay, kernel}}).Report(); !errors.Is(err, kernel.failed) {
		t.Error(err)
	}
}

// The choice of the link has a reason, and an impossible wish is an error with the remedy.
func TestChooseLink(t *testing.T) {
	const load = "load write msg=1KiB count=1\n"
	for _, c := range []struct{ link, text, why, err string }{
		{"relay", load, "as asked for", ""},
		{"auto", load + "drop A psn=+1\n", "user-space relay, because netem has no scripted faults", ""},
		{"auto", load + "inject B at=1us : WRITE_ONLY psn=+3 len=8 dmalen=8\n",
			"user-space relay, because netem has no crafted packets", ""},
		{"auto", load + "loss burst p=1e-4 len=8 h=0.3\n", "user-space relay, because netem has no ", ""},
		{"tin", load, "", `link "tin": want auto, netem, ebpf or relay`},
	} {
		got, err := choose(t, c.text, c.link)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s %q: %v", c.link, c.text, err)
			}
			continue
		}
		if err != nil || got.Netem || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s %q: %+v %v", c.link, c.text, got, err)
		}
	}
}

// The injector is chosen by name, and refuses in one line a Spec that it cannot play.
func TestChooseInjector(t *testing.T) {
	const load = "load write msg=1KiB count=1\n"
	const script = load + "drop A psn=+1\nloss B>A burst p=1e-4 len=8 h=0.3\n"
	has, netem := injector.Probe(), tc.Probe().Netem
	for _, c := range []struct {
		text string
		want Choice
		why  string
	}{
		{script, Choice{Injector: true, Alone: true}, "on a link without rate or delay"},
		{script + "inject B at=1us : WRITE_ONLY psn=+3 len=8 dmalen=8\n", Choice{Injector: true},
			"on a link without rate or delay, behind the relay, which sends the crafted packets"},
		{script + "link rate=50M delay=3ms\n", Choice{Injector: true, Netem: netem, Alone: netem}, map[bool]string{
			true: "behind it", false: "behind the relay, which does rate, queue and delay"}[netem]},
	} {
		got, err := choose(t, c.text, "ebpf")
		if !has.OK {
			if err == nil || !strings.Contains(err.Error(), has.Reason) {
				t.Errorf("without it: %v", err)
			}
			continue
		}
		if err != nil || !strings.HasSuffix(got.Why, c.why) || got.String() != "ebpf" {
			t.Errorf("%q: %+v %v", c.text, got, err)
		}
		if got.Why = ""; got != c.want {
			t.Errorf("%q: %+v, want %+v", c.text, got, c.want)
		}
	}
	for text, want := range map[string]string{
		"delay A psn=+1 by=1us\n":              "the injector has no faults that hold packets back (delay)",
		"reorder A psn=+1 behind=2\n":          "the injector has no faults that hold packets back (reorder)",
		"corrupt A psn=+1 field=payload\n":     "the injector has no faults that change bytes (corrupt)",
		"rewrite A psn=+1 field=ttl value=3\n": "the injector has no faults that change bytes (rewrite)",
		"dup A psn=+1 by=1us\n":                "the injector has no copies that come later (dup by=)",
		"loss random p=1% slot=1ms\n":          "the injector has no losses by slots of time",
	} {
		_, err := choose(t, load+text, "ebpf")
		if !errors.Is(err, bench.ErrUnsupported) || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", text, err)
		}
	}
	sp := mustSpec(t, script)
	_, err := Choose(Request{Spec: sp, Hop: plan.RouteOf(sp, false).WAN(), Wish: "ebpf", OverIP: true, Dilation: 1})
	if !errors.Is(err, bench.ErrUnsupported) || !strings.Contains(err.Error(), "no RoCEv2") {
		t.Errorf("iWARP: %v", err)
	}
}

// With the injector no other stage has faults or losses, and a relay before it sends the crafted packets.
func TestInjectorHasFaultsAndLosses(t *testing.T) {
	sp := mustSpec(t, "load write msg=1KiB count=1\nlink rate=50M delay=3ms\nloss A>B random p=1%\ndrop A psn=+1\n")
	site, hop := &Site{Spec: sp}, plan.RouteOf(sp, false).WAN()
	for _, c := range []struct {
		choice Choice
		want   string
	}{
		{Choice{Injector: true, Alone: true, Netem: true}, "injector netem=50M"},
		{Choice{Injector: true}, "relay=50M injector"},
		{Choice{Injector: true, Netem: true}, "relay=0 injector netem=50M"},
		{Choice{Injector: true, Alone: true}, "injector"},
	} {
		var names []string
		for _, st := range stages(site, hop, nil, c.choice) {
			switch st := st.(type) {
			case *relayStage:
				names = append(names, "relay="+st.does.AB.Rate.String())
				if st.faults != nil || st.does.AB.Loss != (spec.Loss{}) || !st.behind {
					t.Errorf("%+v: the relay does %+v, %v", c.choice, st.does, st.faults)
				}
			case *netemStage:
				names = append(names, "netem="+st.does.AB.Rate.String())
				if st.does.AB.Loss != (spec.Loss{}) {
					t.Errorf("%+v: netem loses too", c.choice)
				}
			case *injectorStage:
				names = append(names, "injector")
				if st.does.AB.Loss != sp.Link.AB.Loss || st.every != c.choice.Alone || st.before != c.choice.Netem {
					t.Errorf("%+v: the injector does %+v", c.choice, st)
				}
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%+v: %s, want %s", c.choice, got, c.want)
		}
	}
}

// A frame in both logs gets one entry: that of the first log with the changes of the second stage.
func TestJoin(t *testing.T) {
	lost := func(at vtime.Time, key uint64, cause string) merge.LinkFate {
		return merge.LinkFate{At: at, Key: key, Fate: trace.Dropped, Cause: cause}
	}
	passed := func(at vtime.Time, key uint64) merge.LinkFate {
		return merge.LinkFate{At: at, Key: key, Fate: trace.Delivered, Due: at + 5}
	}
	marked := merge.LinkFate{At: 24, Key: 1, Out: 9, Fate: trace.Delivered, Due: 25, Copies: 1, Cause: "mark[0]"}
	relay := []merge.LinkFate{lost(1, 1, "queue"), passed(2, 1), passed(3, 1), lost(4, 2, "queue")}
	kernel := []merge.LinkFate{lost(22, 1, "loss"), marked, lost(30, 3, "drop[1]")}
	want := []merge.LinkFate{lost(1, 1, "queue"), {At: 2, Key: 1, Fate: trace.Dropped, Cause: "loss"},
		{At: 3, Key: 1, Out: 9, Fate: trace.Delivered, Due: 25, Copies: 1, Cause: "mark[0]"}, lost(4, 2, "queue"),
		lost(30, 3, "drop[1]")}
	if diff := cmp.Diff(want, join(relay, kernel)); diff != "" {
		t.Error(diff)
	}
}

// choose chooses the link of a Spec without a middlebox.
func choose(t *testing.T, text, wish string) (Choice, error) {
	t.Helper()
	sp := mustSpec(t, text)
	return Choose(Request{Spec: sp, Hop: plan.RouteOf(sp, false).WAN(), Wish: wish, Dilation: 1})
}

func mustSpec(t *testing.T, text string) *scenario.Spec {
	t.Helper()
	s, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
