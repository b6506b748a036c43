package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

func earlyDiscarded() rule.Rule {
	return rule.Rule{
		ID: "GBN-DRP-001", Level: rule.Must,
		Title: "Data that comes before its turn is discarded: neither placed in memory nor acknowledged until it is sent again",
		Source: rule.Source{Ref: "IBTA 9.7.5.2, LOWAR II-A, FASR II-A", Requirement: "Packets after a missing one are dropped by the receiver, " +
			"so that the sender has to send all of them again."},
		Needs: rule.TapResponder, Sees: rule.RequestIn | rule.ResponseOut, Wakes: rule.Early, Features: []string{scheme},
		Stimulus: "a lost request followed by others", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			e := early{c: c}
			return rule.Check{Sight: e.sight, Event: e.event}
		},
	}
}

// early remembers the latest packets that came before their turn, and those that had it and have not been placed yet, oldest
// first: a decoder gives a block at once.
type early struct {
	c      *rule.Context
	kept   [256]payload
	n      int
	due    []payload
	placed int // of due
}

// dueLimit bounds what is remembered as due, above what a decoder holds back.
const dueLimit = 1 << 15

// payload identifies the bytes of a packet.
type payload struct {
	psn psn.PSN
	len int
	sum uint32
}

func (e *early) sight(s *rule.Sight) {
	c, p := e.c, s.Pkt
	switch {
	case s.Point == trace.ResponderIn && s.Relation == rule.Ahead && rule.IsData(p.Opcode):
		c.Met()
		e.kept[e.n%len(e.kept)] = payload{p.PSN, p.Len, s.Sum}
		e.n++
	case s.Point == trace.ResponderIn && s.Legal && p.Len >= distinct && s.Sum != 0 && c.Offers(rule.Stores):
		e.take(payload{p.PSN, p.Len, s.Sum})
	case s.Point == trace.ResponderOut && rule.IsACK(p) && e.holds(p.PSN):
		c.Failf(rule.Responder, "ACK of %s, which came before its turn and was not sent again; it has to be discarded", c.Rel(p.PSN))
	}
}

// take remembers what has its turn.
func (e *early) take(p payload) {
	if len(e.due) == dueLimit {
		e.due = e.due[:copy(e.due, e.due[max(e.placed, dueLimit/2):])]
		e.placed = 0
	}
	e.due = append(e.due, p)
}

// holds reports whether p came early and has not come again.
func (e *early) holds(p psn.PSN) bool {
	for _, k := range e.kept[:min(e.n, len(e.kept))] {
		if k.psn == p && !p.Less(e.c.EPSN) {
			return true
		}
	}
	return false
}

// distinct is how many bytes a payload needs to be told from others by its checksum. A placement shows its bytes and not
// its PSN; within a window of messages payloads differ, but not when they are a byte or two long.
const distinct = 16

// event compares what is placed with what came early.
func (e *early) event(ev *trace.Event) {
	if ev.Kind != trace.Store || e.c.Mine(ev) || ev.Sum == 0 || ev.Len < distinct {
		return
	}
	if e.hadTurn(ev) {
		return // perhaps two messages of the window with the same bytes
	}
	for i := range e.kept[:min(e.n, len(e.kept))] {
		if k := &e.kept[i]; k.sum == ev.Sum && k.len == int(ev.Len) && !k.psn.Less(e.c.EPSN) {
			e.c.Failf(rule.Responder, "the payload of %s is placed although it came before its turn; it has to be discarded", e.c.Rel(k.psn))
			return
		}
	}
}

// hadTurn reports whether ev places what came in order, and forgets that and what is before it, which was refused.
func (e *early) hadTurn(ev *trace.Event) bool {
	for i, k := range e.due[e.placed:] {
		if k.sum == ev.Sum && k.len == int(ev.Len) {
			if e.placed += i + 1; e.placed == len(e.due) {
				e.due, e.placed = e.due[:0], 0
			}
			return true
		}
	}
	return false
}

func wasteBounded() rule.Rule {
	return rule.Rule{
		ID: "GBN-EFF-001", Level: rule.Must,
		Title: "An isolated loss costs what was in flight when the NAK came, give or take one message: about one BDP",
		Source: rule.Source{Ref: "GB1 IV-A", Requirement: "With go-back-N, one lost packet makes the receiver discard all that is in flight " +
			"behind it, a bandwidth-delay product."},
		Needs: rule.Both | rule.Fates, Sees: rule.Requests | rule.ResponseIn, Features: []string{scheme},
		Stimulus: "one lost request in a steady flow of writes", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			w := waste{c: c}
			return rule.Check{Sight: w.sight}
		},
	}
}

// waste counts what the responder throws away because of one loss: what comes early, and what comes twice.
type waste struct {
	c         *rule.Context
	open      bool // a lone loss is being followed
	psn       psn.PSN
	inFlight  int        // requests sent behind it when the NAK came, and those that still left the port; -1 before
	asked     vtime.Time // when the NAK came
	back      bool       // the requester has gone back
	end       psn.PSN
	discarded int
	granule   int // packets of the longest message
}

// granuleLeast allows for packets that had left the send queue and not the port when the NAK came.
const granuleLeast = 16

func (w *waste) sight(s *rule.Sight) {
	c, p := w.c, s.Pkt
	switch s.Point {
	case trace.RequesterOut:
		w.granule = max(w.granule, s.Offset+1, granuleLeast)
		w.request(s)
	case trace.RequesterIn:
		switch {
		case !w.open || !s.Intact():
		case rule.IsNAK(p) && p.PSN == w.psn && w.inFlight < 0:
			w.inFlight, w.end, w.asked, w.back = c.MAX.Sub(p.PSN)-1, c.MAX, s.At, false
		case p.Opcode.IsReadResponse() || endsRecovery(p) || rule.IsNAK(p) && (p.PSN != w.psn || interval(c) > 0):
			w.open = false // another reason to go back; packets out of order on the link are one too
		}
	default:
		w.arrival(s)
	}
}

// request starts with a first transmission that is lost. A second loss on the way, a READ, whose PSNs are not packets, or
// a second retransmission ends it without a judgement.
func (w *waste) request(s *rule.Sight) {
	gone := s.Rec.Lost()
	switch {
	case w.open && (gone || !rule.IsData(s.Pkt.Opcode) || w.byTimer(s)):
		w.open = false // the latter: the timer has gone back as well
	case w.open && s.Relation == rule.Again:
		w.back = w.back || s.Pkt.PSN == w.psn
	case w.open && w.inFlight >= 0 && !w.back && w.c.Port.Lags(w.asked, s.At):
		w.inFlight++
		w.end = s.Pkt.PSN.Next()
	case !w.open && gone && s.Relation == rule.First && w.c.OutstandingReads() == 0 && rule.IsData(s.Pkt.Opcode):
		w.open, w.psn, w.inFlight, w.discarded = true, s.Pkt.PSN, -1, 0
	}
}

// byTimer reports whether s is the lost packet, sent again for a second time after so long that the timer did it.
func (w *waste) byTimer(s *rule.Sight) bool {
	t := w.c.Attr.TransportTimer()
	return s.Pkt.PSN == w.psn && s.Sent != nil && s.Sent.Times > 1 && t != 0 && s.At.Sub(s.Sent.Latest) >= t/2
}

func (w *waste) arrival(s *rule.Sight) {
	if !w.open || !s.Intact() {
		return
	}
	switch {
	case s.Pkt.PSN.Less(w.psn): // another loss, before it, is why this is discarded
	case s.Relation == rule.Ahead, s.Relation == rule.Duplicate:
		w.discarded++
	case s.Relation == rule.InOrder && w.inFlight >= 0 && w.end.LessEq(s.Pkt.PSN.Next()):
		w.open = false
		w.judge()
	}
}

func (w *waste) judge() {
	w.c.Met()
	if more := w.discarded - w.inFlight; more > w.granule || -more > w.granule {
		w.c.Failf(rule.Requester, "the loss of %s made the responder discard %d packets; %d were in flight when the NAK came",
			w.c.Rel(w.psn), w.discarded, w.inFlight)
	}
}
