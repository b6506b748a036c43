package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// qkey is the Q_Key of the datagram QPs of this file.
const qkey = 0x11111111

// accepting delivers packets of a class to the QP.
func accepting(class roce.Class) func(*engine.Implementation) {
	return func(impl *engine.Implementation) {
		impl.Accepts = func(o roce.Opcode) bool { return o.Class() == class }
	}
}

// takesDatagrams makes the QP accept datagrams with its Q_Key, and discard them.
func takesDatagrams(impl *engine.Implementation) {
	accepting(roce.ClassUD)(impl)
	impl.QKey = qkey
}

// sendsDatagram makes connection 1, which carries no other traffic, send a datagram first.
func sendsDatagram(e *end) {
	if e.qp.QPN&1 == 0 {
		e.resp.send(roce.Packet{BTH: roce.BTH{Opcode: roce.UDSendOnly, PKey: e.qp.PKey, DestQP: e.qp.DestQPN},
			DETH: roce.DETH{QKey: qkey, SrcQP: e.qp.QPN}, Len: 8})
	}
}

// sendsRACK sends a RACK that acknowledges the same PSNs after every ACK.
func sendsRACK(e *end) {
	e.resp.out = func(p *roce.Packet) bool {
		if isACK(p) {
			rack := *p
			rack.Opcode, rack.PSN = roce.RACK, p.PSN.Next()
			rack.SACK.PSN = rack.PSN
			e.resp.send(rack)
		}
		return true
	}
}

// extensions are the variants that need datagrams or extension opcodes, which go-back-N does not use.
func extensions() []recipe {
	return []recipe{
		{name: "dialect-unchecked", breaks: "executes the WRITE of another extension", catches: "NEG-EXT-002",
			scenarios: "dialects",
			impl:      accepting(roce.ClassX), tamper: arriving(func(_ *end, p *roce.Packet) {
				if p.Opcode.Class() == roce.ClassX && p.Opcode.IsWrite() {
					p.Opcode &= 0x1F
				}
			})},
		{name: "datagram-source", breaks: "names another source QP in a datagram", catches: "WIRE-UD-001",
			scenarios: "datagrams",
			control:   sendsDatagram, controlImpl: takesDatagrams, tamper: func(e *end) {
				for i := range e.resp.packets {
					e.resp.packets[i].DETH.SrcQP ^= 1
				}
			}},
		{name: "panics", breaks: "panics when a READ asks for more than 2^31 bytes", catches: "NEG-FUZZ-001",
			scenarios: "fuzz",
			tamper: arriving(func(_ *end, p *roce.Packet) {
				if p.Opcode == roce.ReadRequest && p.RETH.DMALen > 1<<31 {
					panic("a READ of more than 2^31 bytes")
				}
			})},
		{name: "qkey-unchecked", breaks: "delivers datagrams whatever their Q_Key", catches: "NEG-QKEY-001",
			scenarios:   "datagrams",
			controlImpl: takesDatagrams, impl: mending(
				func(b []byte) bool { return opcode(b).Class() == roce.ClassUD },
				func(b []byte) []byte { put(b, bthAt+12, qkey>>16); put(b, bthAt+14, qkey&0xFFFF); return b })},
		{name: "rack-spare-bits", breaks: "sets spare bits of the SACKETH", catches: "WIRE-EXT-001", scenarios: "mixed",
			control: sendsRACK, impl: sending(func(b []byte) []byte {
				if opcode(b) == roce.RACK {
					b[bthAt+16] |= 0x10
				}
				return resealed(b)
			})},
		{name: "sack-believed", breaks: "takes the PSN that a SACK names for acknowledged", catches: "NEG-EXT-001",
			scenarios: "ghosts",
			impl:      accepting(roce.ClassF), tamper: func(e *end) {
				newest := e.qp.SendPSN.Prev()
				e.req.out = func(p *roce.Packet) bool { newest = psn.Max(newest, p.PSN); return true }
				e.req.in = func(p *roce.Packet) bool {
					if p.Opcode == roce.FaSRSack {
						p.Opcode, p.PSN = roce.Acknowledge, newest
					}
					return true
				}
			}},
	}
}
