package netns

import (
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// census counts what the two taps saw of the link, per direction, to hold against the Spec and against the link's own
// log.
type census struct {
	paths [2]pathCount // by sender
	known int          // losses that the link's log names
}

// pathCount is one direction.
type pathCount struct {
	Sent      int64 // packets that left, copies and crafted ones not counted
	Lost      int64
	Bursts    int64 // runs of consecutive losses
	Reordered int64 // arrivals that were sent before an earlier arrival
	Altered   int64
	Copies    int64
	Unknown   int64 // a tap cannot tell
	inBurst   bool
	newest    vtime.Time
}

func newCensus(fates []trace.LinkFate) *census {
	c := &census{}
	for _, f := range fates {
		if f.Lost {
			c.known++
		}
	}
	return c
}

// Packet implements trace.Sink.
func (c *census) Packet(r *trace.Record) {
	p := &c.paths[r.From]
	switch {
	case r.Copy:
		p.Copies++
		return
	case r.Fate == trace.Injected:
		return
	case r.Fate == trace.Unknown:
		p.Unknown++
	case r.Fate == trace.Corrupted:
		p.Altered++
	}
	p.Sent++
	lost := r.Fate == trace.Dropped
	if lost {
		p.Lost++
		if !p.inBurst {
			p.Bursts++
		}
	}
	p.inBurst = lost
	if r.Recv != vtime.Never {
		if r.Recv < p.newest {
			p.Reordered++
		}
		p.newest = max(p.newest, r.Recv)
	}
}

// Event implements trace.Sink.
func (c *census) Event(*trace.Event) {}

// End implements trace.Sink.
func (c *census) End(vtime.Time) {}
