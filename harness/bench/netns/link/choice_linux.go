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
	"github.com/rdma-gauntlet/gauntlet/netem/injector"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
	"github.com/rdma-gauntlet/gauntlet/netem/tc"
)

// Choice is the set of stages that make the link of a Spec.
type Choice struct {
	Netem    bool   // use the kernel's netem; otherwise the relay, where there is an impairment
	Injector bool   // the injector, in the kernel, makes faults and losses
	Alone    bool   // no relay is in the path, so that a bridge has to carry the frames
	Why      string // for the report: the choice is never silent
}

// The wishes of a job for its link; none, or "auto", is the kernel where it can do the whole link, else the relay.
const (
	overNetem    = "netem"
	overRelay    = "relay"
	overInjector = "ebpf"
)

// String returns the choice as on the command line.
func (c Choice) String() string {
	switch {
	case c.Injector:
		return overInjector
	case c.Netem:
		return overNetem
	}
	return overRelay
}

// Request is the input of Choose.
type Request struct {
	Spec     *scenario.Spec
	Hop      *plan.Hop      // hop of the link of the Spec
	Wish     string         // of the job
	OverIP   bool           // an implementation sends packets that are not RoCEv2
	Dilation vtime.Dilation // length of a second of the Spec, in seconds
}

// Choose decides how the link of a Spec is made. The error wraps bench.ErrUnsupported when the wish is for netem or the
// injector and they lack an impairment.
func Choose(r Request) (Choice, error) {
	switch r.Wish {
	case overRelay:
		return Choice{Why: "user-space relay, as asked for"}, nil
	case overInjector:
		return r.overInjector()
	case overNetem:
		return r.overNetem()
	case "", "auto":
		return r.auto(), nil
	}
	return Choice{}, fmt.Errorf("netns: link %q: want auto, netem, ebpf or relay", r.Wish)
}

// overNetem chooses netem, after a relay for the impairments that netem lacks.
func (r *Request) overNetem() (Choice, error) {
	lack, beyond, support := unfit(r.Hop, r.Spec, r.Dilation), strings.Join(
		beyondNetem(r.Hop, r.Spec), " and "), tc.Probe()
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
	return Choice{Netem: true, Alone: true, Why: "tc-netem of kernel " + support.Kernel}, nil
}

// auto chooses netem if it can make the whole link, alone or after the injector, and otherwise the relay.
func (r *Request) auto() Choice {
	lack, beyond, support := unfit(r.Hop, r.Spec, r.Dilation), beyondNetem(r.Hop, r.Spec), tc.Probe()
	lacking := strings.Join(beyond, " and ")
	switch {
	case lack != nil:
		return Choice{Why: fmt.Sprintf("user-space relay, because netem has no such link (%v)", lack)}
	case lacking == "" && support.Netem:
		return Choice{Netem: true, Alone: true, Why: "tc-netem of kernel " + support.Kernel}
	case lacking == "":
		return Choice{Why: fmt.Sprintf("user-space relay, because kernel %s has no netem (%s)", support.Kernel,
			support.Reason)}
	case !support.Netem:
		return Choice{Why: "user-space relay, because netem has no " + lacking}
	}
	without := r.beyondInjector()
	if without == "" {
		return Choice{Netem: true, Injector: true, Alone: true, Why: fmt.Sprintf(
			"tc-netem of kernel %s, behind the injector (eBPF), which does the %s", support.Kernel, lacking)}
	}
	return Choice{Why: fmt.Sprintf("user-space relay, because netem has no %s, nor does the injector (eBPF) serve: %s",
		lacking, without)}
}

// overInjector chooses the injector, with netem after it for the rest of the link; if the kernel has no netem, with a
// relay before it if there is a rest.
func (r *Request) overInjector() (Choice, error) {
	if without := r.beyondScript(); without != "" {
		return Choice{}, fmt.Errorf("netns: --link ebpf: the injector has no %s; leave --link out: %w", without,
			bench.ErrUnsupported)
	}
	support := injector.Probe()
	if !support.OK {
		return Choice{}, fmt.Errorf("netns: --link ebpf: %s; or use the relay", support.Reason)
	}
	_, rest := lossless(r.Hop.Link)
	c, relay := Choice{Injector: true, Alone: true}, ""
	if len(r.Hop.Injections(r.Spec)) > 0 {
		c.Alone, relay = false, ", behind the relay, which sends the crafted packets"
	}
	switch {
	case bare(rest):
		c.Why = "injector (eBPF) in the kernel, on a link without rate or delay" + relay
	case tc.Probe().Netem && unfit(&plan.Hop{Link: rest}, r.Spec, r.Dilation) == nil:
		c.Netem, c.Why = true,
			"injector (eBPF) in the kernel, and tc-netem of kernel "+tc.Probe().Kernel+" behind it"+relay
	case !steady(rest):
		return Choice{}, fmt.Errorf("netns: --link ebpf: without netem the relay is before the injector, and has "+
			"no jitter, reorder, duplicate or corrupt there; leave --link out: %w", bench.ErrUnsupported)
	default:
		c.Alone, c.Why = false, "injector (eBPF) in the kernel, behind the relay, which does rate, queue and delay"
	}
	return c, nil
}

// beyondInjector returns the reason why the injector, followed by nothing but netem, cannot make the impairments that
// netem lacks; "" when it can.
func (r *Request) beyondInjector() string {
	if without := r.beyondScript(); without != "" {
		return "it has no " + without
	}
	if len(r.Hop.Injections(r.Spec)) > 0 {
		return "it has no crafted packets"
	}
	return injector.Probe().Reason
}

// beyondScript names the features of the Spec that the injector never supports; "" when it supports all.
func (r *Request) beyondScript() string {
	list := injector.Beyond(r.Hop.Faults, r.Hop.Link.AB.Loss, r.Hop.Link.BA.Loss)
	if r.OverIP && len(r.Hop.Faults) > 0 {
		list = append(list, "faults on packets that are no RoCEv2")
	}
	return strings.Join(list, " and ")
}

// lossless splits a link into its losses and the rest.
func lossless(d spec.Duplex) (losses, rest spec.Duplex) {
	losses = losing(d.AB.Loss, d.BA.Loss)
	d.AB.Loss, d.BA.Loss = spec.Loss{}, spec.Loss{}
	return losses, d
}

// losing is a link that loses packets, and does nothing else.
func losing(ab, ba spec.Loss) spec.Duplex {
	return spec.Duplex{AB: spec.Link{Queue: 1, Loss: ab}, BA: spec.Link{Queue: 1, Loss: ba}}
}

// bare reports whether a link does nothing to a packet.
func bare(d spec.Duplex) bool {
	d.AB.Queue, d.BA.Queue = 0, 0
	d.AB.Port, d.BA.Port = 0, 0 // the endpoints' ports are real
	return d == spec.Duplex{}
}

// steady reports whether a link leaves the order, the number and the bytes of packets as they are.
func steady(d spec.Duplex) bool {
	for _, l := range []spec.Link{d.AB, d.BA} {
		if l.Jitter != 0 || l.Reorder != 0 || l.Duplicate != 0 || l.Corrupt != 0 {
			return false
		}
	}
	return true
}

// beyondNetem names the features of a hop that netem lacks and a relay before it has.
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

// divide splits a link between a relay and netem after it: the relay draws losses for which netem has no process.
func divide(d spec.Duplex) (before, behind spec.Duplex) {
	behind = d
	var drawn [2]spec.Loss
	for i, l := range []*spec.Link{&behind.AB, &behind.BA} {
		if _, err := tc.Translate(spec.Link{Queue: 1, Loss: l.Loss}, tc.Options{Packet: 1}); errors.Is(err,
			tc.ErrUnsupported) {
			drawn[i], l.Loss = l.Loss, spec.Loss{}
		}
	}
	return losing(drawn[trace.A], drawn[trace.B]), behind
}

// unfit returns an error for an impairment of a hop that neither netem nor a relay before it has; nil without one.
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
