package netns

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/merge"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
	"github.com/rdma-gauntlet/gauntlet/netem/tc"
)

// chain is the stages of a leg, in the order in which a frame meets them.
type chain []stage

// chainOf makes the stages of a leg: all that the link does is the relay's, or netem does what it can. What it cannot, the relay
// does before it, in the order in which impairments act; without any, a bridge carries the frames.
func (s *session) chainOf(l *leg, netem bool) chain {
	if !netem || l.part == trace.LANHop {
		return chain{&relayStage{session: s, leg: l, does: l.link}}
	}
	before, behind := divide(l.link)
	kernel := &netemStage{session: s, leg: l, does: behind}
	if !l.relayed(s.job.Spec) {
		return chain{kernel}
	}
	return chain{&relayStage{session: s, leg: l, does: before, qdisc: true}, kernel}
}

// relayed reports whether something happens on a hop that netem cannot do.
func (h *hop) relayed(sp *scenario.Spec) bool { return len(h.beyondNetem(sp)) > 0 }

// beyondNetem names what happens on a hop that netem cannot do and a relay before it can.
func (h *hop) beyondNetem(sp *scenario.Spec) (list []string) {
	if len(h.faults) > 0 {
		list = append(list, "scripted faults")
	}
	for _, in := range sp.Injections {
		if h.injects(in.To) {
			list = append(list, "crafted packets")
			break
		}
	}
	if before, _ := divide(h.link); before.AB.Loss != (spec.Loss{}) || before.BA.Loss != (spec.Loss{}) {
		list = append(list, "losses of this kind")
	}
	return list
}

// divide splits a link between a relay that a frame meets first and netem behind it: the relay draws losses for which netem has
// no process.
func divide(d spec.Duplex) (before, behind spec.Duplex) {
	behind = d
	var drawn [2]spec.Loss
	for i, l := range []*spec.Link{&behind.AB, &behind.BA} {
		if _, err := tc.Translate(spec.Link{Queue: 1, Loss: l.Loss}, tc.Options{Packet: 1}); errors.Is(err, tc.ErrUnsupported) {
			drawn[i], l.Loss = l.Loss, spec.Loss{}
		}
	}
	before = spec.Duplex{AB: spec.Link{Queue: 1, Loss: drawn[trace.A]}, BA: spec.Link{Queue: 1, Loss: drawn[trace.B]}}
	return before, behind
}

// The wishes of a job for its link; none, or "auto", is netem where it can do the whole link, else the relay.
const (
	overNetem = "netem"
	overRelay = "relay"
)

// chooseLink decides whether the kernel's netem makes the link of the Spec, and says why; the choice is never silent.
func chooseLink(job *bench.Job) (netem bool, why string, err error) {
	if job.Link == overRelay {
		return false, "user-space relay, as asked for", nil
	}
	if job.Link != "" && job.Link != "auto" && job.Link != overNetem {
		return false, "", fmt.Errorf("netns: link %q: want auto, netem or relay", job.Link)
	}
	h := lastHop(job)
	lack, beyond, support := h.unfit(job.Spec), strings.Join(h.beyondNetem(job.Spec), " and "), tc.Probe()
	if job.Link == overNetem {
		switch {
		case lack != nil:
			return false, "", fmt.Errorf("netns: --link netem: %w, or leave --link out: %w", lack, bench.ErrUnsupported)
		case !support.Netem:
			return false, "", fmt.Errorf("netns: --link netem: this kernel (%s) has none (%s); use the relay", support.Kernel, support.Reason)
		case beyond != "":
			return true, fmt.Sprintf("tc-netem of kernel %s, behind the relay, which does the %s", support.Kernel, beyond), nil
		}
	}
	switch {
	case lack != nil:
		return false, fmt.Sprintf("user-space relay, because netem has no such link (%v)", lack), nil
	case beyond != "":
		return false, "user-space relay, because netem has no " + beyond, nil
	case !support.Netem:
		return false, fmt.Sprintf("user-space relay, because kernel %s has no netem (%s)", support.Kernel, support.Reason), nil
	}
	return true, "tc-netem of kernel " + support.Kernel, nil
}

// lastHop is the hop whose link is that of the Spec.
func lastHop(job *bench.Job) *hop {
	route := routeOf(job.Spec, job.Impls[trace.A].NewBox != nil)
	return &route[len(route)-1]
}

// linkName is who makes the link of the Spec, by the word for it on the command line.
func linkName(netem bool) string {
	if netem {
		return overNetem
	}
	return overRelay
}

// unfit says what a hop asks that neither netem does nor a relay before it can; nil when nothing.
func (h *hop) unfit(sp *scenario.Spec) error {
	_, behind := divide(h.link)
	for _, l := range []spec.Link{behind.AB, behind.BA} {
		if _, err := tc.Translate(l, tc.Options{Packet: sp.QP[0].MTU + frameOverhead}); errors.Is(err, tc.ErrUnsupported) {
			return err
		}
	}
	return nil
}

// each calls f with every stage until one fails.
func (c chain) each(f func(stage) error) error {
	for _, st := range c {
		if err := f(st); err != nil {
			return err
		}
	}
	return nil
}

func (c chain) open() error  { return c.each(stage.open) }
func (c chain) quiet() error { return c.each(stage.quiet) }

func (c chain) loud(epoch vtime.Time) error {
	return c.each(func(st stage) error { return st.loud(epoch) })
}

// busy reports whether a stage holds packets and knows it.
func (c chain) busy() (busy bool, err error) {
	err = c.each(func(st stage) error {
		some, err := st.busy()
		busy = busy || some
		return err
	})
	return busy, err
}

// report adds up what the stages say. A loss is counted exactly when every stage counts its own.
func (c chain) report() (sum linkReport, err error) {
	sum.Exact = true
	err = c.each(func(st stage) error {
		r, err := st.report()
		sum.LateP99, sum.LateMax = max(sum.LateP99, r.LateP99), max(sum.LateMax, r.LateMax)
		sum.Overflow, sum.Exact = sum.Overflow+r.Overflow, sum.Exact && r.Exact
		for side := range sum.Lost {
			sum.Lost[side], sum.Made[side] = sum.Lost[side]+r.Lost[side], sum.Made[side]+r.Made[side]
		}
		return err
	})
	return sum, err
}

// fates puts the logs of the stages together. Whole says that all keep one, so that what no log names has arrived.
func (c chain) fates() (list []merge.LinkFate, whole bool, err error) {
	list, whole = []merge.LinkFate{}, true
	err = c.each(func(st stage) error {
		f, err := st.fates()
		list, whole = append(list, f...), whole && f != nil
		return err
	})
	return list, whole, err
}
