package selective

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Sender is the reference sender (IRN 3.1): it takes what leaves one end and the acknowledgements that reach it, and
// knows what may and what has to be sent again.
//
// "The first packet that is retransmitted on entering loss recovery corresponds to the cumulative acknowledgement
// value. Any subsequent packet is considered lost only if another packet with a higher sequence number has been
// selectively acked."
type Sender struct {
	// Judge is called for what a rule asks of retransmissions: with a problem, or "" when it holds. The sight shows it,
	// or, where that is nil, the duty.
	Judge func(a Aspect, problem string, s *rule.Sight, d *Duty)

	Limit  int  // packets that may be in flight; 0 when there is no limit
	Handed int  // packets that the end may have handed to its port: rule.Handed
	Quiet  bool // nothing is judged until what has been sent is acknowledged

	UNA, Next  psn.PSN // oldest PSN that is not acknowledged; next never sent
	Recovering bool    // it has sent something again, and recover is not acknowledged

	c        *rule.Context
	who      rule.Blame    // the end that sends
	sent     int           // packets that have left
	packets  table[packet] // those from sure on
	high     psn.PSN       // newest PSN that is acknowledged selectively; UNA when none is
	moves    []move        // of UNA, which the end may not have heard of yet, oldest first
	sure     psn.PSN       // UNA as the end certainly knows it
	recover  psn.PSN       // newest PSN that had been sent when a packet was last sent again
	recovery uint32        // number of the recovery, or of what led to none yet; from 1
	repeated int           // packets sent again in it
	open     int           // packets that are open
	awaited  int           // packets that are awaited
	moved    bool          // an ACK has moved UNA in this recovery
	timed    bool          // this recovery began with a timeout
	expired  vtime.Time    // the latest timeout, while what left then may still be seen; Never otherwise
	until    psn.PSN       // newest PSN that must be acknowledged before something is judged again
	due      *Duty         // what has to be sent again first; nil when nothing has
}

// packet is one that has left and that the end may not know to be acknowledged.
type packet struct {
	sacked  rule.Moment // when it was acknowledged selectively, if it has arrived
	again   uint32      // number of the latest recovery in which it was sent again; 0 is none
	arrived bool        // it was acknowledged selectively
	open    bool        // a hole above UNA that was not sent again in this recovery
	awaited bool        // a hole that waited for its turn when its SACK came
}

// Duty is a packet that has to be sent again.
type Duty struct {
	Why   []Aspect   // for what rules
	PSN   psn.PSN    // of the packet
	At    vtime.Time // when its sender can have heard of it
	Index uint64     // of the record that shows it
	fresh int        // new packets that have left since
}

// move is UNA after an acknowledgement.
type move struct {
	rule.Moment
	una psn.PSN
}

// NewSender returns the reference sender for the end that sends, from the first PSN on that is given to Start.
func NewSender(c *rule.Context, who rule.Blame) *Sender {
	m := &Sender{c: c, who: who, Handed: rule.Handed, expired: vtime.Never, recovery: 1}
	m.Start(0)
	return m
}

// Start sets the first PSN.
func (m *Sender) Start(p psn.PSN) {
	m.UNA, m.Next, m.sure, m.high = p, p, p, p
	m.packets.reset(p)
}

// Idle reports whether nothing is due to be sent again.
func (m *Sender) Idle() bool { return m.due == nil }

// Holes reports whether something waits to be sent again: the oldest packet, or one below the highest that arrived.
func (m *Sender) Holes() bool { return m.Recovering && !m.again(m.UNA) || m.open > 0 }

// again reports whether a packet was sent again in this recovery.
func (m *Sender) again(p psn.PSN) bool { return m.packets.get(p).again == m.recovery }

// reopen makes every hole wait to be sent again, for another recovery.
func (m *Sender) reopen() {
	m.recovery, m.repeated = m.recovery+1, 0
	for p := m.UNA.Next(); p.Less(m.high); p = p.Next() {
		if v := m.packets.at(p); !v.arrived {
			m.opens(v, true)
		}
	}
}

// opens notes whether a packet waits to be sent again.
func (m *Sender) opens(v *packet, open bool) {
	if v.open != open {
		v.open = open
		if m.open++; !open {
			m.open -= 2
		}
	}
}

// Heard takes an acknowledgement of everything before cum, and of named when that is another, which the end has heard
// of by at. The sight shows it.
func (m *Sender) Heard(s *rule.Sight, at vtime.Time, cum, named psn.PSN) {
	if m.Next.Less(cum) {
		return
	}
	now, news, names := rule.Moment{At: at, Sent: m.sent}, m.UNA.Less(cum), named != cum
	if news {
		m.advance(cum, now)
	}
	if cum.Less(named) && named.In(m.UNA.Next(), m.Next) {
		m.arrived(named, now)
	}
	if m.Quiet || m.UNA == m.Next || cum.Less(m.UNA) { // one that was overtaken tells only what arrived
		return
	}
	switch {
	case names && !news && !m.Recovering:
		why := []Aspect{FirstIsHead}
		if m.Limit > 0 && m.Next.Sub(m.UNA) >= m.Limit {
			why = append(why, DespiteFull)
		}
		m.owe(s, at, why)
	case !news || !m.Recovering:
	case m.again(m.UNA):
		m.Judge(Partial, "", s, nil)
	case m.UNA.Less(m.high):
		// The published logic sends it again even if nothing above it has arrived, which the paper does not call lost;
		// a device may do either then.
		m.owe(s, at, []Aspect{Partial})
	}
}

// advance moves UNA, and ends recovery: "It exits loss recovery when a cumulative acknowledgement greater than the
// recovery sequence is received."
func (m *Sender) advance(cum psn.PSN, now rule.Moment) {
	m.forget(cum)
	m.UNA, m.moved = cum, true
	m.moves = append(m.moves, move{now, cum})
	m.high = psn.Max(m.high, cum)
	if m.due != nil && m.due.PSN.Less(cum) {
		m.due = nil
	}
	m.Quiet = m.Quiet && !m.until.Less(cum)
	if m.Recovering && m.recover.Less(cum) {
		m.Recovering, m.timed = false, false
		m.reopen()
	}
}

// forget closes the holes up to cum, the new UNA. The rest of what is acknowledged goes only when the end certainly
// knows, because a retransmission of it may be on its way until then.
func (m *Sender) forget(cum psn.PSN) {
	for p := m.UNA; m.open > 0 && p.LessEq(cum); p = p.Next() {
		if m.packets.get(p).open {
			m.opens(m.packets.at(p), false)
		}
	}
	for p := m.packets.floor; m.awaited > 0 && p.Less(m.sure); p = p.Next() {
		if m.packets.get(p).awaited {
			m.awaited--
		}
	}
	m.packets.forget(m.sure)
}

// arrived notes a selective acknowledgement.
func (m *Sender) arrived(p psn.PSN, now rule.Moment) {
	v := m.packets.at(p)
	if v.arrived {
		return
	}
	if p.Less(m.high) && m.Recovering && v.again != m.recovery {
		v.awaited = true
		m.awaited++
	}
	v.arrived, v.sacked = true, now
	m.opens(v, false)
	for q := psn.Max(m.high, m.UNA).Next(); q.Less(p); q = q.Next() {
		m.opens(m.packets.at(q), true)
	}
	m.high = psn.Max(m.high, p)
}

// owe makes UNA due.
func (m *Sender) owe(s *rule.Sight, at vtime.Time, why []Aspect) {
	if m.due == nil || m.due.PSN != m.UNA {
		m.due = &Duty{Why: why, PSN: m.UNA, At: at, Index: s.Index}
	}
}

// Passes counts a packet that leaves and is not judged.
func (m *Sender) Passes() { m.sent++ }

// Leaves takes a packet that leaves.
func (m *Sender) Leaves(s *rule.Sight) {
	for len(m.moves) > 0 && m.moves[0].Acted(s.At, m.sent, m.Handed) {
		m.sure, m.moves = m.moves[0].una, m.moves[1:]
	}
	p := s.Pkt.PSN
	defer m.Passes()
	if !p.Less(m.Next) {
		m.Next = p.Next()
		m.overtakes(s.At)
		return
	}
	left := m.expired != vtime.Never && (p != m.UNA && m.c.Port.Lags(m.expired, s.At) || m.c.Began(s) < m.expired)
	if m.expired = vtime.Never; left {
		return
	}
	if m.Quiet {
		m.follow(p)
		return
	}
	m.resent(s, p)
	if m.due != nil && m.due.PSN == p {
		m.settle("", s)
	}
}

// overtakes counts a new packet against the one that is to be sent again.
func (m *Sender) overtakes(now vtime.Time) {
	if m.due == nil || m.Quiet || now < m.due.At {
		return
	}
	if m.due.fresh++; m.due.fresh > rule.Handed {
		m.settle(m.c.Rel(m.due.PSN)+" is not sent again, and new packets are", nil)
	}
}

// settle says what has become of what is due.
func (m *Sender) settle(problem string, s *rule.Sight) {
	for _, a := range m.due.Why {
		m.Judge(a, problem, s, m.due)
	}
	m.due = nil
}

// Timeout restarts recovery from the oldest packet.
func (m *Sender) Timeout(at vtime.Time) {
	// else it may be on the line, or wait for it
	if m.due != nil && !m.Quiet && m.c.Late(m.who, m.due.At, m.c.Port.Turn, at) {
		m.settle(m.c.Rel(m.due.PSN)+" is not sent again before the timeout", nil)
	}
	m.timed, m.expired, m.moved = true, at, false
	m.reopen()
	m.due = &Duty{Why: []Aspect{TimeoutHead}, PSN: m.UNA, At: at, Index: rule.NoRecord}
}

// Hush stops judging until everything sent so far is acknowledged.
func (m *Sender) Hush() {
	m.Quiet, m.until, m.Recovering, m.timed, m.due = true, m.Next.Prev(), false, false, nil
	m.reopen()
	for p := m.packets.floor; m.awaited > 0 && p.Less(m.Next); p = p.Next() {
		if v := m.packets.at(p); v.awaited {
			v.awaited = false
			m.awaited--
		}
	}
}

// End reports what was never sent although there was time.
func (m *Sender) End(at vtime.Time) {
	if m.due != nil && !m.Quiet && !m.c.Failed && !m.c.Fatal && m.c.Late(m.who, m.due.At, rule.Patience, at) {
		m.settle(m.c.Rel(m.due.PSN)+" is not sent again", nil)
	}
}
