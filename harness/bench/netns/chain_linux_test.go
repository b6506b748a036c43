package netns

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/merge"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
	"github.com/rdma-gauntlet/gauntlet/netem/tc"
)

// Where netem makes the link, the relay before it does what netem cannot, and nothing twice.
func TestNetemIsBehindTheRelay(t *testing.T) {
	const load = "link rate=50M delay=3ms\nload write msg=1KiB count=1\n"
	for _, c := range []struct{ text, beyond, stages string }{
		{"", "", "netem"},
		{"loss random p=1%\n", "", "netem"},
		{"drop A psn=+1\n", "scripted faults", "relay netem"},
		{"inject B at=1us : WRITE_ONLY psn=+3 len=8 dmalen=8\n", "crafted packets", "relay netem"},
		{"loss A>B burst p=1e-4 len=8 h=0.3\nloss B>A random p=1%\ndrop B type=ACK\n", "scripted faults, losses of this kind", "relay netem"},
	} {
		sp := mustSpec(t, load+c.text)
		s := &session{job: &bench.Job{Spec: sp}}
		l := &leg{hop: routeOf(sp, false)[0]}
		if got := strings.Join(l.beyondNetem(sp), ", "); got != c.beyond {
			t.Errorf("%q: beyond netem are %q, want %q", c.text, got, c.beyond)
		}
		var stages []string
		for _, st := range s.chainOf(l, true) {
			switch st := st.(type) {
			case *relayStage:
				stages = append(stages, "relay")
				if d := st.does; d.AB.Rate != 0 || d.AB.Delay != 0 || d.BA.Loss != (spec.Loss{}) || !st.qdisc {
					t.Errorf("%q: the relay does %+v", c.text, d)
				}
			case *netemStage:
				stages = append(stages, "netem")
				if d := st.does; d.AB.Rate != sp.Link.AB.Rate || d.AB.Delay != sp.Link.AB.Delay || d.BA.Loss != sp.Link.BA.Loss || d.AB.Loss.Model == spec.Sojourn {
					t.Errorf("%q: netem does %+v", c.text, d)
				}
			}
		}
		if got := strings.Join(stages, " "); got != c.stages {
			t.Errorf("%q: %s, want %s", c.text, got, c.stages)
		}
		alone := s.chainOf(l, false)
		if st, ok := alone[0].(*relayStage); !ok || len(alone) != 1 || st.qdisc || st.does != sp.Link {
			t.Errorf("%q without netem: %+v", c.text, alone[0])
		}
	}
}

// A link that neither of the two can make is told from one that this kernel cannot.
func TestLinkBeyondNetem(t *testing.T) {
	const load = "load write msg=1KiB count=1\n"
	_, _, err := chooseLink(&bench.Job{Spec: mustSpec(t, load+"link ecn-min=5 ecn-max=20 ecn-p=1%\n"), Link: "netem"})
	if !errors.Is(err, bench.ErrUnsupported) || !strings.Contains(err.Error(), "ecn-min") {
		t.Errorf("marks by the queue: %v", err)
	}
	netem, why, err := chooseLink(&bench.Job{Spec: mustSpec(t, load+"drop A psn=+1\n"), Link: "netem"})
	switch has := tc.Probe().Netem; {
	case has && (err != nil || !netem || !strings.Contains(why, "behind the relay, which does the scripted faults")):
		t.Errorf("with netem: %t %q %v", netem, why, err)
	case !has && (errors.Is(err, bench.ErrUnsupported) || err == nil || !strings.Contains(err.Error(), "has none")):
		t.Errorf("without netem: %v", err)
	}
}

// told is a stage that says what it is given.
type told struct {
	stage
	linkReport
	log    []merge.LinkFate
	failed error
}

func (s *told) report() (linkReport, error)      { return s.linkReport, s.failed }
func (s *told) fates() ([]merge.LinkFate, error) { return s.log, s.failed }
func (s *told) busy() (bool, error)              { return s.Overflow > 0, s.failed }

// A chain is as late as its latest stage, and knows what became of every packet when all stages do.
func TestChainAddsUp(t *testing.T) {
	relay := &told{linkReport: linkReport{LateMax: 5 * vtime.Millisecond, Overflow: 1, Exact: true, Lost: [2]uint64{3, 0}, Made: [2]uint64{0, 2}}, log: []merge.LinkFate{}}
	kernel := &told{linkReport: linkReport{LateMax: 7 * vtime.Millisecond, Lost: [2]uint64{1, 1}}}
	got, err := chain{relay, kernel}.report()
	want := linkReport{LateMax: 7 * vtime.Millisecond, Overflow: 1, Lost: [2]uint64{4, 1}, Made: [2]uint64{0, 2}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for name, c := range map[string]struct {
		chain chain
		whole bool
	}{"both": {chain{relay, kernel}, false}, "relay": {chain{relay}, true}, "netem": {chain{kernel}, false}} {
		if list, whole, err := c.chain.fates(); list == nil || whole != c.whole || err != nil {
			t.Errorf("%s: %v, whole %t, %v", name, list, whole, err)
		}
	}
	if busy, err := (chain{kernel, relay}).busy(); !busy || err != nil {
		t.Error(busy, err)
	}
	kernel.failed = errors.New("gone")
	if _, err := (chain{relay, kernel}).report(); !errors.Is(err, kernel.failed) {
		t.Error(err)
	}
}
