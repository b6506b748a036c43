package rule

import (
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Port is what an observer can tell of the port that all QPs of one side share. A packet that an engine wants to send waits
// there for the line, so what leaves late may have been wanted in time.
type Port struct {
	// Turn is how long the line takes for a full packet of every QP and one that answers for each: who is served in turn
	// does not wait longer. It is 0 when the rate is not known.
	Turn vtime.Duration

	Packets uint64 // that have left so far, of all QPs

	// Again is how long requests that were sent again have taken the line so far. Where those go before everything else, a turn takes
	// so much longer; 0 when the rate is not known.
	Again vtime.Duration

	rate  unit.Rate      // of the line; 0 when not known
	full  vtime.Duration // a full packet on the line; 0 when not known
	since vtime.Time     // packets have left without a pause since then
	last  vtime.Time     // the latest packet

	queries bool // its endpoint is of a transport with QueriesHost

	shares
}

const (
	fullHeaders = 104 // bytes of a full packet on the line beside its payload, at most: the RETH of a WRITE, and what a scheme adds
	pauseSlack  = 100 * vtime.Microsecond
)

// newPort starts the port of a side from what the header knows of its line.
func newPort(h *trace.Header, side trace.Side) Port {
	if len(h.Conns) == 0 {
		return Port{}
	}
	end := &h.Conns[0].Ends[side]
	if !end.Known || end.QP.Path.Rate <= unit.Rate(0) {
		return Port{}
	}
	full := end.QP.Path.Rate.Time(end.QP.MTU + fullHeaders)
	return Port{rate: end.QP.Path.Rate, full: full, Turn: 2 * full * vtime.Duration(len(h.Conns))}
}

// pause reports whether the port was idle between its latest packet and now. A line that is full leaves no more than a
// packet's time between two; twice that, and what a clock may be off, is still no room for one more.
func (p *Port) pause(now vtime.Time) bool {
	return p.full == 0 || now.Sub(p.last) > 2*p.full+pauseSlack
}

// sent notes that a packet leaves.
func (p *Port) sent(at vtime.Time) {
	if p.pause(at) {
		p.since = at
	}
	p.last = at
	p.Packets++
}

// again notes that a request leaves once more.
func (p *Port) again(s *Sight) {
	if p.rate > 0 {
		p.Again += p.rate.Time(s.Rec.WireBytes)
	}
}

// Wait is how long a packet may wait in the port behind others, such as READ responses of the same endpoint, or for a turn of
// all QPs if that is longer: so much earlier its sender may have decided to send it.
func (p *Port) Wait() vtime.Duration { return max(Drain, p.Turn) }

// Busy reports whether the port has sent without a pause between then and now, so that a packet wanted then may have waited
// until now. It is false when the rate of the line is not known.
func (p *Port) Busy(then, now vtime.Time) bool { return p.since <= then && !p.pause(now) }
