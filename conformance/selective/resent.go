package selective

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// Aspect is a requirement of a rule on retransmissions.
type Aspect uint8

// The aspects.
const (
	FirstIsHead  Aspect = iota // the first retransmission of a recovery is the cumulative acknowledgement value
	OnlyHoles                  // the others are holes: unacknowledged PSNs below an acknowledged one
	HoleOnce                   // each hole is retransmitted once per recovery
	SackStops                  // a hole whose SACK arrives before its turn is not retransmitted
	Partial                    // a PSN that an ACK in recovery makes the oldest is retransmitted, once
	TimeoutHead                // after a timeout the first retransmission is the oldest unacknowledged PSN
	TimeoutHoles               // after it, holes are retransmitted
	DespiteFull                // a full window does not delay the first retransmission
	FromNothing                // no retransmission without a NACK or a timeout
)

// Judges sets judge to report the problems of the wanted aspects, and to call Met where they hold.
func (m *Sender) Judges(wanted ...Aspect) {
	m.judge = func(a Aspect, problem string, s *rule.Sight, d *duty) {
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

// resent judges a retransmission, and updates the state by it.
func (m *Sender) resent(s *rule.Sight, p psn.PSN) {
	name := m.c.Rel(p)
	switch {
	case p.Less(m.sure):
		m.judge(m.blame(OnlyHoles), name+" is sent again although it is acknowledged", s, nil)
		return
	case p.Less(m.UNA):
		return // the acknowledgement may have arrived too late to stop it
	}
	v := m.packets.get(p)
	if v.arrived && (v.newest && p != m.UNA || m.left.Knew(v.sacked, s.At)) {
		m.judge(m.blame(OnlyHoles), name+" is sent again although a NACK says that it arrived", s, nil)
		if v.awaited {
			m.judge(SackStops, name+" is sent again although its SACK came before its turn", s, nil)
		}
	}
	switch {
	case m.timed && m.repeated == 0:
		m.judge(TimeoutHead, behind(m, p, name), s, nil)
	case !m.Recovering:
		m.first(s, p, name)
	case v.again == m.recovery:
		m.twice(s, p, name)
	case p != m.UNA:
		m.hole(s, p, name)
	}
	m.moved = m.moved && m.Recovering
	m.follow(p)
}

// follow records a retransmission, also while Quiet, because its recovery may continue after Quiet ends.
func (m *Sender) follow(p psn.PSN) {
	m.Recovering, m.recover = true, m.Next.Prev()
	m.repeated++
	v := m.packets.at(p)
	v.again = m.recovery
	m.opens(v, false)
}

// blame returns the aspect of a packet that must not be retransmitted: a, or TimeoutHoles after a timeout.
func (m *Sender) blame(a Aspect) Aspect {
	if m.timed {
		return TimeoutHoles
	}
	return a
}

// behind returns what is wrong with the first retransmission after a timeout; "" when it is that of the oldest packet.
func behind(m *Sender, p psn.PSN, name string) string {
	if p == m.UNA {
		return ""
	}
	return name + " is sent again first after the timeout; the oldest, " + m.c.Rel(m.UNA) + ", expected"
}

// first judges the first retransmission of a recovery that no timeout began.
func (m *Sender) first(s *rule.Sight, p psn.PSN, name string) {
	switch {
	case p != m.UNA:
		m.judge(FirstIsHead, name+" is sent again first; the cumulative value, "+m.c.Rel(m.UNA)+", expected", s, nil)
	case m.due == nil && len(m.moves) == 0 && m.high.LessEq(m.UNA):
		m.judge(FromNothing, name+" is sent again without a NACK or a timeout", s, nil)
	}
}

// hole judges a later retransmission of a recovery, of a PSN other than UNA.
func (m *Sender) hole(s *rule.Sight, p psn.PSN, name string) {
	switch {
	case m.high.LessEq(p):
		m.judge(m.blame(OnlyHoles), name+" is sent again although nothing above it has arrived", s, nil)
	default:
		m.judge(m.blame(OnlyHoles), "", s, nil)
		m.judge(HoleOnce, "", s, nil)
		if m.awaited > 0 {
			m.judge(SackStops, "", s, nil) // the sender skips holes that were acknowledged meanwhile
		}
	}
}

// twice judges a second retransmission of one PSN in a recovery.
func (m *Sender) twice(s *rule.Sight, p psn.PSN, name string) {
	if p == m.UNA && m.moved {
		m.judge(Partial, name+" became the oldest by a partial ACK, and is sent again a second time", s, nil)
		return
	}
	m.judge(HoleOnce, name+" is sent again a second time in one recovery", s, nil)
}
