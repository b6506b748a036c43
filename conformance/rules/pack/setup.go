package pack

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var startFromREP = judged(rule.Rule{
	ID: "PACK-LRN-001", Level: rule.Must,
	Title: "The starting PSN from Local to Remote is that of the REP, not of the REQ",
	Source: rule.Source{Ref: "IBTA 12.6.5, 12.6.8", Requirement: "The Starting PSN of a message is that at which " +
		"the receiver of the message begins to send"},
	Needs: rule.Probes, Stimulus: "Starting PSNs that differ in REQ and REP", BlackBox: engines,
}, func(p *path) check {
	waits := false
	return check{
		sight: func(s *rule.Sight, w where) {
			switch {
			case w == setUp && !s.Out && isREP(s.Pkt):
				waits = true
			case w == fromLocal:
				waits = false // the variable changes with the request
			}
		},
		event: func(e *trace.Event) {
			if !waits || !p.ofBox(e) || e.Name != "exp_psn" || p.cm.reqStart == p.cm.repStart {
				return
			}
			waits = false
			p.c.Met()
			if want := p.start(); uint32(e.Value) != uint32(want) {
				p.c.Failf(rule.Responder, "the box expects PSN %d of Local; the REP has %d (the REQ %d)", e.Value,
					want, p.cm.reqStart)
			}
		},
	}
})

// isREP reports whether p is the message that completes a set-up.
func isREP(p *roce.Packet) bool {
	_, m, err := roce.DecodeCM(p.Payload)
	return err == nil && m.Attribute() == roce.CMREP
}

var learnsFirst = judged(rule.Rule{
	ID: "PACK-LRN-002", Level: rule.Must,
	Title: "Without CM the box sends no pseudo-ACK until it has learned QPN and MSN from a real ACK",
	Source: rule.Source{Ref: ours, Requirement: "dstQPN and MSN are not incorporated in a request; without " +
		"set-up messages only a real ACK carries them"},
	Stimulus: "a connection whose set-up is not seen", BlackBox: emulated,
}, func(p *path) check {
	return check{sight: func(s *rule.Sight, w where) {
		switch {
		case p.cm.asked || p.real:
		case w == fromRemote:
			p.c.Met()
		case w == toLocal:
			p.c.Failf(rule.Responder, "an answer to %s before Remote has answered anything; silence expected",
				p.c.Rel(s.Pkt.PSN))
		}
	}}
})

var forgets = judged(rule.Rule{
	ID: "PACK-LRN-003", Level: rule.Must,
	Title:    "A DREQ or the reuse of a QP clears the state: no pseudo-ACK has an old QPN or MSN",
	Source:   rule.Source{Ref: ours, Requirement: "A connection that has ended has no numbers; a new one has new numbers"},
	Stimulus: "a connection that ends, or begins anew", BlackBox: emulated,
}, func(p *path) check {
	return check{sight: func(s *rule.Sight, w where) {
		switch {
		case w == setUp && p.cm.left:
			p.c.Met()
		case w == toLocal && p.cm.left && s.Pkt.Opcode == roce.Acknowledge &&
			!p.outlives(p.cm.leaving, covers(s.Pkt), s.At):
			p.c.Failf(rule.Responder, "an answer to %s after the DREQ went to Remote; silence expected", p.c.Rel(s.Pkt.PSN))
		}
	}}
})

var managementPasses = judged(rule.Rule{
	ID: "PACK-CM-001", Level: rule.Must,
	Title: "Messages of CM pass unchanged",
	Source: rule.Source{Ref: "NTT 5.2", Requirement: "our RDMA WAN accelerator traces and estimates them by " +
		"analyzing the setup messages of RDMA CM (communication management) before RDMA message transmission"},
	Stimulus: "set-up by the communication manager", BlackBox: emulated,
}, func(p *path) check {
	m := messages{p: p}
	return check{sight: m.sight, end: m.end}
})

// messages holds the set-up messages that the box received, by sender and content, and whether it passed them on. A
// repetition may pass or not.
type messages struct {
	p     *path
	known [2][]madState
}

type madState struct {
	sum    uint32
	at     vtime.Time
	record uint64
	passed bool
	dreq   bool
}

// mostMessages bounds the set-up messages remembered per side.
const mostMessages = 256

func (m *messages) sight(s *rule.Sight, w where) {
	if w != setUp {
		return
	}
	list := &m.known[s.Rec.From&1]
	for i := range *list {
		if k := &(*list)[i]; k.sum == s.Sum {
			k.passed = k.passed || s.Out
			return
		}
	}
	if s.Out {
		m.p.c.Fail(rule.Responder, "a set-up message leaves the box that did not arrive with this content")
		return
	}
	m.p.c.Met()
	if len(*list) < mostMessages {
		_, msg, err := roce.DecodeCM(s.Pkt.Payload)
		*list = append(*list, madState{s.Sum, s.At, s.Index, false, err == nil && msg.Attribute() == roce.CMDREQ})
	}
}

// end judges the set-up messages that never passed. A DREQ waits for data that Remote does not have yet.
func (m *messages) end(at vtime.Time) {
	p := m.p
	for _, list := range m.known {
		for _, k := range list {
			if !k.passed && p.c.Late(rule.Responder, k.at, rule.Patience, at) && !(k.dreq && p.una.Less(p.exp)) {
				p.c.FailAt(k.at, k.record, rule.Responder, "a set-up message never left the box")
			}
		}
	}
}
