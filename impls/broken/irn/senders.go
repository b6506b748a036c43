package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/broken"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/shell"
)

// watch tracks the state of a requester by the packets that it sends and receives, for the hooks of a variant.
type watch struct {
	e          *shell.End
	una, next  psn.PSN
	sent       map[psn.PSN]roce.Packet // copies of the packets not acknowledged
	high       psn.PSN                 // highest PSN that a NACK named
	told       bool                    // for a variant that acts once
	recovering bool
	recover    psn.PSN
	again      map[psn.PSN]bool // retransmitted in this recovery
	timed      bool             // the timer has expired since una moved

	fresh func(p *roce.Packet) bool // called for a first transmission
	retry func(p *roce.Packet) bool // called for a retransmission
	// called for an ACK or NACK, with the state after it; moved reports whether una moved
	heard func(p *roce.Packet) bool
	moved bool
}

// watching puts a watch on a requester; set sets its hooks.
func watching(set func(w *watch)) func(*shell.End) {
	return func(e *shell.End) {
		w := &watch{e: e, una: e.QP.SendPSN, next: e.QP.SendPSN, high: e.QP.SendPSN, sent: map[psn.PSN]roce.Packet{},
			again: map[psn.PSN]bool{}}
		set(w)
		e.Req.Out, e.Req.In = w.out, w.in
		e.Req.Event = func(ev *engine.Event) bool {
			if ev.Kind == engine.Timeout {
				w.timed = true
				clear(w.again)
			}
			return true
		}
	}
}

func (w *watch) out(p *roce.Packet) bool {
	if p.Opcode.IsReadAck() {
		return true
	}
	if !p.PSN.Less(w.next) {
		w.next = p.PSN.Next()
		w.sent[p.PSN] = *p
		return w.fresh == nil || w.fresh(p)
	}
	w.recovering, w.recover = true, w.next.Prev()
	pass := w.retry == nil || w.retry(p)
	w.again[p.PSN] = true
	return pass
}

func (w *watch) in(p *roce.Packet) bool {
	if !isACK(p) && !isNACK(p) {
		return true
	}
	cum := p.PSN
	if isACK(p) {
		cum = cum.Next()
	}
	if w.moved = w.una.Less(cum); w.moved {
		for q := w.una; q.Less(cum); q = q.Next() {
			delete(w.sent, q)
		}
		w.una, w.timed = cum, false
		if w.recovering && w.recover.Less(cum) {
			w.recovering = false
			clear(w.again)
		}
	}
	if isNACK(p) {
		w.high = psn.Max(psn.Max(w.high, w.una), p.SACK.PSN)
	}
	return w.heard == nil || w.heard(p)
}

// repeat retransmits a packet.
func (w *watch) repeat(p psn.PSN) {
	if x, ok := w.sent[p]; ok {
		w.e.Req.Send(x)
	}
}

// flows are the variants that send too much, too little or at the wrong time.
func flows() []broken.Recipe {
	return []broken.Recipe{
		{Name: "cap-ignored", Breaks: "has more in flight than the cap", Catches: "IRN-FC-001", Scenarios: "full",
			Params: engine.Params{"cap": "500"}},
		{Name: "full-holds", Breaks: "sends nothing again while its window is full", Catches: "IRN-FC-002",
			Scenarios: "full",
			Tamper: watching(func(w *watch) {
				w.retry = func(*roce.Packet) bool { return w.timed || w.next.Sub(w.una) < 8 }
			})},
		{Name: "recovery-waits", Breaks: "sends nothing new in recovery", Catches: "IRN-REC-006", Scenarios: "far",
			Tamper: watching(func(w *watch) {
				var held []roce.Packet
				w.fresh = func(p *roce.Packet) bool {
					if w.recovering {
						held = append(held, *p)
					}
					return !w.recovering
				}
				w.heard = func(*roce.Packet) bool {
					for !w.recovering && len(held) > 0 {
						w.e.Req.Send(held[0])
						held = held[1:]
					}
					return true
				}
			})},
		{Name: "timeout-low", Breaks: "uses RTO_low whatever is in flight", Catches: "IRN-RTO-001", Scenarios: "window",
			Params: engine.Params{"rto_high": "60us"}},
		{Name: "timeout-window", Breaks: "goes back N when the timer expires", Catches: "IRN-RTO-002",
			Scenarios: "lost-twice",
			Tamper: watching(func(w *watch) {
				w.retry = func(p *roce.Packet) bool {
					if w.timed && len(w.again) == 0 {
						for q := p.PSN.Next(); q.Less(w.next); q = q.Next() {
							w.repeat(q)
						}
					}
					return true
				}
			})},
	}
}

// holes are the variants that fill holes wrongly.
func holes() []broken.Recipe {
	return []broken.Recipe{
		{Name: "acked-too", Breaks: "sends a packet again that is acknowledged",
			Catches: "IRN-REC-003", Scenarios: "two",
			Tamper: watching(func(w *watch) {
				var first *roce.Packet
				w.fresh = func(p *roce.Packet) bool {
					if first == nil {
						x := *p
						first = &x
					}
					return true
				}
				w.heard = func(*roce.Packet) bool {
					if w.una.Sub(first.PSN) >= 100 && !w.told {
						w.told = true
						w.e.Req.Send(*first)
					}
					return true
				}
			})},
		{Name: "hole-twice", Breaks: "sends every hole but the first again twice",
			Catches: "IRN-REC-004", Scenarios: "two",
			Tamper: watching(func(w *watch) {
				w.retry = func(p *roce.Packet) bool {
					if p.PSN != w.una {
						w.repeat(p.PSN)
					}
					return true
				}
			})},
		{Name: "holes-first", Breaks: "begins recovery with the second hole", Catches: "IRN-REC-002", Scenarios: "two",
			Tamper: watching(func(w *watch) {
				var held *roce.Packet
				w.retry = func(p *roce.Packet) bool {
					if held == nil {
						x := *p
						held = &x
						return false
					}
					w.e.Req.Send(*p)
					w.e.Req.Send(*held)
					held = nil
					return false
				}
			})},
		{Name: "partial-twice",
			Breaks:    "retransmits the packet that an ACK makes the oldest, though it was retransmitted before",
			Catches:   "IRN-REC-008",
			Scenarios: "two", Tamper: watching(func(w *watch) {
				w.heard = func(*roce.Packet) bool {
					if w.moved && w.recovering && w.again[w.una] {
						w.repeat(w.una)
					}
					return true
				}
			})},
		{Name: "sack-unheeded", Breaks: "does not look at the SACK of a packet that waits to be sent again",
			Catches: "IRN-REC-007", Scenarios: "late",
			Tamper: watching(func(w *watch) {
				w.heard = func(p *roce.Packet) bool { return isACK(p) || !p.SACK.PSN.Less(w.high) }
			})},
	}
}

// places are the variants whose packets carry a wrong address or offset.
func places() []broken.Recipe {
	return []broken.Recipe{
		{Name: "place-of-message", Breaks: "gives every packet of a WRITE the address of its first",
			Catches: "IRN-PLC-001", Scenarios: "messages",
			Tamper: func(e *shell.End) {
				va := uint64(0)
				e.Req.Out = func(p *roce.Packet) bool {
					if p.Opcode.IsWrite() && p.Opcode.StartsMessage() {
						va = p.RETH.VA
					} else if p.Opcode.IsWrite() {
						p.RETH.VA = va
					}
					return true
				}
			}},
		{Name: "place-without-offset", Breaks: "gives every packet of a SEND the offset of its first",
			Catches: "IRN-PLC-002", Scenarios: "messages",
			Tamper: func(e *shell.End) { e.Req.Out = func(p *roce.Packet) bool { p.SO.Offset = 0; return true } }},
	}
}

// readers are the variants that handle READs wrongly.
func readers() []broken.Recipe {
	return []broken.Recipe{
		{Name: "read-gap", Breaks: "leaves a PSN out between the responses to two READs", Catches: "IRN-RD-001",
			Scenarios: "reads",
			Tamper: func(e *shell.End) {
				e.Resp.Out = func(p *roce.Packet) bool {
					if p.Opcode.IsReadResponse() {
						p.PSN = p.PSN.Add(int(p.SO.SN))
					}
					return true
				}
				e.Req.In = func(p *roce.Packet) bool {
					if p.Opcode.IsReadResponse() {
						p.PSN = p.PSN.Add(-int(p.SO.SN))
					}
					return true
				}
			}},
		{Name: "read-swapped", Breaks: "answers READs in pairs, the second first", Catches: "IRN-RD-004",
			Scenarios: "read-order",
			Tamper: func(e *shell.End) {
				swap := func(p *roce.Packet) bool {
					if p.Opcode.IsReadResponse() {
						p.SO.SN ^= 1
					}
					return true
				}
				e.Resp.Out, e.Req.In = swap, swap
			}},
		{Name: "read-twice", Breaks: "sends every READ response that is missing again twice", Catches: "IRN-RD-003",
			Scenarios: "reads",
			Tamper: func(e *shell.End) {
				next, begun := psn.PSN(0), false
				e.Resp.Out = func(p *roce.Packet) bool {
					if !p.Opcode.IsReadResponse() {
						return true
					}
					if begun && p.PSN.Less(next) {
						e.Resp.Send(*p)
						return true
					}
					next, begun = p.PSN.Next(), true
					return true
				}
			}},
		{Name: "read-unanswered", Breaks: "answers only READ responses that come in order", Catches: "IRN-RD-002",
			Scenarios: "reads",
			Tamper: func(e *shell.End) {
				e.Req.Out = func(p *roce.Packet) bool { return !p.Opcode.IsReadAck() || p.SACK.PSN == p.PSN }
			}},
	}
}
