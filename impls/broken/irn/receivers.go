package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/broken"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/shell"
)

func isACK(p *roce.Packet) bool { return p.Opcode == roce.Acknowledge && p.AETH.Syndrome.IsACK() }

func isNACK(p *roce.Packet) bool { return p.Opcode == roce.IRNNack }

// answers sets a hook on the acknowledgements of requests that the responder sends.
func answers(hook func(e *shell.End, p *roce.Packet) bool) func(*shell.End) {
	return func(e *shell.End) {
		e.Resp.Out = func(p *roce.Packet) bool { return p.Opcode.NumberedApart() || hook(e, p) }
	}
}

// arrivals sets a hook on arriving requests; next is the expected PSN, taken from the responder's answers.
func arrivals(hook func(e *shell.End, p *roce.Packet, next psn.PSN) bool) func(*shell.End) {
	return func(e *shell.End) {
		next := e.QP.RecvPSN
		answers(func(_ *shell.End, p *roce.Packet) bool {
			if isACK(p) {
				next = p.PSN.Next()
			}
			return true
		})(e)
		e.Resp.In = func(p *roce.Packet) bool { return p.Opcode.IsReadAck() || hook(e, p, next) }
	}
}

// nack returns a NACK.
func nack(e *shell.End, next, named psn.PSN) roce.Packet {
	return roce.Packet{
		BTH:  roce.BTH{Opcode: roce.IRNNack, PKey: e.QP.PKey, DestQP: e.QP.DestQPN, PSN: next},
		AETH: roce.AETH{Syndrome: roce.SyndromePSNSeqErr}, SACK: roce.SACKETH{PSN: named},
	}
}

// reports are the variants that report wrong variables.
func reports() []broken.Recipe {
	report := func(hook func(v shell.Vars)) func(*shell.End) {
		return func(e *shell.End) { e.Req.Report, e.Resp.Report = hook, hook }
	}
	return []broken.Recipe{
		{Name: "bitmap-one-kind", Breaks: "takes the end of every message for one that completes a receive",
			Catches:   "IRN-BMP-001",
			Scenarios: "messages", Tamper: report(func(v shell.Vars) {
				const low = 0x1555555555555555
				bits := v.At("rcv_bitmap")
				*bits |= *bits & low << 1
			})},
		{Name: "recover-frozen", Breaks: "leaves recoverSN where recovery began",
			Catches: "IRN-REC-005", Scenarios: "two",
			Tamper: func(e *shell.End) {
				inside, first := false, int64(0)
				e.Req.Report = func(v shell.Vars) {
					if now := *v.At("in_recovery") != 0; now && !inside {
						inside, first = true, *v.At("recover_sn")
					} else if !now {
						inside = false
					}
					if inside {
						*v.At("recover_sn") = first
					}
				}
			}},
		{Name: "recovery-by-nack", Breaks: "is in recovery before anything is sent again", Catches: "IRN-REC-001",
			Scenarios: "single",
			Tamper: report(func(v shell.Vars) {
				if *v.At("do_retransmit") != 0 {
					*v.At("in_recovery") = 1
				}
			})},
	}
}

// nackers are the variants that send too many or too few answers.
func nackers() []broken.Recipe {
	return []broken.Recipe{
		{Name: "beyond-taken", Breaks: "accepts packets beyond its bitmap", Catches: "IRN-BMP-003", Scenarios: "beyond",
			Tamper: arrivals(func(e *shell.End, p *roce.Packet, next psn.PSN) bool {
				if p.PSN.Sub(next) >= 16 {
					e.Resp.Send(nack(e, next, p.PSN))
				}
				return true
			})},
		{Name: "duplicate-silent", Breaks: "does not acknowledge duplicates", Catches: "IRN-SACK-003",
			Scenarios: "duplicate",
			Tamper:    arrivals(func(_ *shell.End, p *roce.Packet, next psn.PSN) bool { return !p.PSN.Less(next) })},
		{Name: "nack-invented", Breaks: "sends every NACK twice", Catches: "IRN-NRM-001", Scenarios: "single",
			Tamper: answers(func(e *shell.End, p *roce.Packet) bool {
				if isNACK(p) {
					e.Resp.Send(*p)
				}
				return true
			})},
		{Name: "nack-skipped", Breaks: "answers every second packet out of order", Catches: "IRN-SACK-001",
			Scenarios: "single",
			Tamper: func(e *shell.End) {
				n := 0
				answers(func(_ *shell.End, p *roce.Packet) bool {
					if isNACK(p) {
						n++
					}
					return !isNACK(p) || n%2 == 1
				})(e)
			}},
		{Name: "repeat-silent", Breaks: "does not answer the duplicate of an out-of-order packet",
			Catches: "IRN-SACK-004", Scenarios: "duplicate",
			Tamper: func(e *shell.End) {
				seen := map[psn.PSN]bool{}
				arrivals(func(_ *shell.End, p *roce.Packet, next psn.PSN) bool {
					again := next.Less(p.PSN) && seen[p.PSN]
					seen[p.PSN] = true
					return !again
				})(e)
			}},
	}
}

// fillers are the variants that act before a hole is filled, or wrongly when it is filled.
func fillers() []broken.Recipe {
	return []broken.Recipe{
		{Name: "complete-early", Breaks: "completes a receive when its message is complete, whatever " +
			"is missing before it", Catches: "IRN-CQE-001",
			Scenarios: "messages", Tamper: completeEarly},
		{Name: "fill-nacked", Breaks: "answers a packet in order with a NACK while out-of-order packets are kept",
			Catches: "IRN-SACK-002", Scenarios: "two",
			Tamper: func(e *shell.End) {
				before := false
				answers(func(_ *shell.End, p *roce.Packet) bool {
					if before && isACK(p) {
						*p = nack(e, p.PSN.Next(), p.PSN)
						before = false
						return true
					}
					before = isNACK(p)
					return true
				})(e)
			}},
		{Name: "fill-one", Breaks: "does not look into the bitmap when a hole is filled", Catches: "IRN-BMP-002",
			Scenarios: "single",
			Tamper: func(e *shell.End) {
				missing, open := psn.PSN(0), false
				answers(func(_ *shell.End, p *roce.Packet) bool {
					if isACK(p) && open {
						p.PSN = psn.Max(missing, p.PSN.Add(-1))
					}
					missing, open = p.PSN, isNACK(p)
					return true
				})(e)
			}},
		{Name: "homeless-refused", Breaks: "refuses a SEND that has no receive before its turn", Catches: "IRN-PLC-003",
			Scenarios: "no-receive",
			Tamper: func(e *shell.End) {
				receives := uint32(0)
				e.Resp.Receive = func(engine.ReceiveRequest) { receives++ }
				arrivals(func(e *shell.End, p *roce.Packet, next psn.PSN) bool {
					if next.Less(p.PSN) && p.Opcode.IsSend() && p.SO.SN >= receives {
						x := nack(e, p.PSN, p.PSN)
						x.Opcode, x.SACK = roce.Acknowledge, roce.SACKETH{}
						x.AETH.Syndrome = roce.SyndromeRNR + 1
						e.Resp.Send(x)
					}
					return true
				})(e)
			}},
	}
}

// completeEarly completes the receive of a SEND of one packet on arrival, and drops its real completion.
func completeEarly(e *shell.End) {
	var receives []engine.ReceiveRequest
	told := map[uint64]bool{}
	e.Resp.Receive = func(rr engine.ReceiveRequest) { receives = append(receives, rr) }
	arrivals(func(e *shell.End, p *roce.Packet, next psn.PSN) bool {
		if next.Less(p.PSN) && p.Opcode == roce.XSendFirst+roce.SendOnly && int(p.SO.SN) < len(receives) {
			id := receives[p.SO.SN].ID
			if !told[id] {
				told[id] = true
				e.Resp.Tell(engine.Event{Kind: engine.ReceiveCQE, Op: engine.OpSend, ID: id,
					Len: uint32(p.Len), PSN: p.PSN})
			}
		}
		return true
	})(e)
	e.Resp.Event = func(ev *engine.Event) bool { return ev.Kind != engine.ReceiveCQE || !told[ev.ID] }
}
