package diw

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

var controlWord = define(rule.Rule{
	ID: "DIW-HDR-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "Control word: DDP version 1, RDMAP version 1, reserved bits zero, T per model, L on the last segment only",
	Source: rule.Source{Ref: "RFC 5041 4, RFC 5040 4.1", Requirement: "The DDP and RDMAP versions are 1, reserved bits are set to " +
		"zero, and L is set in the last segment of a message"},
	Needs: rule.TapRequester, Stimulus: "every operation and length", BlackBox: "SIW,ENG",
	New: func(c *rule.Context) rule.Check {
		next := map[iwarp.Opcode]*iwarp.Segment{} // the latest of each kind
		w := watch{c: c, sent: func(d *datagram) {
			if d.err != nil && !d.damaged() {
				return
			}
			c.Met()
			s := d.Segment
			switch {
			case s.DDP != iwarp.Version || s.RDMAP != iwarp.Version:
				c.FailAt(d.at, d.record, rule.Requester, "a version is not 1: "+s.String())
			case s.Reserved != 0:
				c.FailAt(d.at, d.record, rule.Requester, "reserved bits are set: "+s.String())
			case s.Tagged != s.Opcode.Tagged():
				c.FailAt(d.at, d.record, rule.Requester, "bit T is not that of the operation: "+s.String())
			case s.Opcode == iwarp.WriteRecord && s.Last != (uint64(s.Record.Off)+uint64(len(s.Payload)) == uint64(s.Record.Len)):
				c.FailAt(d.at, d.record, rule.Requester, "bit L is not that of the last segment: "+s.String())
			case s.Opcode == iwarp.Send && next[s.Opcode] != nil && next[s.Opcode].Last == (next[s.Opcode].MSN == s.MSN):
				c.FailAt(d.at, d.record, rule.Requester, "bit L of the segment before was not that of a last one: "+next[s.Opcode].String())
			}
			s.Payload = nil
			next[s.Opcode] = &s
		}}
		return w.check()
	},
})

var headerFields = define(rule.Rule{
	ID: "DIW-HDR-002", Level: rule.Must, Rests: validity.Sequence,
	Title: "The tagged header has 14 bytes and the untagged 18, with fields as defined",
	Source: rule.Source{Ref: "RFC 5041 4", Requirement: "The tagged buffer header holds STag and TO, the untagged one QN, MSN and MO; " +
		"the first message of a queue has MSN 1"},
	Needs: rule.TapRequester, Stimulus: "every operation and length", BlackBox: "SIW,ENG",
	New: func(c *rule.Context) rule.Check {
		sends, to := uint32(0), map[uint32]uint64{}
		w := watch{c: c, sent: func(d *datagram) {
			s := &d.Segment
			fail := func(text string) { c.FailAt(d.at, d.record, rule.Requester, text+": "+s.String()) }
			if d.err != nil {
				if !d.damaged() {
					c.FailAt(d.at, d.record, rule.Requester, "no segment: "+d.err.Error())
				}
				return
			}
			c.Met()
			switch {
			case s.Tagged && s.Opcode == iwarp.WriteRecord:
				base, known := to[s.Record.ID]
				if known && base != s.TO-uint64(s.Record.Off) {
					fail("TO does not move with the offset in the message")
				}
				if len(to) == keep {
					clear(to)
				}
				if to[s.Record.ID] = s.TO - uint64(s.Record.Off); s.Record.Flags != 0 {
					fail("reserved bits of the record header are set")
				}
			case s.Opcode != iwarp.Send:
			case s.QN != iwarp.QueueSend || s.STag != 0:
				fail("queue or reserved field is not zero")
			case s.MSN != sends && s.MSN != sends+1 || s.MSN == 0:
				fail("MSN does not count from 1, by one for each message")
			}
			if s.Opcode == iwarp.Send {
				sends = s.MSN
			}
		}}
		return w.check()
	},
})

var noFraming = define(rule.Rule{
	ID: "DIW-HDR-003", Level: rule.MustNot, Rests: validity.Frames,
	Title:  "Datagrams carry no MPA length, no markers and no handshake",
	Source: paper("IV-B", "It should be noted that datagram-iWARP does not require the MPA [4] layer."),
	Needs:  rule.TapRequester, Stimulus: "any traffic",
	New: func(c *rule.Context) rule.Check {
		w := watch{c: c, sent: func(d *datagram) {
			c.Met()
			if what := framed(d.bytes); what != "" {
				c.FailAt(d.at, d.record, rule.Requester, what)
			}
		}}
		return w.check()
	},
})

// framed says which part of MPA a datagram carries, "" when it has none.
func framed(b []byte) string {
	if len(b) < iwarp.UDPLen+2+iwarp.TaggedLen+iwarp.CRCLen {
		return ""
	}
	body := b[iwarp.UDPLen:]
	if bytes.HasPrefix(body, []byte("MPA ID Re")) {
		return "an MPA connection frame"
	}
	var at, behind iwarp.Segment
	plain := at.Decode(body) == nil && at.DDP == iwarp.Version && at.RDMAP == iwarp.Version && at.Opcode.Known()
	length := int(binary.BigEndian.Uint16(body))
	if !plain && length <= len(body)-2 && length >= len(body)-2-iwarp.CRCLen-3 &&
		behind.Decode(body[2:]) == nil && behind.DDP == iwarp.Version && behind.RDMAP == iwarp.Version {
		return "an MPA length before the segment"
	}
	return ""
}

var crcPresent = define(rule.Rule{
	ID: "DIW-CRC-001", Level: rule.Must, Rests: validity.Frames,
	Title:  "Every datagram ends with the CRC32c of its segment",
	Source: paper("IV-B, 6", "Datagram-iWARP always requires the use of Cyclic Redundancy Check (CRC32) when sending messages."),
	Needs:  rule.TapRequester, Stimulus: "any traffic",
	New: func(c *rule.Context) rule.Check {
		w := watch{c: c, sent: func(d *datagram) {
			c.Met()
			if d.damaged() {
				c.FailAt(d.at, d.record, rule.Requester, "the CRC is missing or wrong; that of the segment expected")
			}
		}}
		return w.check()
	},
})

var crcChecked = define(rule.Rule{
	ID: "DIW-CRC-002", Level: rule.Must,
	Title:  "A segment whose CRC is wrong is dropped and counted, and nothing of it is placed",
	Source: paper("V", "In addition, it requires the use of CRC at the DDP layer to ensure correct reception of individual packets."),
	Needs:  rule.TapResponder | rule.Stores | rule.Probes, Stimulus: "a corrupted datagram",
	New: func(c *rule.Context) rule.Check {
		bad, counted := map[uint32]bool{}, int64(0)
		var damaged int64
		w := watch{c: c, damaged: func(d *datagram) {
			c.Met()
			damaged++
			if n := len(d.Segment.Payload); n > 0 && len(bad) < keep {
				bad[crc32.ChecksumIEEE(d.Segment.Payload)] = true
			}
		}, came: func(_ *datagram, _ *message, p *part) {
			if p != nil {
				delete(bad, p.sum) // the same bytes came intact
			}
		}, told: func(e *trace.Event, _ *message) {
			switch {
			case c.Mine(e):
			case e.Kind == trace.Store && bad[e.Sum]:
				c.Failf(rule.Responder, "places %d bytes of a damaged segment at %#x", e.Len, e.VA)
			case e.Kind == trace.Probe && e.Name == "crc_errors":
				counted = e.Value
			}
		}}
		w.end = func() {
			if counted < damaged {
				c.Failf(rule.Responder, "counts %d damaged segments of %d", counted, damaged)
			}
		}
		return w.check()
	},
})

var datagramLimit = define(rule.Rule{
	ID: "DIW-SEG-001", Level: rule.Must, Rests: validity.Frames,
	Title:  "A UDP payload has 65507 bytes at most; longer messages are segmented by the stack",
	Source: paper("IV-B", "Although for UD RDMA operations it is possible to perform reassembly of larger messages in the iWARP stack."),
	Needs:  rule.TapRequester, Stimulus: "messages of 64 KiB and more",
	New: func(c *rule.Context) rule.Check {
		w := watch{c: c, sent: func(d *datagram) {
			s := &d.Segment
			if n := len(d.bytes) - iwarp.UDPLen; n > iwarp.MaxDatagram || d.err != nil && n > 0xFFFF-iwarp.UDPLen {
				c.FailAt(d.at, d.record, rule.Requester, "a UDP payload of "+decimal(uint64(n))+" bytes")
			} else if d.err == nil && (s.MO > 0 || s.Record.Off > 0) {
				c.Met()
			}
		}}
		return w.check()
	},
})

var coverOnce = define(rule.Rule{
	ID: "DIW-SEG-002", Level: rule.Must, Rests: validity.Sequence,
	Title: "The segments of a message cover it exactly once, in ascending order when they are sent",
	Source: rule.Source{Ref: "RFC 5041 5.1", Requirement: "The data source segments the message in ascending order of offset, and every " +
		"byte is in one segment"},
	Needs: rule.TapRequester, Stimulus: "messages of 1 MB",
	New: func(c *rule.Context) rule.Check {
		at := map[bool]*progress{true: {}, false: {}}
		w := watch{c: c, sent: func(d *datagram) {
			s := &d.Segment
			if d.err != nil || s.Opcode != iwarp.Send && s.Opcode != iwarp.WriteRecord {
				return
			}
			if why := at[s.Tagged].step(s); why != "" {
				c.FailAt(d.at, d.record, rule.Requester, why+": "+s.String())
			}
			if s.Last && (s.MO > 0 || s.Record.Off > 0) {
				c.Met()
			}
		}}
		return w.check()
	},
})

// progress is where the source of one kind of message is.
type progress struct {
	number, next uint32
	open         bool
}

// step moves past a segment, and says what is wrong about its place.
func (p *progress) step(s *iwarp.Segment) (why string) {
	number, off := s.MSN, s.MO
	if s.Tagged {
		number, off = s.Record.ID, s.Record.Off
	}
	switch same := p.open && number == p.number; {
	case same && off < p.next:
		why = "bytes are sent twice"
	case same && off > p.next, !same && off > 0:
		why = "bytes are left out"
	case !same && p.open:
		why = "the message before has no last segment"
	}
	p.number, p.next, p.open = number, off+uint32(len(s.Payload)), !s.Last
	return why
}
