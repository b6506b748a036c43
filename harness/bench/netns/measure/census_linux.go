package measure

import (
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/link"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/plan"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/netem/channel"
)

// Census counts the packets that the two taps of the link have captured, per direction, for comparison with the Spec
// and with the link's own log. Scripted faults and drops by a full queue are not random losses, and are counted
// separately.
type Census struct {
	paths [2]pathCount // by sender
}

// pathCount is one direction.
type pathCount struct {
	losses  certify.Losses
	changes certify.Changes
	damaged uint64            // packets that arrived with a flipped bit, of a script's too
	copies  uint64            // including those of a script
	unknown uint64            // packets with unknown fate
	made    uint64            // packets that no endpoint sent
	causes  map[string]uint64 // packets by the cause of their fate, except those with none
	frames  uint64
	first   vtime.Time
	inRun   bool       // the packet before was lost
	newest  vtime.Time // sending time of the latest-sent packet that has arrived
	seen    bool
}

// Packet implements trace.Sink.
func (c *Census) Packet(r *trace.Record) {
	p := &c.paths[r.From]
	p.frames++
	scripted := strings.HasSuffix(r.Cause, "]")
	if scripted && !r.Copy {
		p.caused(r.Cause)
	}
	switch {
	case r.Copy:
		p.copies++
	case r.Fate == trace.Corrupted && strings.HasPrefix(r.Cause, corrupted):
		p.damaged++
	}
	switch {
	case r.Copy && !scripted:
		p.changes.Duplicated++
		return
	case r.Fate == trace.Injected:
		p.made++
		return
	case r.Copy:
		return
	case r.Fate == trace.Unknown:
		p.unknown++
	}
	if !p.seen {
		p.seen, p.first = true, r.Sent
	}
	p.losses.Over = r.Sent.Sub(p.first)
	if r.Fate == trace.Dropped && (scripted || r.Cause == "queue") {
		return
	}
	p.count(r, scripted)
}

// caused counts an effect of a script on a packet.
func (p *pathCount) caused(cause string) {
	if p.causes == nil {
		p.causes = map[string]uint64{}
	}
	p.causes[cause]++
}

// tally returns the number of packets in the trace for a count of the link.
func (p *pathCount) tally(t link.Tally) certify.Tally {
	out := certify.Tally{What: t.What, Decided: t.Decided, Seen: p.frames - p.copies - p.made}
	switch {
	case t.Done != nil:
		out.Seen = *t.Done
	case t.Cause != "":
		out.Seen = p.causes[t.Cause]
	}
	return out
}

// count counts a packet that only the random processes of the link have affected.
func (p *pathCount) count(r *trace.Record, scripted bool) {
	p.losses.Sent++
	lost := r.Fate == trace.Dropped
	if lost {
		p.losses.Lost++
		if !p.inRun {
			p.losses.Runs++
		}
	}
	p.inRun = lost
	if r.Recv == vtime.Never {
		return
	}
	p.changes.Delivered++
	if r.Fate == trace.Corrupted && !scripted {
		p.changes.Corrupted++
	}
	if scripted {
		return // may be held back by a scripted fault, and cannot be compared with the others
	}
	if r.Recv < p.newest {
		p.changes.Reordered++
	}
	p.newest = max(p.newest, r.Recv)
}

// corrupted begins the cause of a packet in which the link flipped a bit; the number of a fault may follow.
var corrupted = channel.Cause{Kind: channel.CorruptedAtRandom}.String()

// Event implements trace.Sink.
func (c *Census) Event(*trace.Event) {}

// End implements trace.Sink.
func (c *Census) End(vtime.Time) {}

// Measured is both directions of the hop, for a certificate: the packets at the taps, the link's own report, and the
// drops and swaps of each tap, by side.
func (c *Census) Measured(h *plan.Hop, r *link.Report, taps [2]certify.Capture) []certify.Measured {
	out := measured(h)
	for side := range out {
		p, m := &c.paths[side], &out[side]
		// A packet of unknown origin is one whose departure the tap did not see.
		missed := p.unknown + p.made - min(p.made, r.Made[side])
		m.Capture = &certify.Capture{Frames: p.frames, Drops: taps[side].Drops + missed, Swapped: taps[side^1].Swapped}
		m.Schedule = &certify.Schedule{LateP99: r.LateP99, LateMax: r.LateMax, Overflow: r.Overflow}
		if p.losses.Sent == 0 {
			continue
		}
		m.Losses, m.Changes = &p.losses, &p.changes
		if r.Exact {
			m.Losses.Decided = &r.Lost[side]
		}
		if r.Exact && !r.Underway {
			m.Tallies = []certify.Tally{{What: "corruptions", Decided: r.Damaged[side], Seen: p.damaged},
				{What: "copies", Decided: r.Copied[side], Seen: p.copies}}
		}
		for _, t := range r.Tallies[side] {
			m.Tallies = append(m.Tallies, p.tally(t))
		}
	}
	return out
}
