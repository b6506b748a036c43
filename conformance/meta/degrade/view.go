package degrade

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/splitmix"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// View is a place of recording.
type View struct {
	Name string
	Of   func(*Wire) Recording

	// all frames of one end are missing, so the view cannot be Told as a tapped port
	OneWay bool
}

// Views are all views. A is the port of the end that begins, mostly the requester.
var Views = []View{
	{Name: "both", Of: func(w *Wire) Recording { return w.at(w.port(trace.A), w.port(trace.B)) }},
	{Name: "requester", Of: func(w *Wire) Recording { return w.alone(trace.A, w.port(trace.A)) }},
	{Name: "responder", Of: func(w *Wire) Recording { return w.alone(trace.B, w.port(trace.B)) }},
	{Name: "middle", Of: func(w *Wire) Recording {
		return w.between(func(n uint64, _ passed) bool { return splitmix.Stream(1).Below(n, 0.5) })
	}},
	{Name: "before losses", Of: func(w *Wire) Recording {
		return w.between(func(uint64, passed) bool { return false })
	}},
	{Name: "behind losses", Of: func(w *Wire) Recording {
		return w.between(func(uint64, passed) bool { return true })
	}},
	{Name: "mirrored ports", Of: func(w *Wire) Recording { return w.mirrored() }},
	{Name: "requests only", OneWay: true, Of: func(w *Wire) Recording {
		return w.alone(trace.A, one(w.port(trace.A), trace.A))
	}},
	{Name: "answers only", OneWay: true, Of: func(w *Wire) Recording {
		return w.alone(trace.A, one(w.port(trace.A), trace.B))
	}},
}

// at returns a recording at both ports.
func (w *Wire) at(taps ...[]Frame) Recording {
	return Recording{Taps: taps, Place: [2]bool{true, true}}
}

// alone returns a recording at one port.
func (w *Wire) alone(side trace.Side, frames []Frame) Recording {
	r := Recording{Taps: [][]Frame{frames}}
	r.Place[side] = true
	return r
}

// port returns the frames that passed the port of a side. A copy that the link made arrives before other packets of its
// time, as trace.Timeline shows it.
func (w *Wire) port(side trace.Side) []Frame {
	var copies, list []Frame
	for _, p := range w.packets {
		switch arrived := p.from != side && p.recv != vtime.Never && p.got != nil; {
		case p.from == side && p.sent != vtime.Never && !p.twin && p.raw != nil:
			list = append(list, Frame{p.sent, p.raw, len(p.raw), p.from, true})
		case arrived && p.twin:
			copies = append(copies, Frame{p.recv, p.got, len(p.got), p.from, false})
		case arrived:
			list = append(list, Frame{p.recv, p.got, len(p.got), p.from, false})
		}
	}
	return inOrder(append(copies, list...))
}

// between returns a recording half way between the ports. behind tells for each packet whether the tap sees it after
// the link has lost or changed it.
func (w *Wire) between(behind func(n uint64, p passed) bool) Recording {
	var list []Frame
	var half [2]vtime.Duration // time from the sender to the tap, by sender
	for n, p := range w.packets {
		if p.sent != vtime.Never && p.recv != vtime.Never {
			half[p.from] = p.recv.Sub(p.sent) / 2
		}
		raw, at := p.raw, p.sent.Add(half[p.from])
		switch {
		case behind(uint64(n), p):
			if raw = p.got; p.recv == vtime.Never {
				continue
			}
			at = p.recv.Add(-half[p.from])
		case p.twin, p.sent == vtime.Never:
			continue
		}
		if raw != nil {
			list = append(list, Frame{at, raw, len(raw), p.from, false})
		}
	}
	return Recording{Taps: [][]Frame{inOrder(list)}, Between: true}
}

// mirrored returns the recording of a switch that mirrors both ports into one file: it has every packet that crossed
// the switch twice.
func (w *Wire) mirrored() Recording {
	return Recording{Taps: [][]Frame{inOrder(slices.Concat(w.port(trace.A), w.port(trace.B)))}, Between: true}
}

// one returns the frames that a side sent.
func one(frames []Frame, from trace.Side) []Frame {
	return slices.DeleteFunc(frames, func(f Frame) bool { return f.From != from })
}
