package gb1

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// arrivals are the early packets whose RACKs have not left, oldest first.
type arrivals struct {
	c       *rule.Context
	list    []arrival
	refused bool // the latest NAK was for want of a receive, and what came after the packet that it names is early too
	psn     psn.PSN
	doubts  []doubt
}

// doubt is a RACK that is wrong unless the packet that it says is expected has come and is about to be refused.
type doubt struct {
	psn    psn.PSN
	at     vtime.Time
	record uint64
	text   string
}

// doubted notes a RACK that seems wrong. When the packet that it says is expected takes a receive, it may have come and
// be refused, and the NAK that says so may be superseded by its retry and never leave: that is nobody's fault.
func (a *arrivals) doubted(s *rule.Sight, text string) {
	if rule.Refusable(a.c.Conversation, s.Pkt.PSN) {
		return
	}
	if len(a.doubts) < arrivalLimit {
		a.doubts = append(a.doubts, doubt{s.Pkt.PSN, s.At, s.Index, text})
	}
}

// settle reports the doubts that no refusal has removed in time; at the end all of them.
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

// refuse takes an RNR NAK. Until it leaves, the packet that it refuses seems to have been accepted, and not to be
// expected any more.
func (a *arrivals) refuse(p *roce.Packet) {
	a.refused, a.psn = true, p.PSN
	a.doubts = slices.DeleteFunc(a.doubts, func(x doubt) bool { return x.psn == p.PSN })
	for i := range a.list {
		if p.PSN.Less(a.list[i].expected) {
			a.list[i].expected = p.PSN
		}
	}
}

// excused reports whether a RACK may be of a packet that came after a refused one.
func (a *arrivals) excused(p *roce.Packet) bool { return a.refused && p.PSN == a.psn }

// arrival is one early packet.
type arrival struct {
	psn, expected psn.PSN
	at            vtime.Time
	record        uint64
}

// arrivalLimit bounds them; the oldest is forgotten.
const arrivalLimit = 1 << 12

// early takes a request that arrives, and reports whether it has to draw a RACK: it is ahead, and not too far.
func (a *arrivals) early(s *rule.Sight) bool {
	if s.Relation != rule.Ahead || a.c.Fatal || s.Pkt.PSN.Sub(a.c.EPSN) >= reach(a.c) {
		return false
	}
	if len(a.list) == arrivalLimit {
		a.list = a.list[:copy(a.list, a.list[1:])]
	}
	a.list = append(a.list, arrival{s.Pkt.PSN, a.c.EPSN, s.At, s.Index})
	return true
}

// named takes off the arrival that a RACK reports; ok is false when none waits for it.
func (a *arrivals) named(p *roce.Packet) (x arrival, ok bool) {
	for i := range a.list {
		if a.list[i].psn == p.SACK.PSN {
			x = a.list[i]
			a.list = append(a.list[:i], a.list[i+1:]...)
			return x, true
		}
	}
	return arrival{}, false
}
