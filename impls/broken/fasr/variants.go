package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

func isSACK(p *roce.Packet) bool {
	return p.Opcode == roce.FaSRSack || p.Opcode == roce.FaSRSackOverflow
}

func isACK(p *roce.Packet) bool { return p.Opcode == roce.Acknowledge && p.AETH.Syndrome.IsACK() }

// answers sets a hook that is shown what the responder sends.
func answers(hook func(e *end, p *roce.Packet) bool) func(*end) {
	return func(e *end) { e.resp.out = func(p *roce.Packet) bool { return hook(e, p) } }
}

// reports sets a hook that changes what the responder says of itself.
func reports(hook func(v vars)) func(*end) { return func(e *end) { e.resp.vars = hook } }

// retries sets a hook that is shown every request that is sent again, and keeps a copy of every request.
func retries(again func(e *end, p *roce.Packet, sent map[psn.PSN]roce.Packet) bool) func(*end) {
	return func(e *end) {
		next, sent := e.qp.SendPSN, map[psn.PSN]roce.Packet{}
		e.req.out = func(p *roce.Packet) bool {
			if p.Opcode.IsReadAck() {
				return true
			}
			if p.PSN.Less(next) {
				return again(e, p, sent)
			}
			next = p.PSN.Next()
			sent[p.PSN] = *p
			return true
		}
	}
}

// recipes are the variants, sorted by name.
func recipes() []recipe {
	return []recipe{
		{name: "bitmap-for-one", breaks: "holds a block for one missing packet", catches: "FASR-FAST-001", scenarios: "single",
			tamper: reports(func(v vars) {
				if *v.at("rcv_path") == 1 {
					*v.at("rcv_blocks") = 1
				}
			})},
		{name: "blocks-kept", breaks: "keeps blocks that were passed", catches: "FASR-SLOW-004", scenarios: "long",
			tamper: func(e *end) {
				most := int64(0)
				reports(func(v vars) {
					if most = max(most, *v.at("rcv_blocks")); *v.at("rcv_path") != 2 {
						most = 0
					}
					*v.at("rcv_blocks") = most
				})(e)
			}},
		{name: "compression-never", breaks: "never compresses an offset", catches: "FASR-SLOW-003", scenarios: "far",
			tamper: reports(func(v vars) { *v.at("rcv_compression_cnt") = 0 })},
		{name: "count-beyond", breaks: "counts more missing packets than three bits hold", catches: "FASR-LC-005", scenarios: "overflow",
			tamper: reports(func(v vars) { *v.at("rcv_lost_cnt") += 2 * *v.at("rcv_overflow") })},
		{name: "count-by-sender", breaks: "takes off lost-cnt at the sender what an ACK repairs", catches: "FASR-SND-005", scenarios: "refilled",
			params: engine.Params{"lostcnt_credit": "true"}},
		{name: "count-frozen", breaks: "does not count a second gap", catches: "FASR-LC-002", scenarios: "two",
			tamper: func(e *end) {
				first := uint8(0)
				answers(func(_ *end, p *roce.Packet) bool {
					switch {
					case isACK(p):
						first = 0
					case isSACK(p) && first == 0:
						first = p.SACK.LostCnt
					case isSACK(p):
						p.SACK.LostCnt = first
					}
					return true
				})(e)
			}},
		{name: "count-kept", breaks: "does not count a fill", catches: "FASR-LC-003", scenarios: "burst",
			tamper: func(e *end) {
				most := int64(0)
				reports(func(v vars) {
					if most = max(most, *v.at("rcv_lost_cnt")); *v.at("rcv_path") == 0 {
						most = 0
					}
					*v.at("rcv_lost_cnt") = most
				})(e)
			}},
		{name: "count-one", breaks: "counts a gap of any length as one", catches: "FASR-LC-001", scenarios: "burst",
			tamper: answers(func(_ *end, p *roce.Packet) bool { p.SACK.LostCnt = min(p.SACK.LostCnt, 1); return true })},
		{name: "fallback-forgets", breaks: "throws away what it has when the pool runs out", catches: "FASR-POOL-004", scenarios: "no-blocks",
			tamper: func(e *end) {
				before := false
				reports(func(v vars) {
					now := *v.at("rcv_fallback") == 1
					if now && before {
						*v.at("rcv_path") = 0
					}
					before = now
				})(e)
			}},
		{name: "fallback-sacks", breaks: "sends a SACK behind the NAK of its fallback", catches: "FASR-POOL-003", scenarios: "no-units",
			tamper: answers(func(e *end, p *roce.Packet) bool {
				if p.Opcode == roce.Acknowledge && p.AETH.Syndrome == roce.SyndromePSNSeqErr {
					x := *p
					x.Opcode, x.SACK = roce.FaSRSack, roce.SACKETH{PSN: p.PSN.Next(), LostCnt: 1}
					defer e.resp.send(x)
				}
				return true
			})},
		{name: "fast-stays", breaks: "stays in recovery when the one missing packet has come", catches: "FASR-FAST-002", scenarios: "single",
			tamper: func(e *end) {
				before := int64(0)
				reports(func(v vars) {
					now := *v.at("rcv_path")
					*v.at("rcv_path") = max(now, before)
					before = now
				})(e)
			}},
		{name: "fill-one", breaks: "does not look into the bitmap after a fill", catches: "FASR-SLOW-001", scenarios: "two",
			tamper: func(e *end) {
				next, lost := psn.PSN(0), uint8(0)
				answers(func(_ *end, p *roce.Packet) bool {
					switch {
					case isSACK(p):
						next, lost = p.PSN, p.SACK.LostCnt
					case isACK(p) && lost > 1:
						p.PSN, lost = next, 0
					}
					return true
				})(e)
			}},
		{name: "fill-sacked", breaks: "answers a fill with a SACK of it", catches: "FASR-ACK-001", scenarios: "burst",
			tamper: func(e *end) {
				sacked := false
				answers(func(_ *end, p *roce.Packet) bool {
					if sacked && isACK(p) {
						p.Opcode, p.SACK = roce.FaSRSack, roce.SACKETH{PSN: p.PSN, LostCnt: 1}
						p.PSN = p.PSN.Next()
					}
					sacked = isSACK(p)
					return true
				})(e)
			}},
		{name: "fnack-as-sack", breaks: "answers a packet below sack-high with a SACK", catches: "FASR-FNK-001", scenarios: "fnack",
			tamper: answers(func(_ *end, p *roce.Packet) bool {
				if p.Opcode == roce.FNACK {
					p.Opcode = roce.FaSRSack
				}
				return true
			})},
		{name: "fnack-each", breaks: "acts on every FNACK", catches: "FASR-FNK-003", scenarios: "fnack",
			tamper: func(e *end) {
				var kept map[psn.PSN]roce.Packet
				retries(func(_ *end, _ *roce.Packet, sent map[psn.PSN]roce.Packet) bool { kept = sent; return true })(e)
				heard := 0
				e.req.in = func(p *roce.Packet) bool {
					if p.Opcode == roce.FNACK {
						if heard++; heard > 1 {
							e.req.send(kept[p.PSN])
						}
					}
					return true
				}
			}},
		{name: "fnack-ignored", breaks: "ignores FNACKs", catches: "FASR-FNK-002", scenarios: "fnack",
			tamper: func(e *end) { e.req.in = func(p *roce.Packet) bool { return p.Opcode != roce.FNACK } }},
		{name: "gap-and-more", breaks: "sends the packet that a SACK names again along with the gap", catches: "FASR-SND-002", scenarios: "two",
			tamper: func(e *end) {
				var kept map[psn.PSN]roce.Packet
				retries(func(_ *end, _ *roce.Packet, sent map[psn.PSN]roce.Packet) bool { kept = sent; return true })(e)
				high, lost := psn.PSN(0), uint8(0)
				e.req.in = func(p *roce.Packet) bool {
					if isSACK(p) {
						if lost > 0 && p.SACK.LostCnt > lost && p.SACK.PSN != high.Next() {
							e.req.send(kept[p.SACK.PSN])
						}
						high, lost = p.SACK.PSN, p.SACK.LostCnt
					}
					return true
				}
			}},
		{name: "overflow-silent", breaks: "does not say that lost-cnt overflowed", catches: "FASR-LC-006", scenarios: "overflow",
			tamper: answers(func(_ *end, p *roce.Packet) bool {
				if p.Opcode == roce.FaSRSackOverflow {
					p.Opcode = roce.FaSRSack
				}
				return true
			})},
		{name: "overflow-unheard", breaks: "wants lost-cnt to rise after an overflow too", catches: "FASR-SND-004", scenarios: "overflow",
			tamper: func(e *end) {
				e.req.in = func(p *roce.Packet) bool {
					if p.Opcode == roce.FaSRSackOverflow {
						p.Opcode = roce.FaSRSack
					}
					return true
				}
			}},
		{name: "place-missing", breaks: "gives every packet the place of its message", catches: "FASR-PLC-001", scenarios: "places",
			tamper: func(e *end) {
				va := uint64(0)
				e.req.out = func(p *roce.Packet) bool {
					l := p.Opcode.Layout()
					if l&roce.LayoutRETH != 0 {
						va = p.RETH.VA
					}
					if l&roce.LayoutVAETH != 0 {
						p.RETH.VA = va
					}
					p.SO.Offset = 0
					return true
				}
			}},
		{name: "pointers-uncounted", breaks: "leaves the list pointers out of the size of its pool", catches: "FASR-POOL-002", scenarios: "single",
			tamper: reports(func(v vars) { *v.at("pool_bits") -= 70 * 8 })},
		{name: "pool-small", breaks: "has three blocks where seventy are promised", catches: "FASR-POOL-005", scenarios: "random",
			params: engine.Params{"blocks": "3"}},
		{name: "read-unacknowledged", breaks: "does not acknowledge READ requests", catches: "FASR-RD-001", scenarios: "reads",
			tamper: answers(func(_ *end, p *roce.Packet) bool { return !isACK(p) })},
		{name: "retries-twice", breaks: "sends every retransmission twice", catches: "FASR-FAST-003", scenarios: "single",
			tamper: retries(func(e *end, p *roce.Packet, _ map[psn.PSN]roce.Packet) bool { e.req.send(*p); return true })},
		{name: "sack-first-only", breaks: "sends only the first packet of a gap again", catches: "FASR-SND-001", scenarios: "burst",
			tamper: func(e *end) {
				one, timed := false, false
				e.req.in = func(p *roce.Packet) bool { one = one && !isACK(p); return true }
				e.req.event = func(ev *engine.Event) { timed = timed || ev.Kind == engine.Timeout }
				retries(func(_ *end, _ *roce.Packet, _ map[psn.PSN]roce.Packet) bool {
					keep := !one || timed
					one = true
					return keep
				})(e)
			}},
		{name: "sack-loss-is-loss", breaks: "takes every gap between SACKs for lost packets", catches: "FASR-SND-003", scenarios: "sack-lost",
			tamper: func(e *end) {
				rising := uint8(0)
				e.req.in = func(p *roce.Packet) bool {
					switch {
					case isACK(p):
						rising = 0
					case isSACK(p):
						rising = min(rising+1, 7)
						p.SACK.LostCnt = max(p.SACK.LostCnt, rising)
					}
					return true
				}
			}},
		{name: "sack-skipped", breaks: "answers every second packet out of order", catches: "FASR-LC-004", scenarios: "single",
			tamper: func(e *end) {
				n := 0
				answers(func(_ *end, p *roce.Packet) bool {
					if isSACK(p) {
						n++
					}
					return !isSACK(p) || n%2 == 1
				})(e)
			}},
		{name: "slow-stays", breaks: "stays on the slow path with one packet missing", catches: "FASR-SLOW-002", scenarios: "burst",
			tamper: func(e *end) {
				was := false
				reports(func(v vars) {
					path := v.at("rcv_path")
					was = *path == 2 || was && *path != 0
					if was {
						*path = 2
					}
				})(e)
			}},
		{name: "timeout-behind", breaks: "does not send UNACK when the timer expires", catches: "FASR-RTO-003", scenarios: "window",
			tamper: func(e *end) {
				skip := false
				e.req.event = func(ev *engine.Event) { skip = skip || ev.Kind == engine.Timeout }
				retries(func(_ *end, _ *roce.Packet, _ map[psn.PSN]roce.Packet) bool {
					keep := !skip
					skip = false
					return keep
				})(e)
			}},
		{name: "timeout-unack-only", breaks: "sends UNACK alone on every timeout", catches: "FASR-RTO-001", scenarios: "timeout",
			tamper: func(e *end) {
				timed, una := false, psn.PSN(0)
				e.req.event = func(ev *engine.Event) {
					if ev.Kind == engine.Timeout {
						timed, una = true, ev.PSN
					}
				}
				retries(func(_ *end, p *roce.Packet, _ map[psn.PSN]roce.Packet) bool { return !timed || p.PSN == una })(e)
			}},
		{name: "timeout-window", breaks: "sends the window again when one packet is missing", catches: "FASR-RTO-002", scenarios: "lost-twice",
			tamper: func(e *end) {
				timed := false
				e.req.event = func(ev *engine.Event) { timed = timed || ev.Kind == engine.Timeout }
				retries(func(e *end, p *roce.Packet, sent map[psn.PSN]roce.Packet) bool {
					if timed {
						timed = false
						e.req.send(sent[p.PSN.Next()])
						e.req.send(sent[p.PSN.Add(2)])
					}
					return true
				})(e)
			}},
		{name: "unit-always", breaks: "holds SR state for a QP without loss", catches: "FASR-NRM-001", scenarios: "clean",
			tamper: reports(func(v vars) { *v.at("rcv_path") = 1 })},
		{name: "unit-hidden", breaks: "recovers without an SR state unit", catches: "FASR-POOL-001", scenarios: "qps",
			tamper: func(e *end) { e.req.vars = func(v vars) { *v.at("sr_unit") = 0 } }},
		{name: "wrong-order", breaks: "sends retransmissions in pairs, the second first", catches: "FASR-SND-006", scenarios: "burst",
			tamper: func(e *end) {
				var held *roce.Packet
				retries(func(e *end, p *roce.Packet, _ map[psn.PSN]roce.Packet) bool {
					if held == nil {
						x := *p
						held = &x
						return false
					}
					e.req.send(*p)
					e.req.send(*held)
					held = nil
					return false
				})(e)
			}},
	}
}
