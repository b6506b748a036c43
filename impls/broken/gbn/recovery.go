package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// retries sets a hook that is called with every retransmission; a retransmission is sent if the hook returns true.
func retries(again func(e *end, p *roce.Packet) bool) func(*end) {
	return func(e *end) {
		next := e.qp.SendPSN
		e.req.out = func(p *roce.Packet) bool {
			if p.PSN.Less(next) {
				return again(e, p)
			}
			next = p.PSN.Next()
			return true
		}
	}
}

// parameter sets a parameter of the scheme for one half.
func parameter(qp *engine.QP, name, value string) {
	all := engine.Params{name: value}
	for k, v := range qp.Params {
		if k != name {
			all[k] = v
		}
	}
	qp.Params = all
}

// retransmissions are the variants that retransmit from the wrong packet.
func retransmissions() []recipe {
	return []recipe{
		{name: "back-one-packet", breaks: "sends only the missing packet again", catches: "GBN-RTX-001",
			scenarios: "loss",
			tamper: func(e *end) {
				var missing psn.PSN
				e.req.in = func(p *roce.Packet) bool {
					if isNAK(p) {
						missing = p.PSN
					}
					return true
				}
				retries(func(_ *end, p *roce.Packet) bool { return p.PSN == missing })(e)
			}},
		{name: "back-to-chunk", breaks: "goes back to packets that the NAK acknowledged", catches: "GBN-RTX-002",
			scenarios: "loss",
			attr:      func(req, _ *engine.QP) { parameter(req, "backto0", "8192") }},
		{name: "back-too-little", breaks: "begins the retransmission one packet after the missing one",
			catches: "GBN-RTX-001", scenarios: "loss",
			tamper: func(e *end) {
				skip := false
				e.req.in = func(p *roce.Packet) bool { skip = skip || isNAK(p); return true }
				retries(func(_ *end, p *roce.Packet) bool {
					first := skip
					skip = false
					return !first
				})(e)
			}},
		{name: "chunk-ignored", breaks: "goes back to the packet though a chunk was agreed", catches: "GBN-BT0-001",
			scenarios: "backto0",
			attr:      func(req, _ *engine.QP) { parameter(req, "backto0", "0") }},
		{name: "nak-ignored", breaks: "ignores NAKs and leaves everything to the timer", catches: "NEG-ACK-004",
			scenarios: "forged-nak",
			tamper:    func(e *end) { e.req.in = func(p *roce.Packet) bool { return !isNAK(p) } }},
		{name: "second-nak-obeyed", breaks: "starts over for each NAK of the same packet", catches: "GBN-RTX-005",
			scenarios: "nak-twice",
			attr:      func(req, _ *engine.QP) { parameter(req, "nack_interval", "1ps") }},
		{name: "timeout-skips", breaks: "retransmits one packet too late after a timeout", catches: "GBN-RTX-003",
			scenarios: "acks-lost",
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

// repetitions are the variants whose retransmissions differ from the first transmission.
func repetitions() []recipe {
	return []recipe{
		{name: "payload-changes", breaks: "sends other data when it sends a packet again", catches: "RC-PSN-005",
			scenarios: "loss",
			tamper: retries(func(_ *end, p *roce.Packet) bool {
				if p.Len > 0 {
					p.Payload = append([]byte(nil), p.Payload...)
					p.Payload[0] ^= 1
				}
				return true
			})},
		{name: "read-reissue-address", breaks: "re-issues a READ with the address of its beginning",
			catches: "RC-READ-002", scenarios: "read-loss",
			tamper: func(e *end) {
				va := uint64(0)
				next := e.qp.SendPSN
				e.req.out = func(p *roce.Packet) bool {
					if p.Opcode == roce.ReadRequest {
						if p.PSN.Less(next) {
							p.RETH.VA = va
						} else {
							va, next = p.RETH.VA, p.PSN.Next()
						}
						next = psn.Max(next, p.PSN.Add(e.qp.Packets(p.RETH.DMALen)))
					}
					return true
				}
			}},
		{name: "restarts-message", breaks: "begins a retransmission with a FIRST", catches: "GBN-RTX-004",
			scenarios: "loss",
			tamper: retries(func(_ *end, p *roce.Packet) bool {
				if p.Opcode == roce.WriteMiddle {
					p.Opcode = roce.WriteFirst
					p.RETH = roce.RETH{DMALen: uint32(p.Len)}
				}
				return true
			})},
		{name: "retries-twice", breaks: "sends every packet twice when it goes back", catches: "GBN-EFF-001",
			scenarios: "steady",
			tamper:    retries(func(e *end, p *roce.Packet) bool { e.req.send(*p); return true })},
	}
}

// gaps are the variants that answer a gap wrongly.
func gaps() []recipe {
	return []recipe{
		{name: "early-kept", breaks: "places data that come before their turn", catches: "GBN-DRP-001",
			scenarios: "loss",
			tamper: func(e *end) {
				o := order{e.qp.RecvPSN}
				e.resp.in = func(p *roce.Packet) bool {
					if o.take(p, e.qp.MTU) > 0 && p.Opcode == roce.WriteFirst {
						e.mem.Memory.Store(p.RETH.VA, p.Payload, p.Len)
					}
					return true
				}
			}},
		{name: "nak-always", breaks: "sends a NAK for every packet beyond a gap", catches: "GBN-NAK-002",
			scenarios: "loss",
			attr:      func(_, resp *engine.QP) { parameter(resp, "nack_interval", "1ps") }},
		{name: "nak-hasty", breaks: "repeats its NAK sooner than the interval", catches: "GBN-NAK-004",
			scenarios: "nack-interval",
			attr:      func(_, resp *engine.QP) { parameter(resp, "nack_interval", "10us") }},
		{name: "nak-once", breaks: "sends one NAK per connection", catches: "GBN-NAK-003 GBN-NAK-001",
			scenarios: "loss",
			tamper: func(e *end) {
				said := false
				e.resp.out = func(p *roce.Packet) bool {
					again := isNAK(p) && said
					said = said || isNAK(p)
					return !again
				}
			}},
		{name: "nak-received", breaks: "names the PSN that came in its NAK, not the missing one",
			catches: "GBN-NAK-001", scenarios: "loss",
			tamper: func(e *end) {
				var came psn.PSN
				e.resp.in = func(p *roce.Packet) bool { came = p.PSN; return true }
				e.resp.out = func(p *roce.Packet) bool {
					if isNAK(p) {
						p.PSN = came
					}
					return true
				}
			}},
		{name: "wrap-backwards", breaks: "compares PSNs as integers, so that everything after the wrap is old",
			catches: "RC-PSN-003", scenarios: "wrap",
			tamper: func(e *end) {
				newest := psn.PSN(0)
				e.resp.in = func(p *roce.Packet) bool {
					if uint32(p.PSN) < uint32(newest) {
						old := *p
						old.PSN = newest
						e.resp.send(e.answer(&old, roce.SyndromeACK))
						return false
					}
					newest = p.PSN
					return true
				}
			}},
	}
}

// patience are the variants that wait too short or too long.
func patience() []recipe {
	return []recipe{
		{name: "retries-more", breaks: "retries once more than its retry count", catches: "RC-TMO-002",
			scenarios: "black-hole",
			attr:      func(req, _ *engine.QP) { req.RetryCount++ }},
		{name: "rnr-impatient", breaks: "retries 10 us after any RNR NAK", catches: "RC-RNR-002", scenarios: "rnr",
			tamper: func(e *end) {
				e.req.in = func(p *roce.Packet) bool {
					if p.Opcode == roce.Acknowledge && p.AETH.Syndrome.IsRNR() {
						p.AETH.Syndrome = roce.SyndromeRNR | 1
					}
					return true
				}
			}},
		{name: "rnr-retries-more", breaks: "retries once more than its RNR retry count",
			catches: "RC-RNR-003", scenarios: "rnr",
			attr: func(req, _ *engine.QP) { req.RNRRetry++ }},
		{name: "timer-always", breaks: "runs its timer though the timeout is 0", catches: "RC-TMO-004",
			scenarios: "no-timer",
			attr:      func(req, _ *engine.QP) { req.RTO = 20 * vtime.Millisecond }},
		{name: "timer-early", breaks: "times out after a quarter of the timer", catches: "RC-TMO-001",
			scenarios: "black-hole",
			attr:      func(req, _ *engine.QP) { req.RTO /= 4 }},
		{name: "timer-never", breaks: "has no timer", catches: "GBN-RTX-006 GBN-RTX-007 GBN-TAIL-001",
			scenarios: "head-lost nak-lost last-lost",
			attr:      func(req, _ *engine.QP) { req.RTO, req.Timeout = 0, 0 }},
		{name: "timer-not-stopped", breaks: "lets its timer run when nothing is outstanding", catches: "RC-TMO-003",
			scenarios: "idle",
			tamper: func(e *end) {
				latest := vtime.Time(0)
				e.req.timer = func(at vtime.Time, ok bool) (vtime.Time, bool) {
					if ok {
						latest = at
					}
					return latest, latest > e.req.now
				}
			}},
	}
}
