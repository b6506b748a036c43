package link

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/plan"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
	"github.com/rdma-gauntlet/gauntlet/netem/tc"
)

// Choice is who makes the link of a Spec.
type Choice struct {
	Netem bool   // the kernel's netem, else the relay alone
	Alone bool   // netem has no relay before it, so that a bridge has to carry the frames
	Why   string // for the report: the choice is never silent
}

// The wishes of a job for its link; none, or "auto", is netem where it can do the whole link, else the relay.
const (
	overNetem = "netem"
	overRelay = "relay"
)

// String is who makes the link, by the word for it on the command line.
func (c Choice) String() string {
	if c.Netem {
		return overNetem
	}
	return overRelay
}

// Choose decides who makes the link of the Spec, which is that of the hop h. An error is bench.ErrUnsupported where the
// wish asks netem for what it cannot do. A second of the Spec lasts k seconds.
func Choose(sp *scenario.Spec, h *plan.Hop, wish string, k vtime.Dilation) (Choice, error) {
	if wish == overRelay {
		return Choice{Why: "user-space relay, as asked for"}, nil
	}
	if wish != "" && wish != "auto" && wish != overNetem {
		return Choice{}, fmt.Errorf("netns: link %q: want auto, netem or relay", wish)
	}
	lack, beyond, support := unfit(h, sp, k), strings.Join(beyondNetem(h, sp), " and "), tc.Probe()
	if wish == overNetem {
		switch {
		case lack != nil:
			return Choice{}, fmt.Errorf("netns: --link netem: %w, or leave --link out: %w", lack, bench.ErrUnsupported)
		case !support.Netem:
			return Choice{}, fmt.Errorf("netns: --link netem: this kernel (%s) has none (%s); use the relay",
				support.Kernel, support.Reason)
		case beyond != "":
			return Choice{Netem: true, Why: fmt.Sprintf("tc-netem of kernel %s, behind the relay, which does the %s",
				support.Kernel, beyond)}, nil
		}
	}
	switch {
	case lack != nil:
		return Choice{Why: fmt.Sprintf("user-space relay, because netem has no such link (%v)", lack)}, nil
	case beyond != "":
		return Choice{Why: "user-space relay, because netem has no " + beyond}, nil
	case !support.Netem:
		return Choice{Why: fmt.Sprintf("user-space relay, because kernel %s has no netem (%s)", support.Kernel,
			support.Reason)}, nil
	}
	return Choice{Netem: true, Alone: true, Why: "tc-netem of kernel " + support.Kernel}, nil
}

// beyondNetem names what happens on a hop that netem cannot do and a relay before it can.
func beyondNetem(h *plan.Hop, sp *scenario.Spec) (list []string) {
	if len(h.Faults) > 0 {
		list = append(list, "scripted faults")
	}
	if len(h.Injections(sp)) > 0 {
		list = append(list, "crafted packets")
	}
	if before, _ := divide(h.Link); before.AB.Loss != (spec.Loss{}) || before.BA.Loss != (spec.Loss{}) {
		list = append(list, "losses of this kind")
	}
	return list
}

// divide splits a link between a relay that a frame meets first and netem behind it: the relay draws losses for which
// netem has no process.
func divide(d spec.Duplex) (before, behind spec.Duplex) {
	behind = d
	var drawn [2]spec.Loss
	for i, l := range []*spec.Link{&behind.AB, &behind.BA} {
		if _, err := tc.Translate(spec.Link{Queue: 1, Loss: l.Loss}, tc.Options{Packet: 1}); errors.Is(err,
			tc.ErrUnsupported) {
			drawn[i], l.Loss = l.Loss, spec.Loss{}
		}
	}
	before = spec.Duplex{AB: spec.Link{Queue: 1, Loss: drawn[trace.A]}, BA: spec.Link{Queue: 1, Loss: drawn[trace.B]}}
	return before, behind
}

// unfit says what a hop asks that neither netem does nor a relay before it can; nil when nothing.
func unfit(h *plan.Hop, sp *scenario.Spec, k vtime.Dilation) error {
	_, behind := divide(h.Link)
	for _, l := range []spec.Link{behind.AB, behind.BA} {
		_, err := tc.Translate(l.Dilated(k), tc.Options{Packet: sp.QP[0].MTU + plan.FrameOverhead})
		if errors.Is(err, tc.ErrUnsupported) {
			return err
		}
	}
	return nil
}
