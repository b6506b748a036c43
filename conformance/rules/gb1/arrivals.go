package gb1

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// arrivals holds the out-of-order packets whose RACKs have not left, oldest first.
type arrivals struct {
	c    *rule.Context
	list []arrival
	// the latest NAK was an RNR NAK of psn, so packets after psn count as out of order
	refused bool
	psn     psn.PSN
	doubts  []doubt // oldest first
}

// doubt is a RACK that is wrong unless the packet that it expects has arrived and is about to be refused.
type doubt struct {
	psn    psn.PSN
	at     vtime.Time
	record uint64
	text   string
}

// doubted stores a RACK that seems wrong. If the packet that the RACK expects takes a receive, the packet may have
// arrived and be refused, and its RNR NAK may be superseded by the retry and never leave. Then the RACK is not judged.
func (a *arrivals) doubted(s *rule.Sight, text string) {
	if rule.Refusable(a.c.Conversation, s.Pkt.PSN) {
		return
	}
	if len(a.doubts) < arrivalLimit {
		a.doubts = append(a.doubts, doubt{s.Pkt.PSN, s.At, s.Index, text})
	}
}

// settle reports the doubts that no refusal has removed in time.
func (a *arrivals) settle(now vtime.Time) {
	for len(a.doubts) > 0 && a.c.Late(rule.Responder, a.doubts[0].at, rule.Patience, now) {
		a.report()
	}
}

func (a *arrivals) end(vtime.Time) {
	for len(a.doubts) > 0 {
		a.report()
	}
}

func (a *arrivals) report() {
	x := a.doubts[0]
	a.doubts = a.doubts[1:]
	if !a.c.Fatal {
		a.c.FailAt(x.at, x.record, rule.Responder, x.text)
	}
}

// refuse processes an RNR NAK. Until it leaves, the refused packet seems accepted, and not expected any more.
func (a *arrivals) refuse(p *roce.Packet) {
	a.refused, a.psn = true, p.PSN
	a.doubts = slices.DeleteFunc(a.doubts, func(x doubt) bool { return x.psn == p.PSN })
	for i := range a.list {
		if p.PSN.Less(a.list[i].expected) {
			a.list[i].expected = p.PSN
		}
	}
}

// excused reports whether a RACK may name a packet that arrived after a refused one.
func (a *arrivals) excused(p *roce.Packet) bool { return a.refused && p.PSN == a.psn }

// arrival is an out-of-order packet.
type arrival struct {
	psn, expected psn.PSN
	at            vtime.Time
	record        uint64
	passed        bool // an answer to a later arrival has left, so its RACK has had its turn
}

// arrivalLimit bounds the arrivals; the oldest is forgotten.
const arrivalLimit = 1 << 12

// early stores an arrival that must draw a RACK, one ahead within reach, and reports whether it is one.
func (a *arrivals) early(s *rule.Sight) bool {
	if s.Relation != rule.Ahead || a.c.Fatal || s.Pkt.PSN.Sub(a.c.EPSN) >= reach(a.c) {
		return false
	}
	if len(a.list) == arrivalLimit {
		a.list = a.list[:copy(a.list, a.list[1:])]
	}
	a.list = append(a.list, arrival{psn: s.Pkt.PSN, expected: a.c.EPSN, at: s.At, record: s.Index})
	return true
}

// pass marks the first n arrivals as overtaken.
func (a *arrivals) pass(n int) {
	for i := range a.list[:n] {
		a.list[i].passed = true
	}
}

// covered marks the arrivals that an ACK covers: what filled the gap came after them, and RACKs leave ahead of ACKs.
func (a *arrivals) covered(last psn.PSN) {
	for i := range a.list {
		a.list[i].passed = a.list[i].passed || a.list[i].psn.LessEq(last)
	}
}

// named removes the arrival that a RACK names; ok is false when there is none.
func (a *arrivals) named(p *roce.Packet) (x arrival, ok bool) {
	for i := range a.list {
		if a.list[i].psn == p.SACK.PSN {
			x = a.list[i]
			a.pass(i)
			a.list = append(a.list[:i], a.list[i+1:]...)
			return x, true
		}
	}
	return arrival{}, false
}
