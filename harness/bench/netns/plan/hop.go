package plan

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// Hop is a part of the path with one link: the whole path, or the part on one side of a middlebox.
type Hop struct {
	Part   trace.Hop
	Link   spec.Duplex
	Faults []fault.Fault
	Seeds  [2]uint64 // of the processes of the link, by sender
}

// FrameOverhead is the maximum number of bytes of a frame on the line in addition to its payload: the overhead of a
// full packet, and a DETH.
const FrameOverhead = roce.Overhead + 8

// Way is the direction in which a side sends.
func (h *Hop) Way(side trace.Side) spec.Link {
	if side == trace.A {
		return h.Link.AB
	}
	return h.Link.BA
}

// Ways are both directions, by sender.
func (h *Hop) Ways() [2]spec.Link { return [2]spec.Link{h.Link.AB, h.Link.BA} }

// Named adds the hop to the name of something that every link has.
func (h *Hop) Named(what string) string {
	if h.Part == trace.Whole {
		return what
	}
	return what + ", " + h.Part.String()
}

// Directions names both ways over the hop, by sender, as certificates do.
func (h *Hop) Directions() [2]string {
	near, far := "A", "B"
	switch side, boxed := h.Part.Box(); {
	case boxed && side == trace.A:
		near = "box"
	case boxed:
		far = "box"
	}
	return [2]string{near + ">" + far, far + ">" + near}
}

// Injections are the crafted packets that enter on this hop: those to the endpoint at which it ends.
func (h *Hop) Injections(sp *scenario.Spec) (list []scenario.Injection) {
	box, boxed := h.Part.Box()
	for _, in := range sp.Injections {
		if !boxed || box != in.To {
			list = append(list, in)
		}
	}
	return list
}

// Least is the least delay of a packet over the hop, by sender; zero where a packet may pass without delay.
func (h *Hop) Least() (d [2]vtime.Duration) {
	for side, l := range h.Ways() {
		if l.Reorder == 0 {
			d[side] = l.Delay - l.Jitter
		}
	}
	return d
}

// Ordered reports whether no packet overtakes another on the hop, except those that a script holds back.
func (h *Hop) Ordered() bool {
	ab, ba := &h.Link.AB, &h.Link.BA
	return ab.Jitter == 0 && ba.Jitter == 0 && ab.Reorder == 0 && ba.Reorder == 0
}

// HoldsBack reports whether a script holds packets back on the hop.
func (h *Hop) HoldsBack() bool {
	return slices.ContainsFunc(h.Faults, func(f fault.Fault) bool {
		return f.Action == fault.Delay || f.Action == fault.Reorder
	})
}

// window returns the maximum time that a packet can spend on the link and in its queue.
func (h *Hop) window(mtu int) vtime.Duration {
	d := h.Link.AB.Delay + h.Link.BA.Delay + 500*vtime.Millisecond
	for _, l := range h.Ways() {
		d += l.Jitter + vtime.Duration(l.Queue)*l.Rate.Time(mtu+FrameOverhead)
	}
	for _, f := range h.Faults {
		d += f.By
	}
	return d
}
