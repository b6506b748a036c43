package merge

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// LinkFate is what the emulated link says it did with one packet, for a link that keeps a log.
type LinkFate struct {
	At     vtime.Time // when the link took the packet
	From   trace.Side
	Opcode roce.Opcode
	PSN    psn.PSN
	Left   vtime.Time // when the part of the link that the log is of let it go; zero: at once
	Lost   bool       // the link never delivered it
	Cause  string     // who changed its fate; empty when nobody did
}

// link applies the entries of the link's log up to now: each to the newest packet it can mean.
func (m *merger) link(now vtime.Time) {
	for len(m.fates) > 0 && m.fates[0].At <= now {
		e := &m.fates[0]
		m.fates = m.fates[1:]
		f := m.logged(e)
		if f == nil {
			m.stats.Unexplored++
			continue
		}
		f.fated, f.cause, f.let = true, e.Cause, e.Left
		if f.matched || !e.Lost {
			f.Rec.Cause = e.Cause
			continue
		}
		m.lose(f, trace.Dropped, e.Cause)
	}
}

// logged finds the packet of an entry: the one that left closest before it, by two time stamps that differ a little.
func (m *merger) logged(e *LinkFate) (found *flight) {
	least := vtime.Duration(vtime.Never)
	for i := m.sent.Len() - 1; i >= 0; i-- {
		f := m.sent.At(i)
		off := e.At.Sub(f.Rec.Sent)
		if off > least {
			break // and so are all that left earlier
		}
		k := &f.loose
		if !f.fated && off >= -slack && max(off, -off) < least && k.from == e.From && k.psn == e.PSN && k.opcode == e.Opcode {
			found, least = f, max(off, -off)
		}
	}
	return found
}
