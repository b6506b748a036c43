package gbn

import (
	"bytes"
	"encoding/binary"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// arriving sets a hook that may change every arriving request.
func arriving(change func(e *end, p *roce.Packet)) func(*end) {
	return func(e *end) { e.resp.in = func(p *roce.Packet) bool { change(e, p); return true } }
}

// fill gives a packet n bytes of payload: it truncates the payload or appends zeros.
func fill(p *roce.Packet, n int) {
	whole := make([]byte, n)
	copy(whole, p.Payload)
	p.Payload, p.Len, p.Pad = whole, n, uint8(-n&3)
}

// credulous are the variants that accept packets with wrong PSNs or syndromes.
func credulous() []recipe {
	return []recipe{
		{name: "duplicate-executed", breaks: "places the data of duplicates again",
			catches: "GBN-DUP-001 NEG-PSN-002", scenarios: "duplicates",
			tamper: func(e *end) {
				o := order{e.qp.RecvPSN}
				e.resp.in = func(p *roce.Packet) bool {
					if o.take(p, e.qp.MTU) < 0 && p.Opcode == roce.WriteOnly {
						e.mem.Memory.Store(p.RETH.VA, p.Payload, p.Len)
					}
					return true
				}
			}},
		{name: "duplicate-unanswered", breaks: "drops duplicates without an answer", catches: "GBN-DUP-001",
			scenarios: "acks-lost",
			tamper: func(e *end) {
				o := order{e.qp.RecvPSN}
				e.resp.in = func(p *roce.Packet) bool { return o.take(p, e.qp.MTU) >= 0 }
			}},
		{name: "future-fatal", breaks: "fails the QP for a PSN far in the future", catches: "NEG-PSN-001",
			scenarios: "strange",
			tamper: func(e *end) {
				o := order{e.qp.RecvPSN}
				e.resp.in = func(p *roce.Packet) bool {
					if o.take(p, e.qp.MTU) < psn.Half/2 {
						return true
					}
					e.resp.send(e.answer(p, roce.SyndromeInvalidReq))
					return false
				}
			}},
		{name: "ghost-believed", breaks: "takes an ACK of packets never sent for one of all that were",
			catches: "RC-ACK-004 NEG-ACK-001", scenarios: "ghosts",
			tamper: func(e *end) {
				newest := e.qp.SendPSN.Prev()
				e.req.out = func(p *roce.Packet) bool { newest = psn.Max(newest, p.PSN); return true }
				e.req.in = func(p *roce.Packet) bool {
					if isACK(p) && newest.Less(p.PSN) {
						p.PSN = newest
					}
					return true
				}
			}},
		{name: "reserved-believed", breaks: "takes a reserved syndrome for an ACK", catches: "NEG-ACK-003",
			scenarios: "ghosts",
			tamper: func(e *end) {
				e.req.in = func(p *roce.Packet) bool {
					if s := p.AETH.Syndrome; p.Opcode == roce.Acknowledge && !s.IsRNR() && !s.IsNAK() {
						p.AETH.Syndrome = roce.SyndromeACK
					}
					return true
				}
			}},
	}
}

// serving are the variants that execute requests which they must refuse, or refuse one that they must execute.
func serving() []recipe {
	return []recipe{
		{name: "access-unchecked", breaks: "serves operations that the QP does not allow", catches: "RC-OPC-003",
			scenarios: "access",
			attr:      func(_, resp *engine.QP) { resp.Access = engine.AllAccess }},
		{name: "key-of-nothing", breaks: "checks the R_Key of a request without bytes", catches: "NEG-RKEY-004",
			scenarios: "strange",
			tamper: func(e *end) {
				e.resp.in = func(p *roce.Packet) bool {
					if p.Opcode != roce.WriteOnly || p.RETH.DMALen != 0 || e.mem.Memory.Permit(e.qp.PD, p.RETH.RKey,
						p.RETH.VA, 1, engine.RemoteWrite) {
						return true
					}
					e.resp.send(e.answer(p, roce.SyndromeRemoteAccess))
					return false
				}
			}},
		{name: "key-unchecked", breaks: "executes requests whatever their R_Key and range",
			catches: "RC-ERR-002 NEG-RKEY-001 NEG-RKEY-002 NEG-RKEY-003", scenarios: "bad-key refused",
			tamper: func(e *end) { e.mem.permit = func(uint32, uint64, uint32) bool { return true } }},
		{name: "order-unchecked", breaks: "acknowledges a MIDDLE that follows no FIRST", catches: "RC-OPC-002",
			scenarios: "refused",
			tamper: func(e *end) {
				inside := false
				e.resp.in = func(p *roce.Packet) bool {
					if !p.Opcode.StartsMessage() && !inside {
						e.resp.send(e.answer(p, roce.SyndromeACK))
						return false
					}
					inside = !p.Opcode.EndsMessage()
					return true
				}
			}},
	}
}

// lengths are the variants that accept requests of a wrong length.
func lengths() []recipe {
	return []recipe{
		{name: "length-beyond-mtu", breaks: "takes what fits of an ONLY longer than the MTU", catches: "NEG-LEN-004",
			scenarios: "refused",
			tamper: arriving(func(e *end, p *roce.Packet) {
				if p.Opcode == roce.SendOnly && p.Len > e.qp.MTU {
					fill(p, e.qp.MTU)
				}
			})},
		{name: "length-dmalen", breaks: "believes the payload of a WRITE and not its DMALen", catches: "NEG-LEN-005",
			scenarios: "refused",
			tamper: arriving(func(_ *end, p *roce.Packet) {
				if p.Opcode == roce.WriteOnly && p.RETH.DMALen < 1<<31 {
					p.RETH.DMALen = uint32(p.Len)
				}
			})},
		{name: "length-huge", breaks: "accepts a DMALen beyond 2^31", catches: "NEG-LEN-007", scenarios: "refused",
			tamper: arriving(func(_ *end, p *roce.Packet) {
				if p.Opcode == roce.WriteOnly && p.RETH.DMALen > 1<<31 {
					p.RETH.DMALen = uint32(p.Len)
				}
			})},
		{name: "length-not-full", breaks: "fills a short FIRST up to the MTU", catches: "NEG-LEN-003",
			scenarios: "refused",
			tamper: arriving(func(e *end, p *roce.Packet) {
				if p.Opcode.HasPayload() && !p.Opcode.EndsMessage() && p.Len < e.qp.MTU {
					fill(p, e.qp.MTU)
				}
			})},
		{name: "length-of-receive", breaks: "cuts a SEND to the length of the receive", catches: "NEG-LEN-006",
			scenarios: "small-receive",
			tamper: arriving(func(_ *end, p *roce.Packet) {
				if p.Opcode == roce.SendOnly && p.Len > 64 {
					fill(p, 64)
				}
			})},
	}
}

// unchecked are the variants that omit a check below the transport: they repair the frame before it is checked.
func unchecked() []recipe {
	return []recipe{
		{name: "icrc-unchecked", breaks: "accepts packets with a bad ICRC",
			catches: "NEG-ICRC-001 NEG-ICRC-002 NEG-ACK-002", scenarios: "corrupted ghosts", impl: receiving(resealed)},
		{name: "length-unchecked", breaks: "reads a truncated packet as if zeros followed it",
			catches: "NEG-LEN-001 NEG-LEN-002 WIRE-EXT-003", scenarios: "strange",
			impl: mending(func(b []byte) bool { return binary.BigEndian.Uint16(b[udpAt+4:]) != uint16(len(b)-udpAt) },
				func(b []byte) []byte {
					if short := bthAt + opcode(b).HeaderLen() + icrcAt - len(b); short > 0 {
						b = append(b, make([]byte, short)...)
					}
					return sized(b)
				})},
		{name: "opcode-unchecked", breaks: "takes an undefined opcode for a WRITE", catches: "NEG-OPC-001",
			scenarios: "strange", impl: mending(
				func(b []byte) bool { return !opcode(b).Known() },
				func(b []byte) []byte { b[bthAt] = byte(roce.WriteOnly); return b })},
		{name: "pad-unchecked", breaks: "truncates a packet to whole words", catches: "NEG-LEN-008",
			scenarios: "strange",
			impl: mending(func(b []byte) bool { return (len(b)-bthAt)&3 != 0 }, func(b []byte) []byte {
				b[bthAt+1] &^= 0x30
				return sized(b[:len(b)-(len(b)-bthAt)&3])
			})},
		{name: "partition-unchecked", breaks: "accepts any P_Key", catches: "NEG-PKEY-001",
			scenarios: "strange", impl: mending(
				func(b []byte) bool { return b[bthAt+2]|0x80 != 0xFF },
				func(b []byte) []byte { put(b, bthAt+2, roce.DefaultPKey); return b })},
		{name: "qp-unchecked", breaks: "hands packets for unknown QPs to its first", catches: "NEG-QPN-001",
			scenarios: "strange", impl: mending(func(b []byte) bool { return b[bthAt+6] != 0 }, func(b []byte) []byte {
				b[bthAt+5], b[bthAt+6], b[bthAt+7] = 0, 0, 0x11
				if toB(b) {
					b[bthAt+5] = 1
				}
				return b
			})},
		{name: "service-unchecked", breaks: "accepts a UC packet as one of its RC connection", catches: "NEG-OPC-002",
			scenarios: "strange", impl: mending(
				func(b []byte) bool { return opcode(b).Class() == roce.ClassUC },
				func(b []byte) []byte { b[bthAt] &= 0x1F; return b })},
		{name: "source-unchecked", breaks: "accepts packets from any address", catches: "NEG-QPN-002",
			scenarios: "strange", impl: mending(
				func(b []byte) bool { return !bytes.Equal(b[ipAt+12:ipAt+15], b[ipAt+16:ipAt+19]) },
				func(b []byte) []byte {
					copy(b[ipAt+12:], []byte{10, 77, 0, 2})
					if toB(b) {
						b[ipAt+15] = 1
					}
					return b
				})},
		{name: "version-unchecked", breaks: "accepts any transport version", catches: "NEG-TVER-001",
			scenarios: "strange", impl: mending(
				func(b []byte) bool { return b[bthAt+1]&0x0F != 0 },
				func(b []byte) []byte { b[bthAt+1] &= 0xF0; return b })},
	}
}

// mending adds a hook that repairs arriving frames that are bad, checksums included.
func mending(bad func(b []byte) bool, mend func(b []byte) []byte) func(*engine.Implementation) {
	return receiving(func(b []byte) []byte {
		if bad(b) {
			b = resealed(mend(b))
		}
		return b
	})
}
