package gbn

import (
	"encoding/binary"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// isACK reports whether a packet is an ACK, isNAK whether it is a sequence NAK.
func isACK(p *roce.Packet) bool { return p.Opcode == roce.Acknowledge && p.AETH.Syndrome.IsACK() }
func isNAK(p *roce.Packet) bool {
	return p.Opcode == roce.Acknowledge && p.AETH.Syndrome == roce.SyndromePSNSeqErr
}

// answer returns an acknowledgement of request p by this end.
func (e *end) answer(p *roce.Packet, s roce.Syndrome) roce.Packet {
	return roce.Packet{BTH: roce.BTH{Opcode: roce.Acknowledge, PKey: e.qp.PKey, DestQP: e.qp.DestQPN, PSN: p.PSN},
		AETH: roce.AETH{Syndrome: s}}
}

// order tracks the PSN that the responder expects.
type order struct{ epsn psn.PSN }

// take returns the distance of p from the expected PSN, and advances the expected PSN if it is zero.
func (o *order) take(p *roce.Packet, mtu int) (distance int) {
	d := p.PSN.Sub(o.epsn)
	if d == 0 {
		o.epsn = o.epsn.Next()
		if p.Opcode == roce.ReadRequest {
			o.epsn = p.PSN.Add(max(1, (int(p.RETH.DMALen)+mtu-1)/mtu))
		}
	}
	return d
}

// acknowledgements are the variants whose ACKs are wrong.
func acknowledgements() []recipe {
	return []recipe{
		{name: "ack-decreases", breaks: "answers a duplicate with an ACK of the duplicate's PSN", catches: "RC-ACK-003",
			scenarios: "duplicates",
			tamper: func(e *end) {
				o := order{e.qp.RecvPSN}
				late, at := false, psn.PSN(0)
				e.resp.in = func(p *roce.Packet) bool {
					late, at = o.take(p, e.qp.MTU) < 0, p.PSN
					return true
				}
				e.resp.out = func(p *roce.Packet) bool {
					if isACK(p) && late {
						p.PSN = at
					}
					return true
				}
			}},
		{name: "ack-never", breaks: "never acknowledges", catches: "RC-ACK-001", scenarios: "mixed",
			tamper: func(e *end) { e.resp.out = func(p *roce.Packet) bool { return !isACK(p) } }},
		{name: "ack-next", breaks: "acknowledges the PSN that it expects", catches: "RC-ACK-002 RC-CNS-001",
			scenarios: "last-lost",
			tamper: eachResponse(func(p *roce.Packet) {
				if isACK(p) {
					p.PSN = p.PSN.Next()
				}
			})},
		{name: "answers-in-error", breaks: "acknowledges requests in the error state", catches: "RC-ERR-001",
			scenarios: "bad-key",
			tamper: func(e *end) {
				failed := false
				e.resp.out = func(p *roce.Packet) bool {
					failed = failed || p.AETH.Syndrome == roce.SyndromeRemoteAccess
					return true
				}
				e.resp.in = func(p *roce.Packet) bool {
					if failed {
						e.resp.send(e.answer(p, roce.SyndromeACK))
					}
					return true
				}
			}},
		{name: "slow-ack", breaks: "acknowledges after most of the transport timer", catches: "RC-TMO-005",
			scenarios: "idle",
			tamper: func(e *end) {
				e.resp.out = func(p *roce.Packet) bool {
					late := *p
					e.resp.after(15*vtime.Millisecond, func() { e.resp.send(late) })
					return false
				}
			}},
		{name: "syndrome-reserved", breaks: "acknowledges with a reserved syndrome", catches: "WIRE-AETH-002",
			scenarios: "mixed",
			tamper: eachResponse(func(p *roce.Packet) {
				if isACK(p) {
					p.AETH.Syndrome = 0x5F
				}
			})},
	}
}

// counts are the variants whose MSN is wrong.
func counts() []recipe {
	return []recipe{
		{name: "msn-counts-duplicates", breaks: "counts a duplicate in the MSN", catches: "RC-MSN-003",
			scenarios: "duplicates",
			tamper: func(e *end) {
				o, more := order{e.qp.RecvPSN}, 0
				e.resp.in = func(p *roce.Packet) bool {
					if o.take(p, e.qp.MTU) < 0 {
						more++
					}
					return true
				}
				e.resp.out = func(p *roce.Packet) bool { p.AETH.MSN = p.AETH.MSN.Add(more); return true }
			}},
		{name: "msn-late-for-reads", breaks: "counts a READ only when it has been answered", catches: "RC-MSN-002",
			scenarios: "reads",
			tamper: eachResponse(func(p *roce.Packet) {
				if p.Opcode == roce.ReadRespFirst {
					p.AETH.MSN = p.AETH.MSN.Add(-1)
				}
			})},
		{name: "msn-starts-at-one", breaks: "starts the MSN at 1", catches: "RC-MSN-001", scenarios: "mixed",
			tamper: eachResponse(func(p *roce.Packet) { p.AETH.MSN = p.AETH.MSN.Next() })},
	}
}

// readAnswers are the variants that answer READs and atomics wrongly.
func readAnswers() []recipe {
	return []recipe{
		{name: "aeth-missing", breaks: "sends READ_RESP_FIRST without an AETH", catches: "WIRE-AETH-001",
			scenarios: "mixed",
			tamper: eachResponse(func(p *roce.Packet) {
				if p.Opcode == roce.ReadRespFirst {
					word := binary.BigEndian.Uint32(p.Payload) // a decoder reads the first word of payload as the AETH
					p.AETH = roce.AETH{Syndrome: roce.Syndrome(word >> 24), MSN: psn.MSN(word & psn.Mask)}
					p.Payload = p.Payload[4:]
					p.Len -= 4
				}
			})},
		{name: "atomic-anew", breaks: "executes a duplicate atomic again and returns what it finds",
			catches: "RC-PSN-006 RC-READ-006", scenarios: "duplicates",
			tamper: func(e *end) {
				seen, found := map[psn.PSN]bool{}, map[psn.PSN]uint64{}
				e.resp.in = func(p *roce.Packet) bool {
					if p.Opcode == roce.FetchAdd && seen[p.PSN] {
						word := binary.LittleEndian.Uint64(e.mem.Load(p.RETH.VA, 8))
						found[p.PSN] = word
						e.mem.Store(p.RETH.VA, binary.LittleEndian.AppendUint64(nil, word+p.Atomic.SwapAdd), 8)
					}
					seen[p.PSN] = true
					return true
				}
				e.resp.out = func(p *roce.Packet) bool {
					if word, again := found[p.PSN]; again && p.Opcode == roce.AtomicAck {
						p.Result = word
					}
					return true
				}
			}},
		{name: "read-end", breaks: "sends the last response of a READ as a MIDDLE", catches: "RC-READ-001",
			scenarios: "mixed",
			tamper: eachResponse(func(p *roce.Packet) {
				if p.Opcode == roce.ReadRespLast {
					p.Opcode = roce.ReadRespMiddle
				}
			})},
		{name: "read-forgotten", breaks: "drops a duplicate READ", catches: "RC-READ-003", scenarios: "duplicates",
			tamper: func(e *end) {
				o := order{e.qp.RecvPSN}
				e.resp.in = func(p *roce.Packet) bool {
					return o.take(p, e.qp.MTU) >= 0 || p.Opcode != roce.ReadRequest
				}
			}},
		{name: "reads-overtaken", breaks: "lets acknowledgements overtake READ responses", catches: "RC-ACK-006",
			scenarios: "mixed",
			tamper: func(e *end) {
				var held []roce.Packet
				e.resp.out = func(p *roce.Packet) bool {
					if p.Opcode.IsReadResponse() {
						held = append(held, *p)
						return false
					}
					e.resp.packets = append(e.resp.packets, held...)
					held = nil
					return true
				}
			}},
	}
}

// notReady are the variants whose RNR NAKs are wrong.
func notReady() []recipe {
	return []recipe{
		{name: "rnr-code", breaks: "puts another timer code into its RNR NAK", catches: "RC-RNR-001", scenarios: "rnr",
			attr: func(_, resp *engine.QP) { resp.MinRNRTimer++ }},
		{name: "rnr-for-write", breaks: "answers a WRITE with an RNR NAK when no receive is posted",
			catches: "RC-RNR-004", scenarios: "rnr",
			tamper: func(e *end) {
				said := false
				e.resp.in = func(p *roce.Packet) bool {
					if p.Opcode != roce.WriteOnly || said {
						return true
					}
					said = true
					e.resp.send(e.answer(p, roce.SyndromeRNR|roce.Syndrome(e.qp.MinRNRTimer)))
					return false
				}
			}},
	}
}
