package pseudoack

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

func isACK(p *roce.Packet) bool { return p.Opcode == roce.Acknowledge && p.AETH.Syndrome.IsACK() }

func isNAK(p *roce.Packet) bool {
	return p.Opcode == roce.Acknowledge && p.AETH.Syndrome == roce.SyndromePSNSeqErr
}

func isData(o roce.Opcode) bool { return o == roce.AtomicAck || o.IsReadResponse() }

// message returns the kind of a CM message, 0 if the packet is none.
func message(p *roce.Packet) roce.CMAttribute {
	if p.DestQP != roce.CMQueuePair {
		return 0
	}
	h, _, err := roce.DecodeCM(p.Payload)
	if err != nil {
		return 0
	}
	return h.Attribute
}

// acks sets a hook that changes the pseudo-ACKs.
func acks(change func(f *roce.Frame)) func(*shell) {
	return func(s *shell) {
		s.out = func(to engine.Port, f *roce.Frame) bool {
			if to == engine.LAN && isACK(&f.Packet) {
				change(f)
			}
			return true
		}
	}
}

// requests sets a hook that changes the requests sent to Remote; again reports a retransmission.
func requests(change func(f *roce.Frame, again bool)) func(*shell) {
	return func(s *shell) {
		next, begun := psn.PSN(0), false
		s.out = func(to engine.Port, f *roce.Frame) bool {
			p := &f.Packet
			if to == engine.WAN && p.Opcode.Class() == roce.ClassRC && p.Opcode.IsRequest() {
				again := begun && p.PSN.Less(next)
				if !again {
					next, begun = p.PSN.Next(), true
				}
				change(f, again)
			}
			return true
		}
	}
}

// arrivals sets a hook on arriving frames; if it returns false, the box does not get the frame.
func arrivals(hook func(s *shell, from engine.Port, f *roce.Frame) bool) func(*shell) {
	return func(s *shell) {
		s.in = func(from engine.Port, f *roce.Frame) bool { return hook(s, from, f) }
	}
}

// lies sets a hook that changes the reported values of a variable.
func lies(name string, change func(int64) int64) func(*shell) {
	return func(s *shell) {
		s.event = func(e *engine.BoxEvent) {
			if e.Name == name {
				e.Value = change(e.Value)
			}
		}
	}
}

// aboutAnswers are the variants that send wrong answers to Local.
func aboutAnswers() []recipe {
	return []recipe{
		{name: "ack-ahead", breaks: "acknowledges the request after the received one", catches: "PACK-PSN-001",
			scenario: "writes",
			tamper:   acks(func(f *roce.Frame) { f.Packet.PSN = f.Packet.PSN.Next() })},
		{name: "ack-backwards", breaks: "repeats an older ACK after the newest", catches: "PACK-TRN-002",
			scenario: "writes",
			tamper: func(s *shell) {
				acks(func(f *roce.Frame) {
					if s.last.Packet.DestQP != 0 {
						s.add(engine.LAN, &s.last)
					}
				})(s)
			}},
		{name: "ack-icrc", breaks: "sends ACKs with a wrong ICRC", catches: "PACK-ICRC-001", scenario: "writes",
			frame: func(to engine.Port, frame []byte) []byte {
				var f roce.Frame
				if f.Decode(frame) == nil && to == engine.LAN && isACK(&f.Packet) {
					frame[len(frame)-1] ^= 1
				}
				return frame
			}},
		{name: "ack-late", breaks: "acknowledges only after Remote has acknowledged", catches: "PACK-LAT-001",
			scenario: "writes", tamper: late},
		{name: "ack-msn", breaks: "counts one message too many", catches: "PACK-MSN-001", scenario: "writes",
			tamper: acks(func(f *roce.Frame) { f.Packet.AETH.MSN = f.Packet.AETH.MSN.Next() })},
		{name: "ack-past-read", breaks: "acknowledges a WRITE behind a READ at once", catches: "PACK-READ-001",
			scenario: "read", tamper: pastRead},
		{name: "ack-port", breaks: "sends ACKs from another port than Remote", catches: "PACK-EQ-001",
			scenario: "writes",
			tamper:   acks(func(f *roce.Frame) { f.SrcPort++ })},
		{name: "ack-qpn", breaks: "sends ACKs to another QP", catches: "PACK-QPN-001", scenario: "writes",
			tamper: acks(func(f *roce.Frame) { f.Packet.DestQP++ })},
	}
}

// aboutTiming are the variants that answer Local at the wrong time, or not at all.
func aboutTiming() []recipe {
	return []recipe{
		{name: "ack-stale", breaks: "answers once more when the connection has ended", catches: "PACK-LRN-003",
			scenario: "writes",
			tamper: arrivals(func(s *shell, _ engine.Port, f *roce.Frame) bool {
				if message(&f.Packet) == roce.CMDREP {
					s.add(engine.LAN, &s.last)
				}
				return true
			})},
		{name: "ack-twice", breaks: "forwards the real ACKs as well", catches: "PACK-SUP-001", scenario: "writes",
			tamper: arrivals(func(s *shell, from engine.Port, f *roce.Frame) bool {
				if from == engine.WAN && isACK(&f.Packet) {
					s.add(engine.LAN, f)
				}
				return true
			})},
		{name: "deferred-never", breaks: "never sends the ACKs that it held back for a READ", catches: "PACK-READ-002",
			scenario: "read",
			tamper: func(s *shell) {
				answered := false
				s.out = func(to engine.Port, f *roce.Frame) bool {
					answered = answered || to == engine.LAN && isData(f.Packet.Opcode) && f.Packet.Opcode.EndsMessage()
					return !answered || to != engine.LAN || f.Packet.Opcode != roce.Acknowledge
				}
			}},
		{name: "guesses", breaks: "answers before it knows QPN and MSN", catches: "PACK-LRN-002", scenario: "no-set-up",
			tamper: arrivals(func(s *shell, from engine.Port, f *roce.Frame) bool {
				if from == engine.LAN && f.Packet.Opcode.IsRequest() && s.last.Packet.DestQP == 0 {
					g := *f
					g.Src, g.Dst, g.SrcMAC, g.DstMAC = f.Dst, f.Src, f.DstMAC, f.SrcMAC
					g.Packet = roce.Packet{BTH: roce.BTH{Opcode: roce.Acknowledge, PKey: f.Packet.PKey, DestQP: 0x99,
						PSN: f.Packet.PSN}, AETH: roce.AETH{Syndrome: roce.SyndromeACK}}
					s.add(engine.LAN, &g)
				}
				return true
			})},
		{name: "nak-twice", breaks: "sends the NAK of a gap twice", catches: "PACK-GAP-001", scenario: "lan-loss",
			tamper: func(s *shell) {
				s.out = func(to engine.Port, f *roce.Frame) bool {
					if to == engine.LAN && isNAK(&f.Packet) {
						s.add(engine.LAN, f)
					}
					return true
				}
			}},
	}
}

// late holds each pseudo-ACK until an ACK of Remote arrives.
func late(s *shell) {
	var kept []roce.Frame
	s.out = func(to engine.Port, f *roce.Frame) bool {
		if to == engine.LAN && isACK(&f.Packet) {
			kept = append(kept, *f)
			return false
		}
		return true
	}
	s.in = func(from engine.Port, f *roce.Frame) bool {
		if from == engine.WAN && isACK(&f.Packet) {
			for i := range kept {
				s.add(engine.LAN, &kept[i])
			}
			kept = nil
		}
		return true
	}
}

// pastRead acknowledges every request with AckReq while a READ is outstanding.
func pastRead(s *shell) {
	reading := false
	s.in = func(from engine.Port, f *roce.Frame) bool {
		o := f.Packet.Opcode
		reading = from == engine.LAN && o.IsRead() || reading && !(from == engine.WAN && isData(o))
		if reading && from == engine.LAN && o.IsWrite() && f.Packet.AckReq {
			a := s.last
			a.Packet.PSN, a.Packet.AETH.MSN = f.Packet.PSN, a.Packet.AETH.MSN.Add(2)
			s.add(engine.LAN, &a)
		}
		return true
	}
}

// aboutPassing are the variants that change or forward frames wrongly.
func aboutPassing() []recipe {
	return []recipe{
		{name: "passes-changed", breaks: "asks for a solicited event with every request", catches: "PACK-TRN-001",
			scenario: "writes",
			tamper:   requests(func(f *roce.Frame, _ bool) { f.Packet.SE = true })},
		{name: "passes-data-changed", breaks: "changes the data of READs", catches: "PACK-READ-003", scenario: "read",
			tamper: func(s *shell) {
				s.out = func(to engine.Port, f *roce.Frame) bool {
					if p := &f.Packet; to == engine.LAN && p.Opcode.IsReadResponse() && len(p.Payload) > 0 {
						p.Payload[0] ^= 1
					}
					return true
				}
			}},
		{name: "passes-duplicates", breaks: "forwards Local's retransmissions", catches: "PACK-DUP-001",
			scenario: "lan-ack-lost",
			tamper: func(s *shell) {
				next, begun := psn.PSN(0), false
				s.in = func(from engine.Port, f *roce.Frame) bool {
					p := &f.Packet
					if from != engine.LAN || p.Opcode.Class() != roce.ClassRC || !p.Opcode.IsRequest() {
						return true
					}
					if begun && p.PSN.Less(next) {
						s.add(engine.WAN, f)
					}
					next, begun = p.PSN.Next(), true
					return true
				}
			}},
		{name: "passes-naks", breaks: "leaves the recovery from WAN loss to Local", catches: "PACK-REC-001",
			scenario: "wan-loss",
			tamper: arrivals(func(s *shell, from engine.Port, f *roce.Frame) bool {
				if from == engine.WAN && isNAK(&f.Packet) {
					s.add(engine.LAN, f)
					return false
				}
				return true
			})},
		{name: "passes-set-up-changed", breaks: "writes into set-up messages", catches: "PACK-CM-001",
			scenario: "writes",
			tamper: func(s *shell) {
				s.out = func(to engine.Port, f *roce.Frame) bool {
					if p := &f.Packet; to == engine.WAN && message(p) == roce.CMREQ {
						p.Payload[len(p.Payload)-1] ^= 1
					}
					return true
				}
			}},
		{name: "starts-from-req", breaks: "takes the Starting PSN of the REQ for Local's", catches: "PACK-LRN-001",
			scenario: "start-psn", tamper: fromREQ},
	}
}

// fromREQ gives the box a REP with the PSN of the REQ, and forwards the real REP.
func fromREQ(s *shell) {
	var start psn.PSN
	var real []byte
	s.in = func(from engine.Port, f *roce.Frame) bool {
		h, m, _ := roce.DecodeCM(f.Packet.Payload)
		switch m := m.(type) {
		case *roce.REQ:
			start = m.StartingPSN
		case *roce.REP:
			real = append([]byte(nil), f.Packet.Payload...)
			m.StartingPSN = start
			f.Packet.Payload = roce.AppendCM(nil, h.TID, m)
		}
		return true
	}
	s.out = func(to engine.Port, f *roce.Frame) bool {
		if to == engine.LAN && message(&f.Packet) == roce.CMREP {
			f.Packet.Payload = real
		}
		return true
	}
}

// aboutRecovery are the variants that break their promises.
func aboutRecovery() []recipe {
	return []recipe{
		{name: "recovers-badly", breaks: "sends other bytes in a retransmission", catches: "PACK-INT-001",
			scenario: "wan-loss",
			tamper: requests(func(f *roce.Frame, again bool) {
				if again && len(f.Packet.Payload) > 0 {
					f.Packet.Payload[0] ^= 1
				}
			})},
		{name: "recovers-hastily", breaks: "does not wait for the RNR timer", catches: "PACK-REC-003", scenario: "rnr",
			tamper: arrivals(func(_ *shell, from engine.Port, f *roce.Frame) bool {
				if p := &f.Packet; from == engine.WAN && p.Opcode == roce.Acknowledge && p.AETH.Syndrome.IsRNR() {
					p.AETH.Syndrome = roce.SyndromePSNSeqErr
				}
				return true
			})},
		{name: "recovers-never", breaks: "has no timer", catches: "PACK-REC-002", scenario: "wan-tail-loss",
			tamper: func(s *shell) { s.still = true }},
		{name: "refusal-ignored", breaks: "takes no notice of a fatal NAK", catches: "PACK-ERR-001",
			scenario: "bad-key",
			tamper: arrivals(func(_ *shell, from engine.Port, f *roce.Frame) bool {
				p := &f.Packet
				return from != engine.WAN || p.Opcode != roce.Acknowledge ||
					p.AETH.Syndrome != roce.SyndromeRemoteAccess
			})},
		{name: "buffer-short", breaks: "buffers fewer requests than it promised", catches: "PACK-BUF-001",
			scenario: "writes",
			tamper:   lies("buf_first", func(v int64) int64 { return int64(psn.PSN(v).Next()) })},
		{name: "buffer-stuck", breaks: "keeps what Remote has acknowledged", catches: "PACK-BUF-003",
			scenario: "small-buffer",
			tamper: func(s *shell) {
				ignored := 0
				s.in = func(from engine.Port, f *roce.Frame) bool {
					if from == engine.WAN && isACK(&f.Packet) && ignored < 8 { // all that come before wan_rto
						ignored++
						return false
					}
					return true
				}
			}},
		{name: "buffer-unbounded", breaks: "promises requests beyond the size of the buffer", catches: "PACK-BUF-002",
			scenario: "small-buffer",
			tamper:   lies("buffer", func(int64) int64 { return 1 })},
	}
}
