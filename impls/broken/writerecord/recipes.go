package writerecord

import (
	"encoding/binary"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
)

// sends returns hooks of which one is called with every datagram of the source.
func sends(hook func(e *end, d *iwarp.Datagram) bool) func() hooks {
	return func() hooks { return hooks{send: hook} }
}

// arrives returns hooks of which one is called with every datagram for the target.
func arrives(hook func(e *end, d *iwarp.Datagram) bool) func() hooks {
	return func() hooks { return hooks{arrive: hook} }
}

// tells returns hooks of which one is called with every event.
func tells(hook func(e *end, ev *engine.Event) bool) func() hooks {
	return func() hooks { return hooks{event: hook} }
}

// silences returns hooks that drop the events of a kind and operation.
func silences(kind engine.EventKind, op engine.Op) func() hooks {
	return tells(func(_ *end, ev *engine.Event) bool { return ev.Kind != kind || ev.Op != op })
}

// place identifies a segment by a number made of message and offset.
func place(s *iwarp.Segment) uint64 {
	return uint64(s.MSN+s.Record.ID+1)<<32 | uint64(s.MO+s.Record.Off)
}

// recipes are the variants.
func recipes() []recipe {
	return slices.Concat(sourceRecipes(), targetRecipes(), receiveRecipes(), recordRecipes(), mapRecipes())
}

// sourceRecipes are the variants of the source.
func sourceRecipes() []recipe {
	return []recipe{
		{"leaves-out-bytes", "leaves out a byte between segments", "DIW-SEG-002", "long-messages",
			sends(func(_ *end, d *iwarp.Datagram) bool {
				if s := &d.Segment; s.MO > 0 {
					s.MO++
				}
				return true
			})},
		{"sends-again", "sends every segment twice", "DIW-QP-004", "lossy",
			sends(func(e *end, d *iwarp.Datagram) bool {
				e.packets = append(e.packets, iwarp.AppendDatagram(nil, d.Src, d.Dst, &d.Segment))
				return true
			})},
		{"giant-datagram", "sends a datagram that UDP cannot carry", "DIW-SEG-001", "long-messages",
			func() hooks {
				return hooks{raw: func(b []byte) []byte {
					if len(b) > 60000 {
						b = append(b, make([]byte, 66000-len(b))...)
					}
					return b
				}}
			}},
		{"mpa-framing", "frames segments as MPA does", "DIW-HDR-003", "clean",
			func() hooks {
				return hooks{raw: func(b []byte) []byte {
					out := iwarp.AppendUDP(nil, binary.BigEndian.Uint16(b), iwarp.Port, len(b)-iwarp.UDPLen+2)
					out = binary.BigEndian.AppendUint16(out, uint16(len(b)-iwarp.UDPLen-iwarp.CRCLen))
					out = append(out, b[iwarp.UDPLen:len(b)-iwarp.CRCLen]...)
					return iwarp.AppendCRC(out, len(out)-iwarp.UDPLen)
				}}
			}},
		{"wrong-queue", "sends to a queue that is not there", "DIW-HDR-002", "clean",
			sends(func(_ *end, d *iwarp.Datagram) bool { d.Segment.QN = 7; return true })},
		{"wrong-version", "sends RDMAP version 0", "DIW-HDR-001", "clean",
			sends(func(_ *end, d *iwarp.Datagram) bool { d.Segment.RDMAP = 0; return true })},
		{"crc-missing", "sends no CRC", "DIW-CRC-001", "clean",
			func() hooks {
				return hooks{raw: func(b []byte) []byte { clear(b[len(b)-iwarp.CRCLen:]); return b }}
			}},
		{"done-never", "does not complete a SEND", "UDSR-CMP-005", "blackhole", silences(engine.CQE, engine.OpSend)},
		{"done-never-record", "does not complete a Write-Record", "WREC-SRC-001", "clean",
			silences(engine.CQE, engine.OpWrite)},
	}
}

// targetRecipes are the targets that accept too many or too few segments.
func targetRecipes() []recipe {
	return []recipe{
		{"crc-ignored", "takes segments whose CRC is wrong", "DIW-CRC-002", "damaged",
			arrives(func(*end, *iwarp.Datagram) bool { return true })},
		{"first-ignored", "ignores a peer until it has sent a message", "DIW-QP-003", "clean",
			arrives(func(_ *end, d *iwarp.Datagram) bool { return d.Segment.Record.ID > 0 || d.Segment.MSN > 1 })},
		{"in-order-only", "drops segments that do not come in order", "UDSR-CMP-003", "shuffled",
			arrives(func(e *end, d *iwarp.Datagram) bool {
				s := &d.Segment
				ok := e.next[s.MSN] == s.MO
				if ok {
					e.next[s.MSN] += uint32(len(s.Payload))
				}
				return ok
			})},
		{"late-ignored", "ignores what comes behind the last segment", "WREC-LAST-003", "last-early",
			arrives(func(e *end, d *iwarp.Datagram) bool {
				s := &d.Segment
				late := e.seen[uint64(s.Record.ID)] > 0
				if s.Last {
					e.seen[uint64(s.Record.ID)]++
				}
				return !late
			})},
		{"drops-a-tenth", "drops a tenth of what arrives", "WREC-LOSS-001", "model",
			arrives(func(e *end, d *iwarp.Datagram) bool { e.count++; return e.count%10 != 0 })},
		{"loss-is-fatal", "fails when a segment is missing", "DIW-QP-001", "segment-lost",
			arrives(func(e *end, d *iwarp.Datagram) bool {
				s := &d.Segment
				if s.MO > e.next[s.MSN] && e.count == 0 {
					e.count++
					e.events = append(e.events, engine.Event{Kind: engine.Fatal, Status: engine.StatusRemoteOp})
				}
				e.next[s.MSN] = s.MO + uint32(len(s.Payload))
				return true
			})},
	}
}

// receiveRecipes are the targets that complete receives wrongly.
func receiveRecipes() []recipe {
	return []recipe{
		{"receive-consumed", "completes a receive for a Write-Record", "WREC-ONE-001", "records",
			tells(func(e *end, ev *engine.Event) bool {
				if ev.Kind == engine.Declared {
					e.events = append(e.events, engine.Event{Kind: engine.ReceiveCQE, ID: ev.ID,
						Len: ev.Len, Peer: ev.Peer})
				}
				return true
			})},
		{"receive-grown", "writes beyond a receive", "UDSR-LEN-001", "too-long",
			func() hooks {
				return hooks{receive: func(_ *end, rr *engine.ReceiveRequest) bool { rr.Len += 4096; return true }}
			}},
		{"receive-kept", "never gives up a message", "UDSR-TMO-001", "segment-lost",
			silences(engine.Lost, engine.OpSend)},
		{"receive-newest", "takes receives in another order", "UDSR-MAT-001", "sends",
			func() hooks {
				return hooks{receive: func(e *end, rr *engine.ReceiveRequest) bool {
					if e.count++; e.count%2 == 1 {
						e.last.VA, e.last.ID, e.last.Len = rr.VA, rr.ID, rr.Len
						return false
					}
					e.held = append(e.held, engine.ReceiveRequest{ID: e.last.ID, VA: e.last.VA, Len: e.last.Len})
					return true
				}}
			}},
		{"receive-partial", "completes a message that is not whole", "UDSR-CMP-001", "segment-lost",
			tells(func(_ *end, ev *engine.Event) bool {
				if ev.Kind == engine.Lost {
					ev.Kind = engine.ReceiveCQE
				}
				return true
			})},
		{"receive-twice", "completes a receive again for a copy", "UDSR-CMP-004", "copies",
			func() hooks {
				return hooks{arrive: func(e *end, d *iwarp.Datagram) bool {
					if e.seen[place(&d.Segment)]++; e.seen[place(&d.Segment)] == 2 && e.last.Kind == engine.ReceiveCQE {
						e.events = append(e.events, e.last)
					}
					return true
				}, event: func(e *end, ev *engine.Event) bool {
					if ev.Kind == engine.ReceiveCQE {
						e.last = *ev
					}
					return true
				}}
			}},
		{"receive-uncounted", "does not count what finds no receive", "UDSR-MAT-002", "no-receive",
			func() hooks {
				return hooks{vars: func(_ *end, v *engine.Var) {
					if v.Name == "no_receive" {
						v.Value = 0
					}
				}}
			}},
	}
}

// recordRecipes are the targets that answer, declare or forget at the wrong time.
func recordRecipes() []recipe {
	return []recipe{
		{"record-answered", "answers", "WREC-SRC-002", "records",
			func() hooks {
				return hooks{arrive: func(e *end, d *iwarp.Datagram) bool {
					if !d.Segment.Tagged {
						return true // an answer
					}
					s := iwarp.Segment{Opcode: iwarp.Send, DDP: iwarp.Version, RDMAP: iwarp.Version, MSN: 1, Last: true}
					e.answers = append(e.answers, iwarp.AppendDatagram(nil, iwarp.PortOf(e.qp.QPN), iwarp.Port, &s))
					return true
				}}
			}},
		{"record-declared-early", "declares each segment when it arrives", "WREC-LAST-001 WREC-LAST-002",
			"holes last-lost",
			func() hooks {
				return hooks{arrive: func(e *end, d *iwarp.Datagram) bool {
					s := &d.Segment
					if s.Tagged {
						e.events = append(e.events, engine.Event{Kind: engine.Declared, ID: uint64(s.Record.ID),
							VA: s.TO, Len: uint32(len(s.Payload)), Peer: d.Src})
					}
					return true
				}, event: func(_ *end, ev *engine.Event) bool { return ev.Kind != engine.Declared }}
			}},
		{"record-log-kept", "never forgets a message", "WREC-ID-002", "last-lost",
			func() hooks {
				return hooks{vars: func(e *end, v *engine.Var) {
					if v.Name == "messages" {
						e.most = max(e.most, v.Value)
						v.Value = e.most
					}
				}}
			}},
		{"record-map-grown", "declares a byte that it has not got", "WREC-LOG-002", "holes",
			tells(func(_ *end, ev *engine.Event) bool {
				if ev.Kind == engine.Declared {
					ev.Len++
				}
				return true
			})},
	}
}

// mapRecipes are the targets that declare other bytes than were placed, or report false events.
func mapRecipes() []recipe {
	return []recipe{
		{"record-map-mixed", "gives entries of their own the mark of a map", "WREC-LOG-003", "holes",
			tells(func(_ *end, ev *engine.Event) bool { ev.More = ev.Kind == engine.Declared; return true })},
		{"record-map-short", "leaves out a chunk", "WREC-LOG-001", "holes",
			tells(func(e *end, ev *engine.Event) bool {
				if ev.Kind == engine.Declared {
					e.count++
				}
				return ev.Kind != engine.Declared || e.count != 2
			})},
		{"record-misnamed", "declares one message under the number of another", "WREC-ID-001", "last-early",
			tells(func(_ *end, ev *engine.Event) bool {
				if ev.Kind == engine.Declared {
					ev.ID ^= 1
				}
				return true
			})},
		{"record-misplaced", "writes one byte too far", "WREC-PLC-001", "holes",
			func() hooks {
				return hooks{store: func(va *uint64, data []byte) []byte { *va++; return data[:len(data)] }}
			}},
		{"record-twice", "declares a message of one datagram in two entries", "WREC-ONE-002", "records",
			tells(func(e *end, ev *engine.Event) bool {
				if ev.Kind == engine.Declared && ev.Len > 1 {
					second := *ev
					ev.Len /= 2
					second.VA, second.Len = ev.VA+uint64(ev.Len), second.Len-ev.Len
					e.events = append(e.events, second)
				}
				return true
			})},
		{"record-unchecked", "does not check steering tags", "WREC-PLC-002", "forged", func() hooks {
			return hooks{permit: true}
		}},
		{"places-damaged", "damages what it places", "UDSR-CMP-002", "shuffled",
			func() hooks {
				return hooks{store: func(_ *uint64, data []byte) []byte {
					if len(data) > 0 {
						data[0] ^= 1
					}
					return data
				}}
			}},
		{"error-unprovoked", "reports an error when nothing has arrived", "UDSR-TMO-002", "blackhole",
			func() hooks {
				return hooks{receive: func(e *end, _ *engine.ReceiveRequest) bool {
					if e.count++; e.count == 1 {
						e.events = append(e.events, engine.Event{Kind: engine.Refused, Status: engine.StatusRemoteOp})
					}
					return true
				}}
			}},
		{"wrong-peer", "reports another source", "DIW-QP-002", "many",
			tells(func(_ *end, ev *engine.Event) bool { ev.Peer++; return true })},
	}
}
