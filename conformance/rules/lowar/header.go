package lowar

import (
	"encoding/binary"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/shim"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// sent are the packets of the shim that leave a port, of any connection or none.
const sent = rule.RepairOut | rule.Foreign

// ofShim reports whether s is a packet of the shim that leaves a port, even one that does not decode.
func ofShim(s *rule.Sight) bool {
	b := shim.CodedBytes(s.Raw)
	return s.Out && len(b) > 0 && roce.Opcode(b[0]) == roce.LoWAR
}

var header = define(rule.Rule{
	ID: "LOWAR-HDR-001", Rests: validity.Frames,
	Title: "A repair or negotiation packet begins with 0x1F, the destination QPN and its type, and has no BTH",
	Source: rule.Source{Ref: "LOWAR IV-C, Fig. 8", Requirement: "Repair Header replaces the field where OpCode " +
		"lies within RDMA BTH header with a unique value (0x1F) [...]. It also includes a target QPN field to " +
		"map LoWAR packets to their connections."},
	Needs: rule.TapRequester | rule.Bytes, Sees: sent, Stimulus: "a write",
	New: func(c *rule.Context) rule.Check {
		return rule.Check{Sight: func(s *rule.Sight) {
			if !ofShim(s) {
				return
			}
			c.Met()
			p := s.Pkt
			switch {
			case s.Rec.Conn < 0, peer(c, s) != 0 && p.DestQP != peer(c, s):
				c.Failf(rule.Requester, "DestQP %#x; the peer's expected", p.DestQP)
			case !p.Repair.Type.Known():
				c.Failf(rule.Requester, "type %d, want 1 to 3", p.Repair.Type)
			case s.Defect() != "":
				c.Failf(rule.Requester, "does not decode: %s", s.Defect())
			}
		}}
	},
})

// peer returns the QPN of the end that a packet goes to; 0 when it is not known.
func peer(c *rule.Context, s *rule.Sight) uint32 {
	if s.Rec.From == c.Req {
		return c.PeerAttr.QPN
	}
	return c.Attr.QPN
}

var ports = define(rule.Rule{
	ID: "LOWAR-HDR-002", Rests: validity.Sequence,
	Title:  "The packets of the shim have the UDP ports of their connection",
	Source: rule.Source{Ref: "LOWAR IV-C", Requirement: "LoWAR packets multiplex the UDP port of their connections."},
	Needs:  rule.TapRequester | rule.Bytes, Sees: rule.RepairOut | rule.RequestOut | rule.ResponseOut,
	Stimulus: "a write",
	New: func(c *rule.Context) rule.Check {
		var known [2][4]byte // UDP ports of data and acknowledgements, by sender
		var heard [2]bool
		return rule.Check{Sight: func(s *rule.Sight) {
			off, _, ok := roce.FieldSpan(s.Raw, "udpsport")
			if !ok || len(s.Raw) < off+4 {
				return
			}
			got, side := [4]byte(s.Raw[off:]), s.Rec.From&1
			if s.Pkt.Opcode != roce.LoWAR {
				known[side], heard[side] = got, true
				return
			}
			if !heard[side] {
				return
			}
			c.Met()
			if got != known[side] {
				c.Failf(rule.Requester, "UDP ports %d to %d, want %d to %d as on the connection",
					binary.BigEndian.Uint16(got[:]),
					binary.BigEndian.Uint16(got[2:]), binary.BigEndian.Uint16(known[side][:]),
					binary.BigEndian.Uint16(known[side][2:]))
			}
		}}
	},
})

var fields = define(rule.Rule{
	ID: "LOWAR-HDR-003", Rests: validity.Sequence,
	Title: "A repair packet carries (r, c), bPSN, ISN, N and the parameters of the edges, and they agree with each other",
	Source: rule.Source{Ref: "LOWAR IV-C",
		Requirement: "These metadata, in addition to coding block's (r, c) tuple, includes: (i) bPSN and ISN " +
			"[...]. (ii) parameters for edge conditions, including has_First, has_Last and Last_Length."},
	Needs: rule.TapRequester | rule.Bytes, Sees: sent, Stimulus: "messages of every length",
	Each: func(c *rule.Context, s *rule.Sight) {
		if h := &s.Pkt.Repair; ofShim(s) && h.Type == roce.RepairData {
			c.Met()
			if problem := contradiction(h, s.Raw); problem != "" {
				c.Fail(blame(h.Responses), problem)
			}
		}
	},
})

// contradiction returns the impossible field of a repair header; "" when there is none.
func contradiction(h *roce.Repair, raw []byte) string {
	b := shim.CodedBytes(raw)
	const xorLen, headerLen = 18, 24
	switch {
	case h.Version != roce.RepairVersion:
		return fmt.Sprintf("version %d, want %d", h.Version, roce.RepairVersion)
	case len(b) > 5 && b[5]&1 != 0:
		return "a reserved bit is set, want 0"
	case h.C == 0 || int(h.R) < int(h.C):
		return fmt.Sprintf("(r, c) is (%d, %d), want c from 1 to r", h.R, h.C)
	case h.N == 0 || h.N > h.R:
		return fmt.Sprintf("N %d, want 1 to r = %d", h.N, h.R)
	case int(h.ISN) >= min(int(h.C), int(h.N)):
		return fmt.Sprintf("ISN %d, want less than c = %d and N = %d", h.ISN, h.C, h.N)
	case h.HasLast != (h.LastLen != 0):
		return fmt.Sprintf("has_Last is %v and Last_Length %d; both or neither expected", h.HasLast, h.LastLen)
	case len(b) > headerLen && int(binary.BigEndian.Uint16(b[xorLen:])) != len(b)-headerLen:
		return fmt.Sprintf("length of the XOR payload %d, want %d", binary.BigEndian.Uint16(b[xorLen:]), len(b)-headerLen)
	case len(b)%4 != 0:
		return fmt.Sprintf("%d bytes, want whole words", len(b))
	}
	return ""
}

var sealed = define(rule.Rule{
	ID: "LOWAR-HDR-004", Rests: validity.Frames,
	Title: "The packets of the shim have a valid ICRC, in which byte 4, their type, is not masked",
	Source: rule.Source{Ref: "LOWAR Fig. 8", Requirement: "Repair Packet format: Eth Header, IP Header, UDP " +
		"Header, Repair Header, XOR Payload, ICRC, FCS."},
	Needs: rule.TapRequester | rule.Bytes, Sees: sent, Stimulus: "a write",
	New: func(c *rule.Context) rule.Check {
		return rule.Check{Sight: func(s *rule.Sight) {
			if !ofShim(s) {
				return
			}
			right := roce.CheckICRC(s.Raw)
			if !right && c.Maker(s) == rule.Doubtful {
				c.Doubt("a packet of the shim passed with a wrong ICRC: sent so, or damaged before the tap")
				return
			}
			if c.Met(); !right {
				c.Failf(rule.Requester, "the ICRC of this %s is wrong; it must cover byte 4", s.Pkt.Name())
			}
		}}
	},
})

var dataUnchanged = define(rule.Rule{
	ID: "LOWAR-TRN-001", Rests: validity.Sequence,
	Title: "Data packets leave as the transport made them: no header is added, no reserved bit is used",
	Source: rule.Source{Ref: "LOWAR IV-C",
		Requirement: "We keep outgoing RDMA data packets unchanged, to keep LoWAR’s transparency."},
	Needs: rule.TapRequester | rule.Bytes, Sees: rule.RequestOut | rule.ResponseOut,
	Stimulus: "a run without loss, compared with go-back-N",
	Each: func(c *rule.Context, s *rule.Sight) {
		if !s.Intact() || s.Pkt.Opcode.Class() != roce.ClassRC {
			return
		}
		b, header := shim.CodedBytes(s.Raw), s.Pkt.Opcode.HeaderLen()
		if len(b) < header {
			return
		}
		c.Met()
		plain := *s.Pkt
		plain.Resv6, plain.Resv7, plain.FECN, plain.BECN, plain.TVer = 0, 0, false, false, 0
		at := differs(b[:header], plain.AppendTransport(nil)[:header])
		if s.Pkt.Resv6 != 0 || s.Pkt.FECN || s.Pkt.BECN {
			at = 4
		}
		if at >= 0 || len(b) != plain.TransportLen() {
			c.Failf(blame(s.Point == trace.ResponderOut), "byte %d of the transport header is not that of a "+
				"reliable connection; no change expected", at)
		}
	},
})

// differs returns the first place where a and b differ; -1 when they are equal.
func differs(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	return -1
}

func stockIgnores() rule.Rule {
	r := define(rule.Rule{
		ID:    "LOWAR-TRN-002",
		Title: "An endpoint without the shim ignores its packets, and the connection works",
		Source: rule.Source{Ref: "LOWAR I", Requirement: "LoWAR works transparently, obviating the need for " +
			"modifications to host applications or the network infrastructure."},
		Needs: rule.TapResponder, Sees: rule.RequestIn | rule.ResponseOut | rule.Foreign, Wakes: rule.Odd, Dozes: true,
		Stimulus: "LoWAR at one end and go-back-N at the other",
		New: func(c *rule.Context) rule.Check {
			fresh := false // a packet of the shim has arrived, and no request since
			return rule.Check{Sight: func(s *rule.Sight) {
				switch {
				case c.Decoders[0] != nil || c.Index < 0: // this end has the shim, or the packet is of no connection
				case s.Pkt.Opcode == roce.LoWAR && !s.Out && s.Intact():
					fresh = true
					c.Met()
				case s.Point == trace.ResponderIn:
					fresh = false
				case s.Point == trace.ResponderOut && fresh && refuses(s.Pkt) && !c.GapOpen:
					c.Failf(rule.Responder, "answers a packet of LoWAR with a NAK of %s; silence expected", c.Rel(s.Pkt.PSN))
				}
			}}
		},
	})
	r.Features, r.BlackBox = nil, "HW,RXE"
	return r
}

// refuses reports whether p is a sequence NAK or a fatal NAK.
func refuses(p *roce.Packet) bool {
	return rule.IsNAK(p) || rule.IsFatalNAK(p)
}
