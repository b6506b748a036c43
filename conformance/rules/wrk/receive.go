package wrk

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

var receivesMatch = rule.Rule{
	ID: "WRK-RCV-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "Receives complete in the order in which they were posted, one for each message that takes one, with its " +
		"operation, length and immediate",
	Source: rule.Source{Ref: "IBTA 9.7.5.1, 10.8.3", Requirement: "Each SEND, and each WRITE with immediate, takes " +
		"the oldest posted receive that is left."},
	Needs: rule.TapResponder | rule.Receives, Sees: rule.Accepts | rule.ResponseOut,
	Minds: rule.Edge | rule.Late | rule.Answer, Stimulus: "a message that takes a receive",
	BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		m := messages{c: c, owed: c.Owes(rule.Responder, "the message that ends here completes no receive")}
		// The trace does not show whether a responder that keeps out-of-order packets had room nor, without attributes,
		// which packets it drops.
		m.owed.Unless = func(d rule.Debt) bool {
			return m.failed || m.over || !c.Known || c.Keeps() || c.EPSN.LessEq(d.PSN) || at(c.PeerPort)[c.Index]
		}
		return rule.Check{Sight: m.sight, Event: m.event}
	},
}

// messages holds the messages that arrived whole and must complete a receive, and the posted receives.
type messages struct {
	c      *rule.Context
	first  psn.PSN          // first PSN of the open message
	owed   *rule.Obligation // the completions, by the last PSN of the messages
	due    []message        // the messages that are owed a completion, oldest first
	posted []uint64         // IDs of receives, oldest first
	shared bool             // receives are shared by several queue pairs
	failed bool             // the responder's queue pair is in error, for whatever reason
	over   bool             // a limit was reached, or the order is lost: nothing more is judged

	refused *refusal // a receive completed with an error
}

// refusal is a receive that completed with an error, whose message must not be acknowledged.
type refusal struct {
	id     uint64
	status engine.Status
	last   psn.PSN // of the message
}

// message is a message that arrived whole.
type message struct {
	first, last psn.PSN
	bytes, imm  uint32
	send, tells bool // it is a SEND; it has an immediate
}

func (m *messages) sight(s *rule.Sight) {
	p := s.Pkt
	m.settle()
	switch {
	case s.Point == trace.ResponderOut:
		m.answer(p)
		return
	case !s.Legal, m.c.Fatal:
		return
	case p.Opcode.StartsMessage():
		m.first = p.PSN
	}
	if p.Opcode.EndsMessage() && (p.Opcode.IsSend() || p.Opcode.HasImm()) {
		if m.over = m.over || len(m.due) == queueLimit; !m.over {
			m.owed.Arise(s, p.PSN)
			m.due = append(m.due, message{first: m.first, last: p.PSN, bytes: uint32(m.c.Filled(p) + p.Len),
				imm: p.Imm, send: p.Opcode.IsSend(), tells: p.Opcode.HasImm()})
		}
	}
}

// answer judges an acknowledgement after a receive that completed with an error.
func (m *messages) answer(p *roce.Packet) {
	r := m.refused
	if r == nil || p.Opcode != roce.Acknowledge || !p.AETH.Syndrome.IsACK() || p.PSN.Less(r.last) || m.c.AtBox {
		return
	}
	m.c.Failf(rule.Responder, "receive wr=%d completed with %s, and its message is acknowledged", r.id, r.status)
	m.refused = nil
}

// settle removes the messages that were not accepted after all: an RNR NAK refused them, or the responder did not keep
// them until their turn.
func (m *messages) settle() {
	for i := range m.due {
		if d := &m.due[i]; m.c.EPSN.LessEq(d.last) {
			m.first, m.due = d.first, m.due[:i]
			m.owed.Excuse(func(o rule.Debt) bool { return m.c.EPSN.LessEq(o.PSN) })
			return
		}
	}
}

func (m *messages) event(e *trace.Event) {
	if m.c.Mine(e) || m.over {
		return
	}
	switch e.Kind {
	case trace.Fatal:
		m.failed = true
	case trace.CQE:
		m.failed = m.failed || e.Body.Status != engine.StatusSuccess
	case trace.Receive:
		if m.over = len(m.posted) == queueLimit; !m.over {
			m.posted = append(m.posted, e.Body.ID)
		}
	case trace.Recv:
		m.shared = m.shared || e.VA != 0
		m.failed = m.failed || e.Body.Status != engine.StatusSuccess
		m.received(e)
	}
}

// received judges the completion of a receive.
func (m *messages) received(e *trace.Event) {
	c := m.c
	if m.older(e.Body.ID) > 0 && !m.shared {
		c.Failf(rule.Responder, "receive wr=%d completes before an older one", e.Body.ID)
		m.over = true
		return
	}
	if e.Body.Status == engine.StatusFlushed {
		return
	}
	m.settle()
	if len(m.due) == 0 {
		if e.Body.Status == engine.StatusSuccess {
			m.without(e)
		}
		return
	}
	d := m.due[0]
	m.due = m.due[:copy(m.due, m.due[1:])]
	m.owed.Excuse(func(o rule.Debt) bool { return o.PSN == d.last })
	op := e.Body.Op
	switch send := op == engine.OpSend || op == engine.OpSendImm || op == engine.OpSendInv; {
	case e.Body.Status != engine.StatusSuccess:
		m.refused = &refusal{e.Body.ID, e.Body.Status, d.last}
	case send != d.send, d.tells != hasImm(op):
		c.Failf(rule.Responder, "receive wr=%d reports a %v, which does not match the message", e.Body.ID, op)
	case e.Body.Len != d.bytes:
		c.Failf(rule.Responder, "receive wr=%d has %d bytes, %d arrived", e.Body.ID, e.Body.Len, d.bytes)
	case d.tells && e.Body.Imm != d.imm:
		c.Failf(rule.Responder, "receive wr=%d has immediate %#x, %#x arrived", e.Body.ID, e.Body.Imm, d.imm)
	default:
		c.Met()
	}
}

// without judges a receive completed without a message. It is a violation only if all requests sent were seen to
// arrive, as a tap may have missed some that the responder received.
func (m *messages) without(e *trace.Event) {
	c := m.c
	m.over = true
	if c.Offers(rule.TapRequester) && !c.GapOpen && c.EPSN == c.MAX {
		c.Failf(rule.Responder, "receive wr=%d completes without a message", e.Body.ID)
	}
}

// older removes a receive, and returns how many posted before it have not completed; 0 when that is not known.
func (m *messages) older(id uint64) int {
	for i, p := range m.posted {
		if p == id {
			m.posted = append(m.posted[:i], m.posted[i+1:]...)
			return i
		}
	}
	return 0
}
