package rules

import (
	"encoding/binary"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// plantedRuns are the recordings, by name, each with the traffic that its edits need. A is the requester.
var plantedRuns = map[string]string{
	// Every operation, nothing lost.
	"ops": `seed 1
link rate=1G delay=500us
qp rto=20ms
post-write wr=1 len=3000
post-write wr=2 len=3000 imm=7
post-send wr=3 len=3000
post-send wr=4 len=2000 imm=9
post-write wr=5 len=500
post-read wr=6 len=5000
post-atomic wr=7 op=add value=1 remote=8 local=8
post-read wr=8 len=5000
post-send wr=9 len=300
post-write wr=10 len=4096
post-write wr=11 len=4096 at=4ms
post-send wr=12 len=700 at=6ms
post-send wr=13 len=3000 at=8ms
`,
	"sends": `seed 1
link rate=1G delay=500us
qp rto=20ms
load send msg=5000 count=4
`,
	// The first packet is lost, so that every operation is sent again.
	"again": `seed 1
link rate=1G delay=500us
qp rto=20ms
drop A psn=+0 tx=1
post-write wr=1 len=3000
post-write wr=2 len=3000 imm=7
post-send wr=3 len=3000
post-send wr=4 len=2000 imm=9
post-read wr=5 len=5000
post-atomic wr=6 op=add value=1 remote=8 local=8
post-atomic wr=7 op=swap compare=1 value=2 remote=16 local=16
post-send wr=8 len=300 inv=4097
`,
	// Responses are lost until the timer expires.
	"timer": `seed 1
link rate=1G delay=500us
qp rto=20ms
drop B type=ACK count=12
load write msg=1000 count=8
`,
	// At first no receive is posted.
	"rnr": `seed 1
link rate=1G delay=500us
qp rto=20ms
qp receives=0 min-rnr=15
post-write wr=1 len=3000
post-send wr=2 len=3000
post-receive wr=2 at=10ms len=4096
post-write wr=3 len=64 at=30ms
`,
}

// Functions that select packets.
func of(ops ...roce.Opcode) which {
	return func(_ *shot, p *roce.Packet) bool {
		for _, o := range ops {
			if p.Opcode == o {
				return true
			}
		}
		return false
	}
}

func requests(s *shot, p *roce.Packet) bool  { return s.from == trace.A }
func responses(s *shot, p *roce.Packet) bool { return s.from == trace.B }
func acks(_ *shot, p *roce.Packet) bool {
	return p.Opcode == roce.Acknowledge && p.AETH.Syndrome.IsACK()
}

// one changes the nth packet that w selects.
func one(n int, w which, change func(*roce.Frame)) func(*frames) {
	return func(f *frames) {
		if s := f.nth(n, w); s != nil {
			f.set(s, change)
		}
	}
}

// every changes all packets that w selects.
func every(w which, change func(*roce.Frame)) func(*frames) {
	return func(f *frames) { f.all(w, change) }
}

// again changes the first retransmission of an opcode, in a recording in which every packet is retransmitted.
func again(o roce.Opcode, change func(*roce.Frame)) func(*frames) {
	return func(f *frames) {
		first := f.nth(0, of(o))
		if first == nil {
			return
		}
		h, _ := first.decoded()
		if s := f.nth(1,
			func(_ *shot, p *roce.Packet) bool { return p.Opcode == o && p.PSN == h.Packet.PSN }); s != nil {
			f.set(s, change)
		}
	}
}

// spoil writes bytes into frames and leaves the ICRC wrong.
func spoil(w which, change func(raw []byte)) func(*frames) {
	return func(f *frames) {
		for _, s := range f.list {
			if h, ok := s.decoded(); ok && w(s, &h.Packet) {
				change(s.raw)
				f.edits++
			}
		}
	}
}

func noICRC(raw []byte) { copy(raw[len(raw)-4:], []byte{0, 0, 0, 0}) }

// planted are the edits, one per violation.
var planted = []edit{
	// Fields that are the same in all packets of a connection.
	{"DestQP of one request", "ops", "WIRE-BTH-002", everywhere,
		one(2, requests, func(h *roce.Frame) { h.Packet.DestQP ^= 0x1000 })},
	{"DestQP of one response", "ops", "WIRE-BTH-002", everywhere,
		one(2, responses, func(h *roce.Frame) { h.Packet.DestQP ^= 0x1000 })},
	{"P_Key of one request", "ops", "WIRE-BTH-004", everywhere,
		one(2, requests, func(h *roce.Frame) { h.Packet.PKey = 0x8123 })},
	{"P_Key of one response", "ops", "WIRE-BTH-004", everywhere,
		one(2, responses, func(h *roce.Frame) { h.Packet.PKey = 0x8123 })},
	{"P_Key of all responses", "ops", "WIRE-BTH-004", everywhere,
		every(responses, func(h *roce.Frame) { h.Packet.PKey = 0x8123 })},
	{"P_Keys of limited members at both ends", "ops", "WIRE-BTH-004", everywhere,
		every(func(*shot, *roce.Packet) bool { return true }, func(h *roce.Frame) { h.Packet.PKey = 0x7FFF })},
	{"ICRC of every frame", "ops", "WIRE-ICRC-001", "SRP",
		spoil(func(*shot, *roce.Packet) bool { return true }, noICRC)},
	{"ICRC of every request", "ops", "WIRE-ICRC-001", "SP", spoil(requests, noICRC)},
	{"ICRC of every response", "ops", "WIRE-ICRC-001", "RP", spoil(responses, noICRC)},
	{"reserved bits of one request", "ops", "WIRE-BTH-001", everywhere,
		one(2, requests, func(h *roce.Frame) { h.Packet.Resv7 = 1 })},
	{"reserved bits of one response", "ops", "WIRE-BTH-001", everywhere,
		one(2, responses, func(h *roce.Frame) { h.Packet.Resv7 = 1 })},
	{"address of an atomic", "ops", "WIRE-ATOMIC-001", everywhere, one(0, of(roce.FetchAdd), func(h *roce.Frame) {
		h.Packet.RETH.VA |= 3
	})},
	{"MAC address of one request", "ops", "WIRE-MAC-001", "SP",
		one(2, requests, func(h *roce.Frame) { h.DstMAC[5] ^= 1 })},
	{"MAC address of one response", "ops", "WIRE-MAC-001", "RP",
		one(1, responses, func(h *roce.Frame) { h.DstMAC[5] ^= 1 })},
	{"broadcast of one request", "ops", "WIRE-MAC-001", "SP",
		one(0, requests, func(h *roce.Frame) { h.DstMAC = [6]byte{255, 255, 255, 255, 255, 255} })},
	{"MTU of 1000 bytes", "sends", "WIRE-LEN-001", everywhere,
		every(of(roce.SendFirst, roce.SendMiddle), func(h *roce.Frame) {
			h.Packet.Payload = h.Packet.Payload[:1000]
		})},

	// Opcodes.
	{"opcode of LoWAR in a message", "ops", "WIRE-OPC-002", everywhere, func(f *frames) {
		s := f.nth(0, of(roce.SendMiddle))
		at, _, _ := roce.FieldSpan(s.raw, "opcode")
		s.raw[at], s.raw[at+4] = byte(roce.LoWAR), 0xFF // the byte that every ICRC except LoWAR's leaves out
		sum, _ := roce.ICRC(s.raw)
		s.raw[at+4] = 0
		binary.LittleEndian.PutUint32(s.raw[len(s.raw)-4:], sum)
		f.edits++
	}},
	{"opcode of a manufacturer in a message", "ops", "WIRE-OPC-002", everywhere, one(0, of(roce.SendMiddle),
		func(h *roce.Frame) { h.Packet.Opcode = 0xC1 })},
	{"reserved opcode in a message", "ops", "WIRE-OPC-002", everywhere, one(0, of(roce.SendMiddle),
		func(h *roce.Frame) { h.Packet.Opcode = 0x18 })},

	// Responses of the wrong kind.
	{"ACK for a READ", "ops", "RC-READ-001", "RP", one(0, of(roce.ReadRespFirst), func(h *roce.Frame) {
		h.Packet.Opcode, h.Packet.Payload = roce.Acknowledge, nil
	})},
	{"ACK for an atomic", "ops", "RC-READ-001", "RP", one(0, of(roce.AtomicAck), func(h *roce.Frame) {
		h.Packet.Opcode = roce.Acknowledge
	})},
	{"READ response for a WRITE", "ops", "RC-READ-001", everywhere, one(0, acks, func(h *roce.Frame) {
		h.Packet.Opcode, h.Packet.Payload = roce.ReadRespOnly, []byte("abcd")
	})},
	{"atomic ACK for a WRITE", "ops", "RC-READ-001", everywhere,
		one(0, acks, func(h *roce.Frame) { h.Packet.Opcode = roce.AtomicAck })},
	{"atomic ACK for a READ", "ops", "RC-READ-001", everywhere, one(0, of(roce.ReadRespFirst), func(h *roce.Frame) {
		h.Packet.Opcode, h.Packet.Payload = roce.AtomicAck, nil
	})},
	{"READ response for an atomic", "ops", "RC-READ-001", everywhere, one(0, of(roce.AtomicAck), func(h *roce.Frame) {
		h.Packet.Opcode, h.Packet.Payload = roce.ReadRespOnly, make([]byte, 8)
	})},
	{"READ response beyond the end", "ops", "RC-READ-001", "RP", func(f *frames) {
		f.after(f.nth(0, of(roce.ReadRespLast)), func(h *roce.Frame) {
			h.Packet.Opcode, h.Packet.PSN = roce.ReadRespOnly, h.Packet.PSN.Next()
		})
	}},

	// The MSN.
	// Other views do not show whether the MSN of a response or its PSN is wrong.
	{"MSN stuck", "ops", "RC-MSN-001", "RP", every(acks, func(h *roce.Frame) { h.Packet.AETH.MSN = 1 })},
	{"MSN doubled", "ops", "RC-MSN-001", everywhere, every(acks, func(h *roce.Frame) { h.Packet.AETH.MSN *= 2 })},

	{"MSN going back", "ops", "RC-MSN-001", "RP", one(3, acks, func(h *roce.Frame) { h.Packet.AETH.MSN -= 2 })},
	{"MSN counting down", "ops", "RC-MSN-001", "RP",
		every(acks, func(h *roce.Frame) { h.Packet.AETH.MSN = 100 - h.Packet.AETH.MSN })},

	// Fields that a retransmission repeats.
	{"R_Key of a retransmitted WRITE", "again", "RC-PSN-005", "SP", again(roce.WriteFirst, func(h *roce.Frame) {
		h.Packet.RETH.RKey ^= 1
	})},
	{"address of a retransmitted WRITE", "again", "RC-PSN-005", "SP", again(roce.WriteFirst, func(h *roce.Frame) {
		h.Packet.RETH.VA += 8
	})},
	{"length of a retransmitted WRITE", "again", "RC-PSN-005", "SP", again(roce.WriteFirst, func(h *roce.Frame) {
		h.Packet.RETH.DMALen += 8
	})},
	{"immediate of a retransmitted WRITE", "again", "RC-PSN-005", "SP", again(roce.WriteLastImm, func(h *roce.Frame) {
		h.Packet.Imm ^= 1
	})},
	{"immediate of a retransmitted SEND", "again", "RC-PSN-005", "SP", again(roce.SendLastImm, func(h *roce.Frame) {
		h.Packet.Imm ^= 1
	})},
	{"key to invalidate of a retransmitted SEND", "again", "RC-PSN-005", "SP", again(roce.SendOnlyInv,
		func(h *roce.Frame) { h.Packet.InvKey ^= 1 })},
	{"operand of a retransmitted atomic", "again", "RC-PSN-005", "SP",
		again(roce.FetchAdd, func(h *roce.Frame) { h.Packet.Atomic.SwapAdd++ })},
	{"comparand of a retransmitted atomic", "again", "RC-PSN-005", "SP", again(roce.CompareSwap, func(h *roce.Frame) {
		h.Packet.Atomic.Compare++
	})},
	{"address of a retransmitted atomic", "again", "RC-PSN-005", "SP",
		again(roce.FetchAdd, func(h *roce.Frame) { h.Packet.RETH.VA += 8 })},
	{"R_Key of a retransmitted atomic", "again", "RC-PSN-005", "SP",
		again(roce.FetchAdd, func(h *roce.Frame) { h.Packet.RETH.RKey ^= 1 })},
	{"R_Key of a retransmitted READ", "again", "RC-PSN-005 RC-READ-002", "SP", again(roce.ReadRequest,
		func(h *roce.Frame) { h.Packet.RETH.RKey ^= 1 })},

	// Time and first PSN of retransmissions.
	{"acknowledged data again", "ops", "RC-CNS-002", "SP", func(f *frames) {
		f.at(f.nth(0, of(roce.WriteFirst)), 15*vtime.Millisecond, func(*roce.Frame) {})
	}},
	{"a timeout not from UNA", "ops", "GBN-RTX-003", "SP", func(f *frames) {
		first := f.nth(3, of(roce.WriteFirst))
		f.drop(func(s *shot, p *roce.Packet) bool {
			return s.sent > first.sent && s.from == trace.B || s.sent > first.sent.Add(vtime.Millisecond)
		})
		f.at(f.nth(0, func(s *shot, p *roce.Packet) bool {
			return s.sent > first.sent && p.Opcode == roce.WriteMiddle
		}), 40*vtime.Millisecond, func(*roce.Frame) {})
	}},
	{"more retries than there are", "ops", "RC-TMO-002", "SP", func(f *frames) {
		first := f.nth(3, of(roce.WriteFirst))
		f.drop(func(s *shot, p *roce.Packet) bool { return s.sent > first.sent })
		for i := range 10 {
			f.at(first, vtime.Duration(20*(i+1))*vtime.Millisecond, func(*roce.Frame) {})
		}
	}},
	{"a NAK that the requester ignores", "again", "GBN-RTX-001", "SP", func(f *frames) {
		nak := f.nth(0, func(_ *shot, p *roce.Packet) bool { return p.AETH.Syndrome == roce.SyndromePSNSeqErr })
		for _, s := range f.list {
			if s.sent > nak.sent {
				f.shift(s, 20*vtime.Millisecond)
			}
		}
	}},

	// RNR NAKs, and packets beside the connection.
	{"RNR NAK for a WRITE", "rnr", "RC-RNR-001 RC-RNR-004", everywhere,
		one(0, rnrs, func(h *roce.Frame) { h.Packet.PSN -= 2 })},
	{"RNR NAK for the middle of a SEND", "rnr", "RC-RNR-001", "RP",
		one(0, rnrs, func(h *roce.Frame) { h.Packet.PSN++ })},
	{"CNP with bytes", "ops", "WIRE-BTH-001", everywhere, func(f *frames) {
		f.after(f.nth(2, requests), func(h *roce.Frame) {
			h.Packet = roce.Packet{BTH: roce.BTH{Opcode: roce.CNP, PKey: roce.DefaultPKey, DestQP: h.Packet.DestQP,
				BECN: true}, Payload: append(make([]byte, 15), 1)}
		})
	}},
	{"datagram beyond any MTU", "ops", "WIRE-LEN-001", everywhere, func(f *frames) {
		f.after(f.nth(2, requests), func(h *roce.Frame) {
			h.Packet = roce.Packet{BTH: roce.BTH{Opcode: roce.UDSendOnly, PKey: roce.DefaultPKey, DestQP: 77},
				DETH: roce.DETH{QKey: 1, SrcQP: 78}, Payload: make([]byte, 5000)}
		})
	}},
}

func rnrs(_ *shot, p *roce.Packet) bool {
	return p.Opcode == roce.Acknowledge && p.AETH.Syndrome.IsRNR()
}
