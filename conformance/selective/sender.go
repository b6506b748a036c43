package selective

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Sender is the reference sender (IRN 3.1): from the packets that leave one end and the acknowledgements that reach it,
// it derives the packets that may and must be retransmitted.
//
// "The first packet that is retransmitted on entering loss recovery corresponds to the cumulative acknowledgement
// value. Any subsequent packet is considered lost only if another packet with a higher sequence number has been
// selectively acked."
type Sender struct {
	// judge is called when an Aspect was violated, with the problem, or held, with "". It is shown by the sight or,
	// when that is nil, by the duty.
	judge func(a Aspect, problem string, s *rule.Sight, d *duty)

	Limit int  // most packets in flight; 0 when there is no limit
	Quiet bool // nothing is judged until everything sent before Hush is acknowledged

	UNA, Next  psn.PSN // oldest unacknowledged PSN; next PSN never sent
	Implied    psn.PSN // UNA, or a later PSN that the end may take for it, see Implies
	Recovering bool    // the end has retransmitted, and recover is not acknowledged yet

	c        *rule.Context
	who      rule.Blame // the end whose packets are judged
	left     rule.Departures
	packets  table[packet] // state of the PSNs from sure on
	high     psn.PSN       // newest PSN acknowledged selectively; UNA when there is none above it
	moves    []move        // advances of UNA that the end may not know of yet, oldest first
	sure     psn.PSN       // UNA that the end certainly knows; sure <= UNA
	recover  psn.PSN       // newest PSN sent before the latest retransmission; an ACK of it ends recovery
	recovery uint32        // number of the current recovery, from 1; reopen begins the next
	repeated int           // number of retransmissions in this recovery
	open     int           // number of packets that are open
	awaited  int           // number of packets that are awaited
	moved    bool          // an ACK has advanced UNA in this recovery
	timed    bool          // this recovery began with a timeout
	expired  vtime.Time    // the latest timeout, until the first retransmission seen after it; Never otherwise
	until    psn.PSN       // newest PSN that must be acknowledged before Quiet ends
	due      *duty         // the packet that must be retransmitted first; nil when there is none
	begun    bool          // Begin has set the first PSN
}

// packet is the state of one PSN.
type packet struct {
	sacked  vtime.Time // from which the end can know of its selective acknowledgement; valid when arrived is true
	again   uint32     // number of the latest recovery in which it was retransmitted; 0 for none
	arrived bool       // acknowledged selectively
	open    bool       // a hole above UNA that was not retransmitted in this recovery
	awaited bool       // a hole that was still to be retransmitted when its SACK arrived
	newest  bool       // none above it was acknowledged selectively before it, so that it never was a hole
}

// duty is a packet that must be retransmitted.
type duty struct {
	Why   []Aspect   // the aspects that require it
	PSN   psn.PSN    // of the packet
	At    vtime.Time // time from which its sender can know of the duty
	Index uint64     // of the record that shows the duty
	fresh int        // new packets that have left since At
}

// move is an advance of UNA to una by an acknowledgement of which the end can know from at on.
type move struct {
	at  vtime.Time
	una psn.PSN
}

// NewSender returns the reference sender for the end who, which may have handed that many packets to its port, see
// rule.Handed. Start sets its first PSN.
func NewSender(c *rule.Context, who rule.Blame, handed int) *Sender {
	m := &Sender{c: c, who: who, left: rule.NewDepartures(handed), expired: vtime.Never, recovery: 1}
	m.Start(0)
	return m
}

// Start sets the first PSN.
func (m *Sender) Start(p psn.PSN) {
	m.UNA, m.Next, m.sure, m.high, m.Implied = p, p, p, p, p
	m.packets.reset(p)
}

// Begin sets the first PSN to that of the requests, as soon as it is known.
func (m *Sender) Begin() {
	if !m.begun && m.c.Started {
		m.begun = true
		m.Start(m.c.Start)
	}
}

// Event processes the timeouts of a requester. A timeout of READ responses, which the same side may report, names
// another PSN.
func (m *Sender) Event(e *trace.Event) {
	switch {
	case e.Kind != trace.Timeout || !m.c.Mine(e) || m.UNA == m.Next:
	case e.Body.PSN != m.UNA:
		m.Hush() // an ACK was at the port and not processed yet, or the timer is that of READ responses
	default:
		m.Timeout(e.At)
	}
}

// Idle reports whether no packet is due to be retransmitted.
func (m *Sender) Idle() bool { return m.due == nil }

// Holes reports whether a packet waits to be retransmitted: UNA, or a PSN below the newest that arrived.
func (m *Sender) Holes() bool { return m.Recovering && !m.again(m.UNA) || m.open > 0 }

// again reports whether a packet was retransmitted in this recovery.
func (m *Sender) again(p psn.PSN) bool { return m.packets.get(p).again == m.recovery }

// reopen makes every hole wait to be retransmitted, for the next recovery.
func (m *Sender) reopen() {
	m.recovery, m.repeated = m.recovery+1, 0
	for p := m.UNA.Next(); p.Less(m.high); p = p.Next() {
		if v := m.packets.at(p); !v.arrived {
			m.opens(v, true)
		}
	}
}

// opens sets whether a packet is open.
func (m *Sender) opens(v *packet, open bool) {
	if v.open != open {
		v.open = open
		if m.open++; !open {
			m.open -= 2
		}
	}
}

// Heard processes an acknowledgement of all PSNs before cum, and of named if it differs from cum. at is the time from
// which the end can know of it. The sight shows it.
func (m *Sender) Heard(s *rule.Sight, at vtime.Time, cum, named psn.PSN) {
	if m.Next.Less(cum) {
		return
	}
	news, names := m.UNA.Less(cum), named != cum
	if news {
		m.advance(cum, at)
	}
	if cum.Less(named) && named.In(m.UNA.Next(), m.Next) {
		m.arrived(named, at)
	}
	if m.Quiet || m.UNA == m.Next || cum.Less(m.UNA) { // an acknowledgement that was overtaken only adds to sacked
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
		m.judge(Partial, "", s, nil)
	case m.UNA.Less(m.high):
		// The published logic retransmits UNA even if nothing above it has arrived, which the paper does not call lost;
		// a device may do either in that case.
		m.owe(s, at, []Aspect{Partial})
	}
}

// advance sets UNA to cum, and may end recovery: "It exits loss recovery when a cumulative acknowledgement greater than
// the recovery sequence is received."
func (m *Sender) advance(cum psn.PSN, at vtime.Time) {
	m.forget(cum)
	m.UNA, m.moved = cum, true
	m.moves = append(m.moves, move{at, cum})
	m.high, m.Implied = psn.Max(m.high, cum), psn.Max(m.Implied, cum)
	if m.due != nil && m.due.PSN.Less(cum) {
		m.due = nil
	}
	m.Quiet = m.Quiet && !m.until.Less(cum)
	if m.Recovering && m.recover.Less(cum) {
		m.Recovering, m.timed = false, false
		m.reopen()
	}
}

// forget closes the holes up to cum, the new UNA, and drops the PSNs below sure. The others are kept, because a
// retransmission of them may already be on its way.
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

// arrived records a selective acknowledgement of p.
func (m *Sender) arrived(p psn.PSN, at vtime.Time) {
	v := m.packets.at(p)
	if v.arrived {
		return
	}
	if p.Less(m.high) && m.Recovering && v.again != m.recovery {
		v.awaited = true
		m.awaited++
	}
	v.arrived, v.sacked, v.newest = true, at, !p.Less(m.high)
	m.opens(v, false)
	for q := psn.Max(m.high, m.UNA).Next(); q.Less(p); q = q.Next() {
		m.opens(m.packets.at(q), true)
	}
	m.high = psn.Max(m.high, p)
}

// Implies records that a packet other than an acknowledgement shows that everything before cum has arrived. The end may
// act upon that or wait for an acknowledgement: it owes nothing meanwhile, and its oldest packet is UNA or Implied.
func (m *Sender) Implies(cum psn.PSN) {
	if m.Next.Less(cum) || cum.LessEq(m.Implied) {
		return
	}
	for m.Implied = cum; m.Implied.Less(m.Next) && m.packets.get(m.Implied).arrived; m.Implied = m.Implied.Next() {
	}
	m.due = nil
}

// concludes advances UNA to Implied if a retransmission shows that its end has done so.
func (m *Sender) concludes(s *rule.Sight) {
	if p := s.Pkt.PSN; p == m.Implied && m.UNA.Less(p) {
		m.advance(p, s.At)
	}
}

// owe makes UNA due, unless it is due already or may have arrived.
func (m *Sender) owe(s *rule.Sight, at vtime.Time, why []Aspect) {
	if m.UNA == m.Implied && (m.due == nil || m.due.PSN != m.UNA) {
		m.due = &duty{Why: why, PSN: m.UNA, At: at, Index: s.Index}
	}
}

// Passes records a packet that leaves, without judging it.
func (m *Sender) Passes(s *rule.Sight) { m.left.Left(s.At) }

// Sure returns the UNA that the end certainly knew when it made a packet that leaves now.
func (m *Sender) Sure(now vtime.Time) psn.PSN {
	for len(m.moves) > 0 && m.left.Knew(m.moves[0].at, now) {
		m.sure, m.moves = m.moves[0].una, m.moves[1:]
	}
	return m.sure
}

// Leaves processes a packet that leaves.
func (m *Sender) Leaves(s *rule.Sight) {
	m.Sure(s.At)
	p := s.Pkt.PSN
	defer m.Passes(s)
	if !p.Less(m.Next) {
		m.Next = p.Next()
		m.overtakes(s.At)
		return
	}
	m.concludes(s)
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

// overtakes counts a new packet that leaves before the packet that is due.
func (m *Sender) overtakes(now vtime.Time) {
	if m.due == nil || m.Quiet || now < m.due.At {
		return
	}
	if m.due.fresh++; m.due.fresh > rule.Handed {
		m.settle(m.c.Rel(m.due.PSN)+" is not sent again although new packets are sent", nil)
	}
}

// settle ends the duty, with a problem or "".
func (m *Sender) settle(problem string, s *rule.Sight) {
	for _, a := range m.due.Why {
		m.judge(a, problem, s, m.due)
	}
	m.due = nil
}

// Timeout restarts recovery from the oldest packet.
func (m *Sender) Timeout(at vtime.Time) {
	// otherwise it may be on the line or wait for it
	if m.due != nil && !m.Quiet && m.c.Late(m.who, m.due.At, m.c.Port.Turn, at) {
		m.settle(m.c.Rel(m.due.PSN)+" is not sent again before the timeout", nil)
	}
	m.timed, m.expired, m.moved = true, at, false
	m.reopen()
	if m.due = nil; m.UNA == m.Implied {
		m.due = &duty{Why: []Aspect{TimeoutHead}, PSN: m.UNA, At: at, Index: rule.NoRecord}
	}
}

// Hush stops judging until everything sent so far is acknowledged.
func (m *Sender) Hush() {
	m.Quiet, m.until, m.Recovering, m.timed, m.due = true, m.Next.Prev(), false, false, nil
	m.reopen()
}

// End reports a duty that was not discharged although there was time.
func (m *Sender) End(at vtime.Time) {
	if m.due != nil && !m.Quiet && !m.c.Failed && !m.c.Fatal && m.c.Late(m.who, m.due.At, rule.Patience, at) {
		m.settle(m.c.Rel(m.due.PSN)+" is not sent again", nil)
	}
}
