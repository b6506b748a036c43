package selective

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// Aspect is what a rule asks of retransmissions.
type Aspect uint8

// The aspects.
const (
	FirstIsHead  Aspect = iota // the first of a recovery is the cumulative value
	OnlyHoles                  // the others are holes: not acknowledged, and something above them is
	HoleOnce                   // each once per recovery
	SackStops                  // one that is waited for and turns out to have arrived is left out
	Partial                    // what an ACK in recovery makes the oldest, iff it was not sent again
	TimeoutHead                // a timeout begins with the oldest
	TimeoutHoles               // and holes follow
	DespiteFull                // a window that is full does not hold the first back
	FromNothing                // without a NACK or a timeout nothing is sent again
)

// Judges makes the sender report the problems of some aspects, and count where they hold.
func (m *Sender) Judges(wanted ...Aspect) {
	m.Judge = func(a Aspect, problem string, s *rule.Sight, d *Duty) {
		switch {
		case !slices.Contains(wanted, a):
		case problem == "":
			m.c.Met()
		case s != nil:
			m.c.Fail(m.who, problem)
		default:
			m.c.FailAt(d.At, d.Index, m.who, problem)
		}
	}
}

// resent judges a retransmission, and follows it.
func (m *Sender) resent(s *rule.Sight, p psn.PSN) {
	name := m.c.Rel(p)
	switch {
	case p.Less(m.sure):
		m.Judge(m.blame(OnlyHoles), name+" is sent again although it is acknowledged", s, nil)
		return
	case p.Less(m.UNA):
		return // the acknowledgement may have come too late
	}
	v := m.packets.get(p)
	if v.arrived && v.sacked.Acted(s.At, m.sent, m.Handed) {
		m.Judge(m.blame(OnlyHoles), name+" is sent again although a NACK says that it arrived", s, nil)
		if v.awaited {
			m.Judge(SackStops, name+" is sent again although its SACK came before its turn", s, nil)
		}
	}
	switch {
	case !m.Recovering:
		m.first(s, p, name)
		m.moved = false
	case v.again == m.recovery:
		m.twice(s, p, name)
	case p != m.UNA:
		m.hole(s, p, name)
	case m.timed && m.repeated == 0:
		m.Judge(TimeoutHead, "", s, nil)
	}
	m.follow(p)
}

// follow notes a retransmission. One that leaves while nothing is judged belongs to a recovery that may go on when
// something is again.
func (m *Sender) follow(p psn.PSN) {
	m.Recovering, m.recover = true, m.Next.Prev()
	m.repeated++
	v := m.packets.at(p)
	v.again = m.recovery
	m.opens(v, false)
}

// blame is the aspect under which a packet that must not be sent again is judged: after a timeout that of timeouts.
func (m *Sender) blame(a Aspect) Aspect {
	if m.timed {
		return TimeoutHoles
	}
	return a
}

// first judges the first retransmission of a recovery.
func (m *Sender) first(s *rule.Sight, p psn.PSN, name string) {
	switch {
	case p != m.UNA && m.timed:
		m.Judge(TimeoutHead, name+" is sent again first after the timeout, the oldest is "+m.c.Rel(m.UNA), s, nil)
	case p != m.UNA:
		m.Judge(FirstIsHead, name+" is sent again first, the cumulative value is "+m.c.Rel(m.UNA), s, nil)
	case m.timed:
		m.Judge(TimeoutHead, "", s, nil)
	case m.due == nil && len(m.moves) == 0 && m.high.LessEq(m.UNA):
		m.Judge(FromNothing, name+" is sent again, and nothing says that it is lost", s, nil)
	}
}

// hole judges another one.
func (m *Sender) hole(s *rule.Sight, p psn.PSN, name string) {
	switch {
	case m.timed && m.repeated == 0:
		m.Judge(TimeoutHead, name+" is sent again first after the timeout, the oldest is "+m.c.Rel(m.UNA), s, nil)
	case m.high.LessEq(p):
		m.Judge(m.blame(OnlyHoles), name+" is sent again, and nothing above it has arrived", s, nil)
	default:
		m.Judge(m.blame(OnlyHoles), "", s, nil)
		m.Judge(HoleOnce, "", s, nil)
		if m.awaited > 0 {
			m.Judge(SackStops, "", s, nil) // the next hole is sought
		}
	}
}

// twice judges a second retransmission in one recovery.
func (m *Sender) twice(s *rule.Sight, p psn.PSN, name string) {
	if p == m.UNA && m.moved {
		m.Judge(Partial, name+" is the oldest now, and is sent again a second time", s, nil)
		return
	}
	m.Judge(HoleOnce, name+" is sent again a second time in one recovery", s, nil)
}
