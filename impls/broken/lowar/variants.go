package lowar

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/engine/tamper"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/broken"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/shell"
)

func isRepair(p *roce.Packet) bool {
	return p.Opcode == roce.LoWAR && p.Repair.Type == roce.RepairData
}

func isData(p *roce.Packet) bool { return p.Opcode.IsSend() || p.Opcode.IsWrite() }

func isACK(p *roce.Packet) bool { return p.Opcode == roce.Acknowledge && p.AETH.Syndrome.IsACK() }

func isNAK(p *roce.Packet) bool {
	return p.Opcode == roce.Acknowledge && p.AETH.Syndrome == roce.SyndromePSNSeqErr
}

// repairs sets a hook on the outgoing repair packets of requests.
func repairs(hook func(e *shell.End, p *roce.Packet) bool) func(*shell.End) {
	return func(e *shell.End) { e.Req.Out = func(p *roce.Packet) bool { return !isRepair(p) || hook(e, p) } }
}

// header sets a hook that changes the headers of outgoing repair packets.
func header(change func(h *roce.Repair)) func(*shell.End) {
	return repairs(func(_ *shell.End, p *roce.Packet) bool { change(&p.Repair); return true })
}

// arrivals sets a hook on the arriving repair packets of requests.
func arrivals(hook func(e *shell.End, h *roce.Repair) bool) func(*shell.End) {
	return func(e *shell.End) {
		e.Resp.In = func(p *roce.Packet) bool { return !isRepair(p) || hook(e, &p.Repair) }
	}
}

// reports sets a hook that changes the variables of both halves.
func reports(hook func(v shell.Vars)) func(*shell.End) {
	return func(e *shell.End) { e.Req.Report, e.Resp.Report = hook, hook }
}

// changed returns a payload with a bit flipped.
func changed(payload []byte) []byte {
	b := slices.Clone(payload)
	if len(b) > 0 {
		b[len(b)/2] ^= 1
	}
	return b
}

// answer returns a forged response.
func answer(e *shell.End, p psn.PSN, s roce.Syndrome) roce.Packet {
	return roce.Packet{BTH: roce.BTH{Opcode: roce.Acknowledge, DestQP: e.QP.DestQPN, PKey: e.QP.PKey, PSN: p},
		AETH: roce.AETH{Syndrome: s}}
}

// fake returns a forged repair packet.
func fake(e *shell.End, base psn.PSN, n int, k bool) roce.Packet {
	return roce.Packet{BTH: roce.BTH{Opcode: roce.LoWAR, DestQP: e.QP.DestQPN}, Payload: make([]byte, 16), Len: 16,
		Repair: roce.Repair{Type: roce.RepairData, Version: roce.RepairVersion, Base: base, N: uint16(n), R: 8,
			C: 2, Responses: k}}
}

// shimFrame sets a hook on the outgoing frames of the shim; at is the offset of the opcode.
func shimFrame(change func(frame []byte, at int)) func(*engine.Implementation) {
	return func(impl *engine.Implementation) {
		*impl = tamper.Around(*impl, tamper.Frames{Out: func(frame []byte) []byte {
			if at, _, ok := roce.FieldSpan(frame, "opcode"); ok && roce.Opcode(frame[at]) == roce.LoWAR {
				change(frame, at)
			}
			return frame
		}})
	}
}

// headers are the senders whose repair packets have wrong headers.
func headers() []broken.Recipe {
	return []broken.Recipe{
		{Name: "base-next", Breaks: "names the second packet of a block as its first", Catches: "LOWAR-ENC-007",
			Scenarios: "clean",
			Tamper:    header(func(h *roce.Repair) { h.Base = h.Base.Next() })},
		{Name: "icrc-masked", Breaks: "masks the type in the ICRC, as if it were a BTH", Catches: "LOWAR-HDR-004",
			Scenarios: "clean",
			Change: shimFrame(func(frame []byte, at int) {
				kind := frame[at+4]
				frame[at+4] = 0xFF
				roce.Reseal(frame)
				frame[at+4] = kind
			})},
		{Name: "last-length", Breaks: "gives the last packet of a message four bytes too many",
			Catches: "LOWAR-ENC-006", Scenarios: "clean",
			Tamper: header(func(h *roce.Repair) {
				if h.HasLast {
					h.LastLen += 4
				}
			})},
		{Name: "other-port", Breaks: "sends repair packets from a port of their own", Catches: "LOWAR-HDR-002",
			Scenarios: "clean",
			Change: shimFrame(func(frame []byte, _ int) {
				if at, _, ok := roce.FieldSpan(frame, "udpsport"); ok {
					frame[at] ^= 0x20
					roce.Reseal(frame)
				}
			})},
		{Name: "type-unknown", Breaks: "sends packets of an undefined type", Catches: "LOWAR-HDR-001",
			Scenarios: "clean",
			Tamper:    repairs(func(_ *shell.End, p *roce.Packet) bool { p.Repair.Type = 9; return true })},
		{Name: "version-two", Breaks: "sends another version of the header", Catches: "LOWAR-HDR-003",
			Scenarios: "clean",
			Tamper:    header(func(h *roce.Repair) { h.Version = 2 })},
		{Name: "announces-nothing", Breaks: "changes (r, c) without an announcement", Catches: "LOWAR-NEG-001",
			Scenarios: "adaptive",
			Tamper: func(e *shell.End) {
				e.Req.Out = func(p *roce.Packet) bool {
					return p.Opcode != roce.LoWAR || p.Repair.Type != roce.RepairAnnounce
				}
			}},
	}
}

// payloads are the senders that code the wrong packets, or none.
func payloads() []broken.Recipe {
	return []broken.Recipe{
		{Name: "double-is-not", Breaks: "sends a repair packet for a message of one packet that is not a copy of it",
			Catches: "LOWAR-ENC-005", Scenarios: "clean",
			Tamper: repairs(func(_ *shell.End, p *roce.Packet) bool {
				if p.Repair.N == 1 {
					p.Payload = changed(p.Payload)
				}
				return true
			})},
		{Name: "xor-wrong", Breaks: "sends repair packets that are not the XOR of their packets",
			Catches: "LOWAR-ENC-003", Scenarios: "clean",
			Tamper: repairs(func(_ *shell.End, p *roce.Packet) bool { p.Payload = changed(p.Payload); return true })},
		{Name: "marks-data", Breaks: "marks coded packets with a reserved bit of the BTH",
			Catches: "LOWAR-TRN-001", Scenarios: "clean",
			Tamper: func(e *shell.End) {
				e.Req.Out = func(p *roce.Packet) bool {
					if isData(p) {
						p.Resv6 = 1
					}
					return true
				}
			}},
		{Name: "numbers-repairs", Breaks: "gives repair packets PSNs", Catches: "LOWAR-ENC-008", Scenarios: "refused",
			Tamper: func(e *shell.End) {
				taken := 0
				e.Req.Out = func(p *roce.Packet) bool {
					if p.PSN = p.PSN.Add(taken); isRepair(p) {
						taken++
					}
					return true
				}
			}},
		{Name: "reads-bare", Breaks: "does not code READ responses", Catches: "LOWAR-ENC-010", Scenarios: "reads",
			Tamper: func(e *shell.End) { e.Resp.Out = func(p *roce.Packet) bool { return !isRepair(p) } }},
		{Name: "codes-requests", Breaks: "sends a repair packet for a READ request", Catches: "LOWAR-ENC-011",
			Scenarios: "reads",
			Tamper: func(e *shell.End) {
				e.Req.Out = func(p *roce.Packet) bool {
					if p.Opcode.IsRead() {
						e.Req.Send(*p)
						e.Req.Send(fake(e, p.PSN, 1, false))
						return false
					}
					return true
				}
			}},
	}
}

// blocks are the senders that send repair packets at the wrong time, or in the wrong number.
func blocks() []broken.Recipe {
	return []broken.Recipe{
		{Name: "block-goes-on", Breaks: "sends the repair packet of a block that a retransmission interrupts",
			Catches: "LOWAR-ENC-009", Scenarios: "two", Tamper: interrupted},
		{Name: "depth-literal", Breaks: "sends repair packets after every c-th packet, as line 5 of the algorithm says",
			Catches:   "LOWAR-ENC-001",
			Scenarios: "clean", Tamper: func(e *shell.End) {
				first := psn.PSN(0)
				e.Req.Out = func(p *roce.Packet) bool {
					if isData(p) && p.Opcode.StartsMessage() {
						first = p.PSN
					}
					if isData(p) && p.PSN == first.Next() && !p.Opcode.EndsMessage() {
						e.Req.Send(*p)
						e.Req.Send(fake(e, first, 2, false))
						return false
					}
					return true
				}
			}},
		{Name: "one-repair-less", Breaks: "leaves out the last repair packet of a block", Catches: "LOWAR-ENC-002",
			Scenarios: "clean",
			Tamper: repairs(func(_ *shell.End, p *roce.Packet) bool {
				return p.Repair.N == 1 || p.Repair.ISN == 0
			})},
		{Name: "repairs-twice", Breaks: "sends every repair packet twice", Catches: "LOWAR-OVH-001", Scenarios: "long",
			Tamper: repairs(func(e *shell.End, p *roce.Packet) bool {
				x := *p
				e.Req.Send(x)
				e.Req.Send(x)
				return false
			})},
		{Name: "spans-messages", Breaks: "puts two messages into one block", Catches: "LOWAR-ENC-004",
			Scenarios: "clean",
			Tamper: func(e *shell.End) {
				var before roce.Repair
				repairs(func(_ *shell.End, p *roce.Packet) bool {
					h := p.Repair
					if h.ISN == 0 && before.N > 0 && before.Base.Add(int(before.N)) == h.Base {
						p.Repair.Base, p.Repair.N = before.Base, h.N+before.N
					}
					before = h
					return true
				})(e)
			}},
	}
}

// interrupted forges the repair packet of a block that a retransmission ends.
func interrupted(e *shell.End) {
	base, next, open := psn.PSN(0), e.QP.SendPSN, false
	e.Req.Out = func(p *roce.Packet) bool {
		switch {
		case isRepair(p):
			open = false
		case isData(p) && open && p.PSN != next:
			e.Req.Send(*p)
			e.Req.Send(fake(e, base, next.Sub(base), false))
			base, next = p.PSN, p.PSN.Next()
			return false
		case isData(p):
			if !open {
				base, open = p.PSN, true
			}
			next = p.PSN.Next()
		}
		return true
	}
}

// recovering are the receivers that recover too little, or wrong data.
func recovering() []broken.Recipe {
	return []broken.Recipe{
		{Name: "first-needed", Breaks: "cannot decode a block whose first packet is lost", Catches: "LOWAR-DEC-003",
			Scenarios: "first",
			Tamper: func(e *shell.End) {
				came := map[psn.PSN]bool{}
				e.Resp.In = func(p *roce.Packet) bool {
					if isData(p) {
						came[p.PSN] = true
					}
					return !isRepair(p) || came[p.Repair.Base]
				}
			}},
		{Name: "needs-announcement", Breaks: "recovers nothing before it has heard an announcement",
			Catches: "LOWAR-NEG-002", Scenarios: "announcements-lost",
			Tamper: func(e *shell.End) {
				heard := false
				e.Resp.In = func(p *roce.Packet) bool {
					heard = heard || p.Opcode == roce.LoWAR && p.Repair.Type == roce.RepairAnnounce
					return !isRepair(p) || heard || p.Repair.Epoch == 0
				}
			}},
		{Name: "one-of-a-block", Breaks: "recovers one packet of a block and no more", Catches: "LOWAR-DEC-004",
			Scenarios: "burst",
			Tamper:    arrivals(func(_ *shell.End, h *roce.Repair) bool { return h.ISN == 0 })},
		{Name: "places-rubbish", Breaks: "places other data than it recovered", Catches: "LOWAR-DEC-002",
			Scenarios: "single",
			Tamper: func(e *shell.End) {
				spoil := false
				e.Resp.In = func(p *roce.Packet) bool { spoil = isRepair(p); return true }
				e.Mem.Change = func(data []byte) []byte {
					if spoil {
						spoil = false
						return changed(data)
					}
					return data
				}
			}},
		{Name: "repairs-ignored", Breaks: "recovers nothing", Catches: "LOWAR-DEC-001", Scenarios: "single",
			Tamper: arrivals(func(*shell.End, *roce.Repair) bool { return false })},
	}
}

// failing are the receivers that act wrongly when a block cannot be recovered.
func failing() []broken.Recipe {
	return []broken.Recipe{
		{Name: "gap-acked", Breaks: "acknowledges packets that could not be recovered", Catches: "LOWAR-DEC-005",
			Scenarios: "two",
			Tamper: func(e *shell.End) {
				newest := e.QP.RecvPSN
				e.Resp.In = func(p *roce.Packet) bool {
					if isData(p) {
						newest = psn.Max(newest, p.PSN)
					}
					return true
				}
				e.Resp.Out = func(p *roce.Packet) bool {
					if isNAK(p) {
						p.PSN, p.AETH.Syndrome = newest, roce.SyndromeACK
					}
					return true
				}
			}},
		{Name: "gap-silent", Breaks: "sends no NAK for packets that could not be recovered", Catches: "LOWAR-DEC-006",
			Scenarios: "repair-too",
			Tamper:    func(e *shell.End) { e.Resp.Out = func(p *roce.Packet) bool { return !isNAK(p) } }},
		{Name: "gives-up-early", Breaks: "waits for a tenth of T_rob", Catches: "LOWAR-ROB-002", Scenarios: "tail",
			Params: engine.Params{"t_rob": "1ms"}},
		{Name: "stays-away", Breaks: "does not track again after a failure", Catches: "LOWAR-DEC-009", Scenarios: "two",
			Tamper: func(e *shell.End) {
				failed := false
				e.Resp.Out = func(p *roce.Packet) bool { failed = failed || isNAK(p); return true }
				arrivals(func(*shell.End, *roce.Repair) bool { return !failed })(e)
			}},
		{Name: "repair-missed", Breaks: "asks for a block again when its repair packet is lost",
			Catches: "LOWAR-DEC-007", Scenarios: "repair-lost",
			Tamper: func(e *shell.End) {
				begun, repaired, any := psn.PSN(0), true, false
				e.Resp.In = func(p *roce.Packet) bool {
					switch {
					case isRepair(p):
						repaired = true
					case isData(p) && p.Opcode.StartsMessage():
						if any && !repaired {
							e.Resp.Send(answer(e, begun, roce.SyndromePSNSeqErr))
						}
						begun, repaired, any = p.PSN, false, true
					}
					return true
				}
			}},
	}
}

// trusting are the receivers that act on repair packets that they must ignore.
func trusting() []broken.Recipe {
	return []broken.Recipe{
		{Name: "any-scheme", Breaks: "recovers with whatever (r, c) a repair packet has", Catches: "LOWAR-DEC-010",
			Scenarios: "disagree",
			Params:    engine.Params{"recv_r": "same"}},
		{Name: "repair-acked", Breaks: "takes every hole for repaired when a repair packet comes",
			Catches: "LOWAR-DEC-011", Scenarios: "forged",
			Tamper: func(e *shell.End) {
				newest := e.QP.RecvPSN
				e.Resp.In = func(p *roce.Packet) bool {
					if isData(p) {
						newest = psn.Max(newest, p.PSN)
					}
					if isRepair(p) {
						e.Resp.Send(answer(e, newest, roce.SyndromeACK))
					}
					return true
				}
			}},
		{Name: "repeat-answered", Breaks: "acknowledges once more when a repair packet comes twice",
			Catches: "LOWAR-DEC-012", Scenarios: "doubled",
			Tamper: func(e *shell.End) {
				var last roce.Packet
				e.Resp.Out = func(p *roce.Packet) bool {
					if isACK(p) {
						last = *p
					}
					return true
				}
				var before roce.Repair
				arrivals(func(e *shell.End, h *roce.Repair) bool {
					if *h == before && last.Opcode == roce.Acknowledge {
						e.Resp.Send(last)
					}
					before = *h
					return true
				})(e)
			}},
		{Name: "stock-answers", Breaks: "refuses repair packets although it has no shim", Catches: "LOWAR-TRN-002",
			Scenarios: "stock",
			Right:     gbn.Implementation, Change: seesRepairs,
			Tamper: func(e *shell.End) {
				next := e.QP.RecvPSN
				e.Resp.In = func(p *roce.Packet) bool {
					if p.Opcode == roce.LoWAR {
						e.Resp.Send(answer(e, next, roce.SyndromePSNSeqErr))
						return false
					}
					next = p.PSN.Next()
					return true
				}
			}},
	}
}

// accounts are the endpoints that report wrong variables.
func accounts() []broken.Recipe {
	return []broken.Recipe{
		{Name: "passes-early", Breaks: "passes packets to the transport that should wait", Catches: "LOWAR-DEC-008",
			Scenarios: "single",
			Tamper:    reports(func(v shell.Vars) { *v.At("early") += *v.At("dec_waiting") })},
		{Name: "rob-overfull", Breaks: "keeps more packets than its buffer has places", Catches: "LOWAR-ROB-001",
			Scenarios: "single",
			Tamper:    reports(func(v shell.Vars) { *v.At("rob") *= 3000 })},
		{Name: "unprotected-uncounted", Breaks: "does not count packets that it could not protect",
			Catches:   "LOWAR-UNIT-002",
			Scenarios: "exhausted",
			Tamper:    reports(func(v shell.Vars) { *v.At("enc_unprotected") = min(*v.At("enc_unprotected"), 1) })},
		{Name: "units-too-many", Breaks: "uses more coding units than there are", Catches: "LOWAR-UNIT-001",
			Scenarios: "single",
			Tamper:    reports(func(v shell.Vars) { *v.At("units_encoding") *= 3000 })},
	}
}
