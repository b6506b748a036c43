package irn

import (
	"maps"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// aspect is what a rule asks of retransmissions.
type aspect uint8

const (
	firstIsHead     aspect = iota // the first of a recovery is the cumulative value
	onlyHoles                     // the others are holes: not acknowledged, and something above them is
	holeOnce                      // each once per recovery
	sackStops                     // one that is waited for and turns out to have arrived is left out
	partial                       // what an ACK in recovery makes the oldest, iff it was not sent again
	timeoutHead                   // a timeout begins with the oldest, and holes follow
	despiteFull                   // a window that is full does not hold the first back
	fromNothing                   // without a NACK or a timeout nothing is sent again
	numberOfAspects = iota
)

// duty is a packet that has to be sent again.
type duty struct {
	why   []aspect
	psn   psn.PSN
	at    vtime.Time
	index uint64
	fresh int // new packets sent meanwhile
}

// sender is the reference sender (IRN 3.1): it takes what leaves one end and the acknowledgements that reach it, and knows
// what may and what has to be sent again.
//
// "The first packet that is retransmitted on entering loss recovery corresponds to the cumulative acknowledgement value. Any
// subsequent packet is considered lost only if another packet with a higher sequence number has been selectively acked."
type sender struct {
	c     *rule.Context
	who   rule.Blame
	limit int // cap; 0 when there is none
	judge func(a aspect, problem string, s *rule.Sight, d *duty)

	una, next psn.PSN
	sent      int // packets that have left
	sacked    map[psn.PSN]mark
	high      psn.PSN // highest that was acknowledged selectively, when any is
	moves     []move  // of una, that may not be known yet
	sure      psn.PSN // una as it is known for certain

	recovering bool
	recover    psn.PSN
	again      map[psn.PSN]bool // sent again in this recovery
	open       map[psn.PSN]bool // holes above una that were not
	moved      bool             // an ACK has moved una in this recovery
	timed      bool             // by a timeout
	expired    vtime.Time       // when
	grace      bool             // what left as the timer expired may still be seen
	awaited    map[psn.PSN]bool // holes that were waited for when their SACK came
	quiet      bool             // nothing is judged until what has been sent is acknowledged
	until      psn.PSN
	due        *duty
}

// move is una after an acknowledgement.
type move struct {
	mark
	una psn.PSN
}

func newSender(c *rule.Context, who rule.Blame) *sender {
	return &sender{c: c, who: who, limit: capOf(c), sacked: map[psn.PSN]mark{}, again: map[psn.PSN]bool{}, open: map[psn.PSN]bool{}, awaited: map[psn.PSN]bool{}}
}

// start sets the first PSN.
func (m *sender) start(p psn.PSN) { m.una, m.next, m.sure, m.high = p, p, p, p }

// holes reports whether something waits to be sent again: the oldest packet, or one below the highest that arrived.
func (m *sender) holes() bool { return m.recovering && !m.again[m.una] || len(m.open) > 0 }

// reopen makes every hole wait to be sent again, for another recovery.
func (m *sender) reopen() {
	clear(m.again)
	clear(m.open)
	for p := m.una.Next(); p.Less(m.high); p = p.Next() {
		if _, arrived := m.sacked[p]; !arrived {
			m.open[p] = true
		}
	}
}

// heard takes an acknowledgement of everything before cum, and of named when it is a NACK.
func (m *sender) heard(s *rule.Sight, cum, named psn.PSN, nack bool) {
	if m.next.Less(cum) {
		return
	}
	now := mark{s.At, m.sent}
	news := m.una.Less(cum)
	if news {
		m.advance(cum, now)
	}
	if nack && cum.Less(named) && named.In(m.una.Next(), m.next) {
		m.arrived(named, now)
	}
	if m.quiet || m.una == m.next || cum.Less(m.una) { // one that was overtaken tells only what arrived
		return
	}
	switch {
	case nack && !news && !m.recovering:
		why := []aspect{firstIsHead}
		if m.limit > 0 && m.next.Sub(m.una) >= m.limit {
			why = append(why, despiteFull)
		}
		m.owe(s, why, m.una)
	case !news || !m.recovering:
	case m.again[m.una]:
		m.judge(partial, "", s, nil)
	case m.una.Less(m.high):
		// The published logic sends it again even if nothing above it has arrived, which the paper does not call lost; a device
		// may do either then.
		m.owe(s, []aspect{partial}, m.una)
	}
}

// advance moves una, and ends recovery: "It exits loss recovery when a cumulative acknowledgement greater than the recovery
// sequence is received."
func (m *sender) advance(cum psn.PSN, now mark) {
	m.una = cum
	m.moves = append(m.moves, move{now, cum})
	m.high = psn.Max(m.high, cum)
	m.forget()
	if m.due != nil && m.due.psn.Less(cum) {
		m.due = nil
	}
	m.quiet = m.quiet && !m.until.Less(cum)
	m.moved = true
	if m.recovering && m.recover.Less(cum) {
		m.recovering, m.timed = false, false
		m.reopen()
	}
}

// forget drops what is acknowledged: what a retransmission on its way may still be about, only when that is certain.
func (m *sender) forget() {
	gone := func(p psn.PSN, _ bool) bool { return p.Less(m.sure) }
	maps.DeleteFunc(m.again, gone)
	maps.DeleteFunc(m.awaited, gone)
	maps.DeleteFunc(m.sacked, func(p psn.PSN, _ mark) bool { return p.Less(m.sure) })
	maps.DeleteFunc(m.open, func(p psn.PSN, _ bool) bool { return p.LessEq(m.una) })
}

// arrived notes a selective acknowledgement.
func (m *sender) arrived(p psn.PSN, now mark) {
	if _, before := m.sacked[p]; before {
		return
	}
	if p.Less(m.high) && m.recovering && !m.again[p] {
		m.awaited[p] = true
	}
	m.sacked[p] = now
	delete(m.open, p)
	for q := psn.Max(m.high, m.una).Next(); q.Less(p); q = q.Next() {
		m.open[q] = true
	}
	m.high = psn.Max(m.high, p)
}

func (m *sender) owe(s *rule.Sight, why []aspect, p psn.PSN) {
	if m.due == nil || m.due.psn != p {
		m.due = &duty{why: why, psn: p, at: s.At, index: s.Index}
	}
}

// transmitted takes a packet that leaves.
func (m *sender) transmitted(s *rule.Sight) {
	m.sent++
	for len(m.moves) > 0 && m.moves[0].known(s.At, m.sent-1) {
		m.sure, m.moves = m.moves[0].una, m.moves[1:]
	}
	p := s.Pkt.PSN
	if !p.Less(m.next) {
		m.next = p.Next()
		m.overtakes()
		return
	}
	late := m.grace && p != m.una && m.c.Port.Lags(m.expired, s.At)
	if m.grace = false; m.quiet || late {
		return
	}
	m.resent(s, p)
	if m.due != nil && m.due.psn == p {
		for _, a := range m.due.why {
			m.judge(a, "", s, m.due)
		}
		m.due = nil
	}
}

// overtakes counts a new packet against the one that is to be sent again.
func (m *sender) overtakes() {
	if m.due == nil || m.quiet {
		return
	}
	if m.due.fresh++; m.due.fresh > slack {
		m.fail(m.c.Rel(m.due.psn) + " is not sent again, and new packets are")
	}
}

// fail settles what is due with a problem.
func (m *sender) fail(problem string) {
	for _, a := range m.due.why {
		m.judge(a, problem, nil, m.due)
	}
	m.due = nil
}

// resent judges a retransmission, and follows it.
func (m *sender) resent(s *rule.Sight, p psn.PSN) {
	name := m.c.Rel(p)
	switch {
	case p.Less(m.sure):
		m.judge(m.blame(onlyHoles), name+" is sent again although it is acknowledged", s, nil)
		return
	case p.Less(m.una):
		return // the acknowledgement may have come too late
	}
	if at, arrived := m.sacked[p]; arrived && at.known(s.At, m.sent-1) {
		m.judge(m.blame(onlyHoles), name+" is sent again although a NACK says that it arrived", s, nil)
		if m.awaited[p] {
			m.judge(sackStops, name+" is sent again although its SACK came before its turn", s, nil)
		}
	}
	switch {
	case !m.recovering:
		m.first(s, p)
	case m.again[p]:
		m.twice(s, p)
	case p != m.una:
		m.hole(s, p)
	case m.timed && len(m.again) == 0:
		m.judge(timeoutHead, "", s, nil)
	}
	if !m.recovering {
		m.moved = false
	}
	m.recovering, m.recover = true, m.next.Prev()
	m.again[p] = true
	delete(m.open, p)
}

// blame is the aspect under which a packet that must not be sent again is judged: after a timeout that of timeouts.
func (m *sender) blame(a aspect) aspect {
	if m.timed {
		return timeoutHead
	}
	return a
}

func (m *sender) first(s *rule.Sight, p psn.PSN) {
	switch {
	case p != m.una && m.timed:
		m.judge(timeoutHead, m.c.Rel(p)+" is sent again first after the timeout, the oldest is "+m.c.Rel(m.una), s, nil)
	case p != m.una:
		m.judge(firstIsHead, m.c.Rel(p)+" is sent again first, the cumulative value is "+m.c.Rel(m.una), s, nil)
	case m.timed:
		m.judge(timeoutHead, "", s, nil)
	case m.due == nil && len(m.moves) == 0 && m.high.LessEq(m.una):
		m.judge(fromNothing, m.c.Rel(p)+" is sent again, and nothing says that it is lost", s, nil)
	}
}

func (m *sender) hole(s *rule.Sight, p psn.PSN) {
	switch {
	case m.timed && len(m.again) == 0:
		m.judge(timeoutHead, m.c.Rel(p)+" is sent again first after the timeout, the oldest is "+m.c.Rel(m.una), s, nil)
	case m.high.LessEq(p):
		m.judge(m.blame(onlyHoles), m.c.Rel(p)+" is sent again, and nothing above it has arrived", s, nil)
	default:
		m.judge(m.blame(onlyHoles), "", s, nil)
		m.judge(holeOnce, "", s, nil)
		if len(m.awaited) > 0 {
			m.judge(sackStops, "", s, nil) // the next hole is sought
		}
	}
}

// twice judges a second retransmission in one recovery.
func (m *sender) twice(s *rule.Sight, p psn.PSN) {
	if p == m.una && m.moved {
		m.judge(partial, m.c.Rel(p)+" is the oldest now, and is sent again a second time", s, nil)
		return
	}
	m.judge(holeOnce, m.c.Rel(p)+" is sent again a second time in one recovery", s, nil)
}

// timeout restarts recovery from the oldest packet.
func (m *sender) timeout(at vtime.Time) {
	if m.due != nil && !m.quiet && at.Sub(m.due.at) > m.c.Port.Turn { // else it may be on the line, or wait for it
		m.fail(m.c.Rel(m.due.psn) + " is not sent again before the timeout")
	}
	m.timed, m.expired, m.grace, m.moved = true, at, true, false
	m.reopen()
	m.due = &duty{why: []aspect{timeoutHead}, psn: m.una, at: at, index: rule.NoRecord}
}

// hush stops judging until everything sent so far is acknowledged.
func (m *sender) hush() {
	m.quiet, m.until, m.recovering, m.timed, m.due = true, m.next.Prev(), false, false, nil
	m.reopen()
	clear(m.awaited)
}

// end reports what was never sent although there was time.
func (m *sender) end(at vtime.Time) {
	if m.due != nil && !m.quiet && !m.c.Failed && !m.c.Fatal && m.c.Late(m.who, m.due.at, rule.Patience, at) {
		m.fail(m.c.Rel(m.due.psn) + " is not sent again")
	}
}

// requests runs the reference sender over the requests.
type requests struct {
	*sender
	begun bool
}

func (r *requests) sight(s *rule.Sight) {
	p := s.Pkt
	if !r.begun && r.c.Started {
		r.begun = true
		r.start(r.c.Start)
	}
	switch {
	case p.Opcode.NumberedApart():
	case s.Point == trace.RequesterOut && isRead(p.Opcode) && p.PSN.Less(r.una) && !r.c.Answered(p.PSN):
		r.sent++ // it asks for data that do not come, which is a matter of the READ responses
	case s.Point == trace.RequesterOut:
		r.transmitted(s)
	case !s.Intact() || !r.c.Addressed(s):
	case p.Opcode == roce.IRNNack:
		r.heard(s, p.PSN, p.SACK.PSN, true)
	case acknowledges(p):
		r.heard(s, p.PSN.Next(), 0, false)
	case p.Opcode == roce.Acknowledge && p.PSN.In(r.una, r.next):
		r.heard(s, p.PSN, 0, false)
		r.hush() // no receive, or an error
	}
}

// event follows timeouts. One of READ responses, which the same side may send, names another PSN.
func (r *requests) event(e *trace.Event) {
	if e.Kind != trace.Timeout || !r.c.Mine(e) || r.una == r.next {
		return
	}
	if e.Body.PSN != r.una {
		r.hush() // an ACK was at the port and not heard yet, or it is the other timer
		return
	}
	r.timeout(e.At)
}

func newRequests(c *rule.Context) *requests {
	return &requests{sender: newSender(c, rule.Requester)}
}

func (r *requests) check() rule.Check {
	return rule.Check{Sight: r.sight, Event: r.event, End: r.end}
}

// judgeOnly makes the machine report the problems of some aspects, and count their successes.
func (m *sender) judgeOnly(wanted ...aspect) {
	var is [numberOfAspects]bool
	for _, a := range wanted {
		is[a] = true
	}
	m.judge = func(a aspect, problem string, s *rule.Sight, d *duty) {
		switch {
		case !is[a]:
		case problem == "":
			m.c.Met()
		case s != nil:
			m.c.Fail(m.who, problem)
		default:
			m.c.FailAt(d.at, d.index, m.who, problem)
		}
	}
}

func retransmits(wanted ...aspect) func(*rule.Context) rule.Check {
	return func(c *rule.Context) rule.Check {
		r := newRequests(c)
		r.judgeOnly(wanted...)
		return r.check()
	}
}

const (
	senderTap = rule.TapRequester | rule.Completions | rule.Attributes
	ofSender  = rule.RequestOut | rule.ResponseIn
)
