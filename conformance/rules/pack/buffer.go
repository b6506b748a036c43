package pack

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// settled calls f when all reports of one instant have been read: at the first event after that instant.
type settled struct {
	f       func()
	pending bool
	at      vtime.Time
}

func (s *settled) mark(at vtime.Time) { s.pending, s.at = true, at }

func (s *settled) pass(at vtime.Time) {
	if s.pending && at > s.at {
		s.pending = false
		s.f()
	}
}

var bufferHolds = judged(rule.Rule{
	ID: "PACK-BUF-001", Level: rule.Must,
	Title:  "Every request with a pseudo-ACK and no real ACK is in the buffer of the box",
	Source: rule.Source{Ref: ours, Requirement: "After a pseudo-ACK only the box can retransmit the request"},
	Needs:  rule.Probes, Stimulus: "requests through the box", BlackBox: engines,
}, func(p *path) check {
	return check{sight: func(s *rule.Sight, w where) {
		if w != toLocal || !rule.IsACK(s.Pkt) || p.paper() || p.fatal || !p.begun {
			return
		}
		first, ok := p.psn("buf_first")
		end, ok2 := p.psn("buf_end")
		told := psn.Max(p.acked, s.Pkt.PSN.Next())
		if !ok || !ok2 || told.LessEq(p.una) {
			return
		}
		p.c.Met()
		if p.una.Less(first) || end.Less(told) {
			p.c.Failf(rule.Responder, "the buffer holds %s up to %s; promised and not acknowledged are %s up to %s",
				p.c.Rel(first), p.c.Rel(end), p.c.Rel(p.una), p.c.Rel(told))
		}
	}}
})

var bufferCap = judged(rule.Rule{
	ID: "PACK-BUF-002", Level: rule.MustNot,
	Title: "Above the cap of its buffer the box sends no pseudo-ACK (back-pressure)",
	Source: rule.Source{Ref: ours,
		Requirement: "Requests that do not fit are not promised, so Local's queue depth stops it"},
	Needs: rule.Probes, Stimulus: "a buffer smaller than the path", BlackBox: emulated,
}, func(p *path) check {
	before := int64(-1)
	now := settled{f: func() {
		if p.paper() || !p.told["buffer"] {
			return
		}
		if p.probe["buf_bytes"] > p.probe["buffer"] {
			p.c.Met()
			acked, _ := p.psn("acked")
			// data of Remote promise nothing
			if before >= 0 && before != int64(acked) && (!p.begun || p.una.Less(acked)) {
				p.c.Failf(rule.Responder, "a promise with %d bytes in a buffer of %d", p.probe["buf_bytes"], p.probe["buffer"])
			}
		}
	}}
	return check{
		sight: func(s *rule.Sight, _ where) { now.pass(s.At) },
		event: func(e *trace.Event) {
			now.pass(e.At)
			if p.ofBox(e) && !now.pending {
				before = -1
				if p.told["acked"] {
					before = p.probe["acked"]
				}
				now.mark(e.At)
			}
		},
		end: func(at vtime.Time) { now.pass(at + 1) },
	}
})

var bufferFrees = judged(rule.Rule{
	ID: "PACK-BUF-003", Level: rule.Must,
	Title:  "A real ACK frees every request up to its PSN and resumes pseudo-ACKs",
	Source: rule.Source{Ref: ours, Requirement: "Remote has these requests, so they need no retransmission"},
	Needs:  rule.Probes, Stimulus: "a buffer smaller than the path", BlackBox: emulated,
}, func(p *path) check {
	f := freeing{p: p}
	return check{sight: f.sight, event: func(e *trace.Event) { f.look(e.At) }, end: f.look}
})

// freeing tracks each ACK of Remote until the box has freed the packets that it acknowledges, and has sent Local the
// pseudo-ACKs of the requests that then fit. A box on a host processes an ACK later than its tap shows it.
type freeing struct {
	p     *path
	waits []freed
}

// freed is an ACK of Remote.
type freed struct {
	psn      psn.PSN
	at       vtime.Time
	record   uint64
	full     bool    // the buffer held more bytes than its cap when the ACK arrived
	room     bool    // the buffer has held no more than its cap since
	eligible psn.PSN // PSN after the last request that may be promised once there is room
}

func (f *freeing) sight(s *rule.Sight, w where) {
	f.look(s.At)
	p := f.p
	if w != fromRemote || !rule.IsACK(s.Pkt) || !s.Pkt.PSN.In(p.una, p.max) || p.paper() {
		return
	}
	full := p.told["buffer"] && p.probe["buf_bytes"] > p.probe["buffer"]
	if full {
		p.c.Met()
	}
	f.waits = append(f.waits, freed{psn: s.Pkt.PSN, at: s.At, record: s.Index, full: full, eligible: p.eligible()})
}

// look removes ACKs that have had their effect, and judges those that should have.
func (f *freeing) look(now vtime.Time) {
	for len(f.waits) > 0 {
		a := &f.waits[0]
		a.room = a.room || f.p.probe["buf_bytes"] <= f.p.probe["buffer"]
		first, kept := f.kept(a)
		told, _ := f.p.psn("acked")
		untold := a.full && told.Less(a.eligible)
		switch {
		case f.p.fatal, !kept && !untold:
		case f.p.c.PeerPort.Lags(a.at, now):
			return
		case kept:
			f.fail(a, "Remote has acknowledged %s, but the buffer begins at %s", a.psn, first)
		case a.room:
			f.fail(a, "there is room again, but Local got no pseudo-ACK of %s", a.eligible.Prev())
		}
		f.waits = f.waits[:copy(f.waits, f.waits[1:])]
	}
}

// kept reports whether the buffer still holds the acknowledged packet, and returns the first PSN in the buffer.
func (f *freeing) kept(a *freed) (first psn.PSN, kept bool) {
	first, ok := f.p.psn("buf_first")
	return first, ok && f.p.find(a.psn) != nil && a.psn.Less(f.p.una) && first.LessEq(a.psn)
}

func (f *freeing) fail(a *freed, format string, psns ...psn.PSN) {
	var rel []any
	for _, x := range psns {
		rel = append(rel, f.p.c.Rel(x))
	}
	f.p.c.FailAt(a.at, a.record, rule.Responder, fmt.Sprintf(format, rel...))
}
