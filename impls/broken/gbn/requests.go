package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// eachRequest and eachResponse set a hook that changes every packet of one half.
func eachRequest(change func(p *roce.Packet)) func(*end) {
	return func(e *end) { e.req.out = func(p *roce.Packet) bool { change(p); return true } }
}

func eachResponse(change func(p *roce.Packet)) func(*end) {
	return func(e *end) { e.resp.out = func(p *roce.Packet) bool { change(p); return true } }
}

// headers are the variants whose request headers are wrong.
func headers() []recipe {
	return []recipe{
		{name: "ackreq-never", breaks: "never asks for an acknowledgement", catches: "RC-ACK-005", scenarios: "mixed",
			tamper: eachRequest(func(p *roce.Packet) { p.AckReq = false })},
		{name: "atomic-unaligned", breaks: "sends atomics on half an aligned word", catches: "WIRE-ATOMIC-001",
			scenarios: "mixed",
			tamper: eachRequest(func(p *roce.Packet) {
				if p.Opcode.IsAtomic() {
					p.RETH.VA |= 4
				}
			})},
		{name: "destqp-other", breaks: "addresses the QP beside the peer's", catches: "WIRE-BTH-002",
			scenarios: "mixed",
			tamper:    eachRequest(func(p *roce.Packet) { p.DestQP++ })},
		{name: "dmalen-packet", breaks: "writes the length of the first packet into the RETH", catches: "WIRE-RETH-001",
			scenarios: "mixed",
			tamper: eachRequest(func(p *roce.Packet) {
				if p.Opcode == roce.WriteFirst {
					p.RETH.DMALen = uint32(p.Len)
				}
			})},
		{name: "pkey-other", breaks: "sends with the P_Key of another partition", catches: "WIRE-BTH-004",
			scenarios: "mixed",
			tamper:    eachRequest(func(p *roce.Packet) { p.PKey = 0x8001 })},
		{name: "reth-on-middle", breaks: "puts a RETH on WRITE_MIDDLE", catches: "WIRE-RETH-002", scenarios: "mixed",
			tamper: eachRequest(func(p *roce.Packet) {
				if p.Opcode == roce.WriteMiddle {
					p.Payload = append(make([]byte, 16), p.Payload...)
					p.Len = len(p.Payload)
				}
			})},
		{name: "solicits-early", breaks: "sets SE on the FIRST of a message", catches: "WIRE-BTH-005",
			scenarios: "mixed",
			tamper:    eachRequest(func(p *roce.Packet) { p.SE = p.SE || p.Opcode.IsFirst() })},
		{name: "tver-one", breaks: "sends transport version 1", catches: "WIRE-BTH-001", scenarios: "mixed",
			tamper: eachRequest(func(p *roce.Packet) { p.TVer = 1 })},
	}
}

// segments are the variants that segment messages wrongly.
func segments() []recipe {
	return []recipe{
		{name: "first-short", breaks: "cuts the FIRST of a message short by four bytes", catches: "WIRE-LEN-001",
			scenarios: "mixed",
			tamper: eachRequest(func(p *roce.Packet) {
				if p.Opcode == roce.SendFirst || p.Opcode == roce.WriteFirst {
					p.Len -= 4
					p.Payload = p.Payload[:p.Len]
				}
			})},
		{name: "last-becomes-middle", breaks: "never ends a SEND of several packets", catches: "RC-OPC-001",
			scenarios: "mixed",
			tamper: eachRequest(func(p *roce.Packet) {
				if p.Opcode == roce.SendLast {
					p.Opcode = roce.SendMiddle
				}
			})},
		{name: "mtu-half", breaks: "segments messages to half the path MTU", catches: "WIRE-LEN-001 WIRE-LEN-002",
			scenarios: "mixed",
			attr:      func(req, _ *engine.QP) { req.MTU /= 2 }},
	}
}

// numbers are the variants that count PSNs wrongly.
func numbers() []recipe {
	return []recipe{
		{name: "psn-far", breaks: "lets the span of outstanding PSNs reach half the PSN space", catches: "RC-PSN-004",
			scenarios: "loss",
			tamper: func(e *end) {
				sent := 0
				e.req.out = func(p *roce.Packet) bool {
					if sent++; sent == 5 {
						p.PSN = p.PSN.Add(psn.Half - 1)
					}
					return true
				}
			}},
		{name: "psn-skips", breaks: "leaves a PSN out", catches: "RC-PSN-001", scenarios: "mixed",
			tamper: func(e *end) {
				from := e.qp.SendPSN.Add(5)
				e.req.out = func(p *roce.Packet) bool {
					if !p.PSN.Less(from) {
						p.PSN = p.PSN.Next()
					}
					return true
				}
			}},
		{name: "psn-start", breaks: "begins one after the negotiated PSN", catches: "RC-PSN-002", scenarios: "mixed",
			attr: func(req, _ *engine.QP) { req.SendPSN = req.SendPSN.Next() }},
	}
}

// limits are the variants that exceed a limit of outstanding requests.
func limits() []recipe {
	return []recipe{
		{name: "queue-deeper", breaks: "accepts twice as many work requests as the queue is deep",
			catches: "RC-WIN-001 RC-WIN-002", scenarios: "window",
			attr: func(req, _ *engine.QP) { req.QueueDepth *= 2 }},
		{name: "read-depth", breaks: "has more READs outstanding than was negotiated", catches: "RC-READ-004",
			scenarios: "reads",
			attr:      func(req, _ *engine.QP) { req.MaxRdAtomic *= 2 }},
	}
}

// chatter are the variants that send when they must not.
func chatter() []recipe {
	return []recipe{
		{name: "talks-when-done", breaks: "repeats its last request when nothing is outstanding", catches: "RC-CNS-002",
			scenarios: "mixed",
			tamper: func(e *end) {
				var last roce.Packet
				e.req.out = func(p *roce.Packet) bool { last = *p; return true }
				e.req.event = func(ev *engine.Event) bool {
					if ev.Kind == engine.CQE {
						e.req.after(5*vtime.Millisecond, func() { e.req.send(last) })
					}
					return true
				}
			}},
		{name: "talks-in-error", breaks: "goes on sending in the error state", catches: "RC-ERR-001",
			scenarios: "bad-key",
			tamper: func(e *end) {
				var last roce.Packet
				e.req.out = func(p *roce.Packet) bool { last = *p; return true }
				e.req.event = func(ev *engine.Event) bool {
					if ev.Kind == engine.Fatal {
						e.req.after(5*vtime.Millisecond, func() { e.req.send(last) })
					}
					return true
				}
			}},
	}
}
