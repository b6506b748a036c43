package gbn

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/gobackone"
)

// goBackOne are the variants of Go-Back-ONE. They have a list of their own because each breaks a behaviour of this
// scheme alone.
func goBackOne() []recipe {
	all := slices.Concat(racks(), kept(), gapsSent(), gapsDelayed())
	for i := range all {
		all[i].right = gobackone.Implementation
		all[i].name = "gb1-" + all[i].name
		all[i].scenarios = "gobackone/" + all[i].scenarios
	}
	return all
}

func isRACK(p *roce.Packet) bool { return p.Opcode == roce.RACK }

// eachRACK calls change with every RACK of a responder; if change returns false, the RACK is dropped.
func eachRACK(change func(e *end, p *roce.Packet) bool) func(*end) {
	return func(e *end) {
		e.resp.out = func(p *roce.Packet) bool { return !isRACK(p) || change(e, p) }
	}
}

// racks are the variants that send wrong RACKs.
func racks() []recipe {
	return []recipe{
		{name: "rack-always", breaks: "sends a RACK with every ACK", catches: "GB1-NRM-001", scenarios: "clean",
			tamper: sendsRACK},
		{name: "rack-as-nak", breaks: "sends a NAK for each early packet", catches: "GB1-RACK-003", scenarios: "loss",
			tamper: eachRACK(func(_ *end, p *roce.Packet) bool {
				p.Opcode, p.SACK = roce.Acknowledge, roce.SACKETH{}
				return true
			})},
		{name: "rack-last", breaks: "sends RACKs when it has nothing else to say", catches: "GB1-RACK-004",
			scenarios: "read",
			tamper: func(e *end) {
				var held []roce.Packet
				e.resp.out = func(p *roce.Packet) bool {
					if isRACK(p) {
						held = append(held, *p)
						return false
					}
					if p.Opcode.IsReadResponse() && p.Opcode.EndsMessage() {
						e.resp.packets = append(e.resp.packets, held...)
						held = nil
					}
					return true
				}
			}},
		{name: "rack-numbers", breaks: "names the packet before the expected one in its RACKs", catches: "GB1-RACK-001",
			scenarios: "loss",
			tamper:    eachRACK(func(_ *end, p *roce.Packet) bool { p.PSN = p.PSN.Prev(); return true })},
		{name: "rack-once", breaks: "sends one RACK for a gap", catches: "GB1-RACK-002", scenarios: "loss",
			tamper: func(e *end) {
				named := e.qp.RecvPSN.Prev()
				eachRACK(func(_ *end, p *roce.Packet) bool {
					first := p.PSN != named
					named = p.PSN
					return first
				})(e)
			}},
	}
}

// kept are the variants that handle out-of-order packets wrongly.
func kept() []recipe {
	return []recipe{
		{name: "early-forgotten", breaks: "names early packets and does not keep them", catches: "GB1-BUF-001",
			scenarios: "loss",
			tamper: func(e *end) {
				o := order{e.qp.RecvPSN}
				e.resp.in = func(p *roce.Packet) bool {
					if o.take(p, e.qp.MTU) <= 0 {
						return true
					}
					expected := roce.Packet{BTH: roce.BTH{PSN: o.epsn}}
					rack := e.answer(&expected, roce.SyndromePSNSeqErr)
					rack.Opcode, rack.SACK.PSN = roce.RACK, p.PSN
					e.resp.send(rack)
					return false
				}
			}},
		{name: "early-placed", breaks: "writes early packets into memory at once", catches: "GB1-BUF-004",
			scenarios: "small",
			tamper: func(e *end) {
				o := order{e.qp.RecvPSN}
				e.resp.in = func(p *roce.Packet) bool {
					if o.take(p, e.qp.MTU) > 0 && p.Opcode == roce.WriteOnly {
						e.mem.Memory.Store(p.RETH.VA, p.Payload, p.Len)
					}
					return true
				}
			}},
		{name: "reach-ignored", breaks: "keeps and names packets beyond max_ooo_psn", catches: "GB1-BUF-002",
			scenarios: "bound",
			attr:      func(_, resp *engine.QP) { parameter(resp, "max_ooo_psn", "4096") }},
		{name: "run-short", breaks: "acknowledges the packet that fills a gap, not the run behind it",
			catches: "GB1-BUF-003", scenarios: "loss",
			tamper: func(e *end) {
				fill := psn.PSN(0)
				filled, early := false, false
				o := order{e.qp.RecvPSN}
				e.resp.in = func(p *roce.Packet) bool {
					d := o.take(p, e.qp.MTU)
					filled, fill = d == 0 && early, p.PSN
					early = d > 0
					return true
				}
				e.resp.out = func(p *roce.Packet) bool {
					if isACK(p) && filled {
						p.PSN, filled = fill, false
					}
					return true
				}
			}},
	}
}

// gapsSent are the variants that retransmit the wrong packets.
func gapsSent() []recipe {
	return []recipe{
		{name: "back-n", breaks: "goes back N upon a RACK", catches: "GB1-RTX-001", scenarios: "loss",
			tamper: func(e *end) {
				e.req.in = func(p *roce.Packet) bool {
					if isRACK(p) {
						p.Opcode = roce.Acknowledge
					}
					return true
				}
			}},
		{name: "floor-printed", breaks: "never sends the first packet of a gap again, as Algorithm 1 is printed",
			catches: "GB1-RTX-005 GB1-RTX-002", scenarios: "burst",
			tamper: func(e *end) { afterRACK(e, func(expected, p psn.PSN) bool { return p != expected }) }},
		{name: "full-length", breaks: "sends a full MTU when it sends a short packet again", catches: "GB1-RTX-006",
			scenarios: "small",
			tamper:    retries(func(e *end, p *roce.Packet) bool { fill(p, e.qp.MTU); return true })},
		{name: "gap-unseen", breaks: "sends again only what a RACK shows right before the packet that it names",
			catches: "GB1-RTX-008", scenarios: "rack-lost",
			tamper: func(e *end) {
				e.req.in = func(p *roce.Packet) bool { return !isRACK(p) || p.SACK.PSN == p.PSN.Next() }
			}},
	}
}

// gapsDelayed are the variants that retransmit at the wrong time, or too often.
func gapsDelayed() []recipe {
	return []recipe{
		{name: "new-first", breaks: "sends new data before what is missing", catches: "GB1-RTX-003", scenarios: "slow",
			tamper: func(e *end) {
				var held []roce.Packet
				fresh := 0
				next := e.qp.SendPSN
				e.req.out = func(p *roce.Packet) bool {
					if p.PSN.Less(next) {
						held, fresh = append(held, *p), 0
						return false
					}
					next = p.PSN.Next()
					if fresh++; fresh == 80 { // 7 ms of the slow line, longer than a port can hold packets
						e.req.packets = append(e.req.packets, held...)
						held = nil
					}
					return true
				}
			}},
		{name: "rack-obeyed", breaks: "sends the missing packet again for each RACK", catches: "GB1-RTX-007",
			scenarios: "rack-twice",
			tamper: func(e *end) {
				sent := map[psn.PSN]roce.Packet{}
				e.req.out = func(p *roce.Packet) bool { sent[p.PSN] = *p; return true }
				e.req.in = func(p *roce.Packet) bool {
					if isRACK(p) {
						e.req.send(sent[p.PSN])
					}
					return true
				}
			}},
		{name: "stale-resent", breaks: "sends a packet again although it has been acknowledged since",
			catches: "GB1-RTX-004", scenarios: "late",
			tamper: retries(func(e *end, p *roce.Packet) bool {
				again := *p
				e.req.after(12*vtime.Millisecond, func() { e.req.send(again) })
				return true
			})},
		{name: "timeout-skips", breaks: "begins one packet too late after a timeout", catches: "GB1-RTO-001",
			scenarios: "twice",
			tamper: func(e *end) {
				skip := false
				e.req.event = func(ev *engine.Event) bool { skip = skip || ev.Kind == engine.Timeout; return true }
				e.req.out = func(*roce.Packet) bool {
					pass := !skip
					skip = false
					return pass
				}
			}},
	}
}

// afterRACK lets a hook decide which retransmissions are sent, from the first RACK until the timer expires.
func afterRACK(e *end, goes func(expected, p psn.PSN) bool) {
	expected, armed := psn.PSN(0), false
	e.req.in = func(p *roce.Packet) bool {
		if isRACK(p) {
			expected, armed = p.PSN, true
		}
		return true
	}
	e.req.event = func(ev *engine.Event) bool { armed = armed && ev.Kind != engine.Timeout; return true }
	retries(func(_ *end, p *roce.Packet) bool { return !armed || goes(expected, p.PSN) })(e)
}
