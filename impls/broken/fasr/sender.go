package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/broken"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/shell"
)

// overflows are the ends that do not agree on what three bits can count.
func overflows() []broken.Recipe {
	return []broken.Recipe{
		{Name: "count-beyond", Breaks: "counts more missing packets than three bits hold", Catches: "FASR-LC-005",
			Scenarios: "overflow",
			Tamper:    reporting(func(v shell.Vars) { *v.At("rcv_lost_cnt") += 2 * *v.At("rcv_overflow") })},
		{Name: "count-by-sender", Breaks: "takes off lost-cnt at the sender what an ACK repairs",
			Catches: "FASR-SND-005", Scenarios: "refilled",
			Params: engine.Params{"lostcnt_credit": "true"}},
		{Name: "overflow-silent", Breaks: "does not say that lost-cnt overflowed", Catches: "FASR-LC-006",
			Scenarios: "overflow",
			Tamper: answering(func(_ *shell.End, p *roce.Packet) bool {
				if p.Opcode == roce.FaSRSackOverflow {
					p.Opcode = roce.FaSRSack
				}
				return true
			})},
		{Name: "overflow-unheard", Breaks: "wants lost-cnt to rise after an overflow too", Catches: "FASR-SND-004",
			Scenarios: "overflow",
			Tamper: func(e *shell.End) {
				e.Req.In = func(p *roce.Packet) bool {
					if p.Opcode == roce.FaSRSackOverflow {
						p.Opcode = roce.FaSRSack
					}
					return true
				}
			}},
	}
}

// gaps are the senders that see another gap between two SACKs.
func gaps() []broken.Recipe {
	return []broken.Recipe{
		{Name: "gap-and-more", Breaks: "sends the packet that a SACK names again along with the gap",
			Catches: "FASR-SND-002", Scenarios: "two",
			Tamper: func(e *shell.End) {
				var kept map[psn.PSN]roce.Packet
				retrying(func(_ *shell.End, _ *roce.Packet, sent map[psn.PSN]roce.Packet) bool {
					kept = sent
					return true
				})(e)
				high, lost := psn.PSN(0), uint8(0)
				e.Req.In = func(p *roce.Packet) bool {
					if isSACK(p) {
						if lost > 0 && p.SACK.LostCnt > lost && p.SACK.PSN != high.Next() {
							e.Req.Send(kept[p.SACK.PSN])
						}
						high, lost = p.SACK.PSN, p.SACK.LostCnt
					}
					return true
				}
			}},
		{Name: "sack-first-only", Breaks: "sends only the first packet of a gap again", Catches: "FASR-SND-001",
			Scenarios: "burst",
			Tamper: func(e *shell.End) {
				one, timed := false, false
				e.Req.In = func(p *roce.Packet) bool { one = one && !isACK(p); return true }
				e.Req.Event = func(ev *engine.Event) bool { timed = timed || ev.Kind == engine.Timeout; return true }
				retrying(func(_ *shell.End, _ *roce.Packet, _ map[psn.PSN]roce.Packet) bool {
					keep := !one || timed
					one = true
					return keep
				})(e)
			}},
		{Name: "sack-loss-is-loss", Breaks: "takes every gap between SACKs for lost packets", Catches: "FASR-SND-003",
			Scenarios: "sack-lost",
			Tamper: func(e *shell.End) {
				rising := uint8(0)
				e.Req.In = func(p *roce.Packet) bool {
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
	}
}

// retransmissions are the senders that do not send each packet once, in order, for its place.
func retransmissions() []broken.Recipe {
	return []broken.Recipe{
		{Name: "place-missing", Breaks: "gives every packet the place of its message", Catches: "FASR-PLC-001",
			Scenarios: "places",
			Tamper: func(e *shell.End) {
				va := uint64(0)
				e.Req.Out = func(p *roce.Packet) bool {
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
		{Name: "retries-twice", Breaks: "sends every retransmission twice", Catches: "FASR-FAST-003",
			Scenarios: "single",
			Tamper: retrying(func(e *shell.End, p *roce.Packet, _ map[psn.PSN]roce.Packet) bool {
				e.Req.Send(*p)
				return true
			})},
		{Name: "wrong-order", Breaks: "sends retransmissions in pairs, the second first", Catches: "FASR-SND-006",
			Scenarios: "burst",
			Tamper: func(e *shell.End) {
				var held *roce.Packet
				retrying(func(e *shell.End, p *roce.Packet, _ map[psn.PSN]roce.Packet) bool {
					if held == nil {
						x := *p
						held = &x
						return false
					}
					e.Req.Send(*p)
					e.Req.Send(*held)
					held = nil
					return false
				})(e)
			}},
	}
}

// fnacks are the senders that act on FNACKs wrongly.
func fnacks() []broken.Recipe {
	return []broken.Recipe{
		{Name: "fnack-each", Breaks: "acts on every FNACK", Catches: "FASR-FNK-003", Scenarios: "fnack",
			Tamper: func(e *shell.End) {
				var kept map[psn.PSN]roce.Packet
				retrying(func(_ *shell.End, _ *roce.Packet, sent map[psn.PSN]roce.Packet) bool {
					kept = sent
					return true
				})(e)
				heard := 0
				e.Req.In = func(p *roce.Packet) bool {
					if p.Opcode == roce.FNACK {
						if heard++; heard > 1 {
							e.Req.Send(kept[p.PSN])
						}
					}
					return true
				}
			}},
		{Name: "fnack-ignored", Breaks: "ignores FNACKs", Catches: "FASR-FNK-002", Scenarios: "fnack",
			Tamper: func(e *shell.End) { e.Req.In = func(p *roce.Packet) bool { return p.Opcode != roce.FNACK } }},
	}
}

// timeouts are the senders that retransmit the wrong packets when the timer expires.
func timeouts() []broken.Recipe {
	return []broken.Recipe{
		{Name: "timeout-behind", Breaks: "does not send UNACK when the timer expires", Catches: "FASR-RTO-003",
			Scenarios: "window",
			Tamper: func(e *shell.End) {
				skip := false
				e.Req.Event = func(ev *engine.Event) bool { skip = skip || ev.Kind == engine.Timeout; return true }
				retrying(func(_ *shell.End, _ *roce.Packet, _ map[psn.PSN]roce.Packet) bool {
					keep := !skip
					skip = false
					return keep
				})(e)
			}},
		{Name: "timeout-unack-only", Breaks: "sends UNACK alone on every timeout", Catches: "FASR-RTO-001",
			Scenarios: "timeout",
			Tamper: func(e *shell.End) {
				timed, una := false, psn.PSN(0)
				e.Req.Event = func(ev *engine.Event) bool {
					if ev.Kind == engine.Timeout {
						timed, una = true, ev.PSN
					}
					return true
				}
				retrying(func(_ *shell.End, p *roce.Packet, _ map[psn.PSN]roce.Packet) bool {
					return !timed || p.PSN == una
				})(e)
			}},
		{Name: "timeout-window", Breaks: "sends the window again when one packet is missing", Catches: "FASR-RTO-002",
			Scenarios: "lost-twice",
			Tamper: func(e *shell.End) {
				timed := false
				e.Req.Event = func(ev *engine.Event) bool { timed = timed || ev.Kind == engine.Timeout; return true }
				retrying(func(e *shell.End, p *roce.Packet, sent map[psn.PSN]roce.Packet) bool {
					if timed {
						timed = false
						e.Req.Send(sent[p.PSN.Next()])
						e.Req.Send(sent[p.PSN.Add(2)])
					}
					return true
				})(e)
			}},
	}
}
