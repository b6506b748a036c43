package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var earlyDiscarded = rule.Rule{
	ID: "GBN-DRP-001", Level: rule.Must,
	Title: "An out-of-order request is discarded: neither placed in memory nor acknowledged until it is sent again",
	Source: rule.Source{Ref: "IBTA 9.7.5.2, LOWAR II-A, FASR II-A", Requirement: "Packets after a missing one are " +
		"dropped by the receiver, so that the sender has to send all of them again."},
	Needs: rule.TapResponder, Sees: rule.RequestIn | rule.ResponseOut, Wakes: rule.Early,
	Features: []string{scheme},
	Stimulus: "a lost request followed by others", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		var placed rule.Placed
		return rule.Check{
			Sight: func(s *rule.Sight) {
				p := s.Pkt
				switch {
				case s.Point == trace.ResponderIn && s.Relation == rule.Ahead && rule.IsData(p.Opcode):
					c.Met()
					placed.Early(s)
				case s.Point == trace.ResponderIn && s.Legal && c.Offers(rule.Stores):
					placed.Due(s)
				case s.Point == trace.ResponderOut && rule.IsACK(p) && placed.CameEarly(p.PSN, c.EPSN):
					c.Failf(rule.Responder, "ACK of %s, which arrived out of order and was not sent again; "+
						"it has to be discarded", c.Rel(p.PSN))
				}
			},
			Event: func(e *trace.Event) {
				if e.Kind != trace.Store || c.Mine(e) {
					return
				}
				if p, ok := placed.TooSoon(e, c.EPSN); ok {
					c.Failf(rule.Responder, "the payload of %s is placed although it arrived out of order; "+
						"it has to be discarded", c.Rel(p))
				}
			},
		}
	},
}

var wasteBounded = rule.Rule{
	ID: "GBN-EFF-001", Level: rule.Must,
	Title: "An isolated loss costs the packets in flight when the NAK came, within one message: about one BDP",
	Source: rule.Source{Ref: "GB1 IV-A", Requirement: "With go-back-N, one lost packet makes the receiver " +
		"discard all that is in flight behind it, a bandwidth-delay product."},
	Needs: rule.Both | rule.Fates | rule.Attributes, Sees: rule.Requests | rule.ResponseIn,
	Features: []string{scheme},
	Stimulus: "one lost request in a steady flow of writes", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check { return rule.Check{Sight: (&waste{c: c}).sight} },
}

// waste counts the packets that the responder discards because of one loss: out-of-order packets and duplicates.
type waste struct {
	c    *rule.Context
	open bool    // an isolated loss is being tracked
	psn  psn.PSN // the lost packet
	// requests sent after the loss until the NAK came, and those that left the port after that; -1 before the NAK
	inFlight  int
	asked     vtime.Time // when the NAK came
	back      bool       // the requester has gone back
	end       psn.PSN    // PSN after the latest of inFlight
	discarded int        // packets the responder discarded
	granule   int        // packets of the longest message, granuleLeast at least
}

// granuleLeast allows for packets that were out of the send queue and not out of the port when the NAK came.
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
			w.open = false // another reason to go back, which may be packets out of order on the link
		}
	default:
		w.arrival(s)
	}
}

// request starts at a first transmission that is lost. A second loss, a READ, whose PSNs are not packets, or a
// retransmission by the timer ends the tracking without a judgement.
func (w *waste) request(s *rule.Sight) {
	gone := s.Rec.Lost()
	switch {
	case w.open && (gone || !rule.IsData(s.Pkt.Opcode) || w.byTimer(s)):
		w.open = false // byTimer: the timer has gone back as well
	case w.open && s.Relation == rule.Again:
		w.back = w.back || s.Pkt.PSN == w.psn
	case w.open && w.inFlight >= 0 && !w.back && w.c.Port.Lags(w.asked, s.At):
		w.inFlight++
		w.end = s.Pkt.PSN.Next()
	case !w.open && gone && s.Relation == rule.First && w.c.OutstandingReads() == 0 && rule.IsData(s.Pkt.Opcode):
		w.open, w.psn, w.inFlight, w.discarded = true, s.Pkt.PSN, -1, 0
	}
}

// byTimer reports whether s retransmits the lost packet for a second time, so late that the timer was the cause.
func (w *waste) byTimer(s *rule.Sight) bool {
	t := w.c.Attr.TransportTimer()
	return s.Pkt.PSN == w.psn && s.Sent != nil && s.Sent.Times > 1 && t != 0 && s.At.Sub(s.Sent.Latest) >= t/2
}

func (w *waste) arrival(s *rule.Sight) {
	if !w.open || !s.Intact() {
		return
	}
	switch {
	case s.Pkt.PSN.Less(w.psn): // discarded because of an earlier loss
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
		w.c.Failf(rule.Requester, "the loss of %s made the responder discard %d packets; %d were in "+
			"flight when the NAK arrived",
			w.c.Rel(w.psn), w.discarded, w.inFlight)
	}
}
