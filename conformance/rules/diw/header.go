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
	Title: "Control word: DDP version 1, RDMAP version 1, reserved bits zero, T for tagged, L on the last segment",
	Source: rule.Source{Ref: "RFC 5041 4, RFC 5040 4.1", Requirement: "The DDP and RDMAP versions are 1, reserved bits " +
		"are set to zero, and L is set in the last segment of a message"},
	Needs: rule.TapRequester, Stimulus: "every operation and length", BlackBox: "SIW,ENG",
	New: watching(func(w *watch) {
		var before *iwarp.Segment // the latest SEND
		w.sent = func(d *datagram) {
			if d.err != nil && !d.damaged() {
				return
			}
			w.Met()
			s := d.Segment
			send := s.Opcode.IsSend()
			switch {
			case s.DDP != iwarp.Version || s.RDMAP != iwarp.Version:
				w.wrong(d, "a version is not 1: %s", s.String())
			case s.Reserved != 0:
				w.wrong(d, "reserved bits are set: %s", s.String())
			case s.Tagged != s.Opcode.Tagged():
				w.wrong(d, "bit T does not match the operation: %s", s.String())
			case s.Opcode == iwarp.WriteRecord &&
				s.Last != (uint64(s.Record.Off)+uint64(len(s.Payload)) == uint64(s.Record.Len)):
				w.wrong(d, "bit L does not match the segment's place: %s", s.String())
			case send && before != nil && before.Last == (before.MSN == s.MSN):
				w.wrong(d, "bit L of the previous segment did not match its place: %s", before.String())
			}
			if s.Payload = nil; send {
				before = &s
			}
		}
	}),
})

var headerFields = define(rule.Rule{
	ID: "DIW-HDR-002", Level: rule.Must, Rests: validity.Sequence,
	Title: "The tagged header has 14 bytes and the untagged 18, with fields as defined",
	Source: rule.Source{Ref: "RFC 5041 4", Requirement: "The tagged buffer header holds STag and TO, the untagged " +
		"one QN, MSN and MO; the first message of a queue has MSN 1"},
	Needs: rule.TapRequester, Stimulus: "every operation and length", BlackBox: "SIW,ENG",
	New: watching(func(w *watch) {
		sends, to := uint32(0), map[uint32]uint64{} // the latest MSN of a SEND; start addresses of Write-Records, by ID
		w.sent = func(d *datagram) {
			s := &d.Segment
			if d.err != nil {
				if !d.damaged() {
					w.wrong(d, "not a segment: %v", d.err)
				}
				return
			}
			w.Met()
			switch base, known := to[s.Record.ID]; {
			case s.Tagged && s.Opcode == iwarp.WriteRecord:
				if known && base != s.TO-uint64(s.Record.Off) {
					w.wrong(d, "TO does not advance with the offset in the message: %s", s.String())
				}
				if len(to) == keep {
					clear(to)
				}
				if to[s.Record.ID] = s.TO - uint64(s.Record.Off); s.Record.Flags != 0 {
					w.wrong(d, "reserved bits of the record header are set: %s", s.String())
				}
			case !s.Opcode.IsSend():
				return
			case s.QN != iwarp.QueueSend || s.STag != 0 && !s.Opcode.Invalidates():
				w.wrong(d, "queue or reserved field is not zero: %s", s.String())
			case s.MSN != sends && s.MSN != sends+1 || s.MSN == 0:
				w.wrong(d, "MSN does not count from 1, by one for each message: %s", s.String())
			}
			if s.Opcode.IsSend() {
				sends = s.MSN
			}
		}
	}),
})

var noFraming = define(rule.Rule{
	ID: "DIW-HDR-003", Level: rule.MustNot, Rests: validity.Frames,
	Title:  "Datagrams carry no MPA length, no markers and no handshake",
	Source: paper("IV-B", "It should be noted that datagram-iWARP does not require the MPA [4] layer."),
	Needs:  rule.TapRequester, Stimulus: "any traffic",
	New: watching(func(w *watch) {
		w.sent = func(d *datagram) {
			w.Met()
			if what := framed(d.bytes); what != "" {
				w.wrong(d, "%s", what)
			}
		}
	}),
})

// framed returns the part of MPA that a datagram carries; "" when there is none.
func framed(b []byte) string {
	if len(b) < iwarp.UDPLen+2+iwarp.TaggedLen+iwarp.CRCLen {
		return ""
	}
	body := b[iwarp.UDPLen:]
	if bytes.HasPrefix(body, []byte("MPA ID Re")) {
		return "an MPA connection frame"
	}
	var s iwarp.Segment
	plain := s.Decode(body) == nil && s.DDP == iwarp.Version && s.RDMAP == iwarp.Version && s.Opcode.Known()
	rest, marked := bytes.CutPrefix(body, []byte{0, 0, 0, 0})
	switch {
	case plain:
	case isFPDU(body):
		return "an MPA length before the segment"
	case marked && isFPDU(rest):
		return "an MPA marker before the segment"
	}
	return ""
}

// isFPDU reports whether b is a segment behind its MPA length, with or without padding and a CRC.
func isFPDU(b []byte) bool {
	if len(b) < 2 {
		return false
	}
	var s iwarp.Segment
	length := int(binary.BigEndian.Uint16(b))
	return length <= len(b)-2 && length >= len(b)-2-iwarp.CRCLen-3 &&
		s.Decode(b[2:]) == nil && s.DDP == iwarp.Version && s.RDMAP == iwarp.Version
}

var crcPresent = define(rule.Rule{
	ID: "DIW-CRC-001", Level: rule.Must, Rests: validity.Frames,
	Title: "Every datagram ends with the CRC32c of its segment",
	Source: paper("IV-B, 6",
		"Datagram-iWARP always requires the use of Cyclic Redundancy Check (CRC32) when sending messages."),
	Needs: rule.TapRequester, Stimulus: "any traffic",
	New: watching(func(w *watch) {
		w.sent = func(d *datagram) {
			if w.Met(); d.damaged() {
				w.wrong(d, "the CRC of the segment is missing or wrong")
			}
		}
	}),
})

var crcChecked = define(rule.Rule{
	ID: "DIW-CRC-002", Level: rule.Must,
	Title: "A segment whose CRC is wrong is dropped and counted, and none of its bytes is placed",
	Source: paper("V",
		"In addition, it requires the use of CRC at the DDP layer to ensure correct reception of individual packets."),
	Needs: rule.TapResponder | rule.Stores | rule.Probes, Stimulus: "a corrupted datagram",
	New: watching(func(w *watch) {
		// checksums of segments that arrived damaged only; number of damaged segments
		bad, damaged := map[uint32]bool{}, int64(0)
		w.damaged = func(d *datagram) {
			w.Met()
			damaged++
			if n := len(d.Segment.Payload); n > 0 && len(bad) < keep {
				bad[crc32.ChecksumIEEE(d.Segment.Payload)] = true
			}
		}
		w.came = func(_ *datagram, _ *message, p *part) {
			if p != nil {
				delete(bad, p.sum)
			}
		}
		w.told = func(e *trace.Event, _ *message) {
			if e.Kind == trace.Store && bad[e.Sum] {
				w.Failf(rule.Responder, "places %d bytes of a damaged segment at %#x", e.Len, e.VA)
			}
		}
		w.end = func() {
			if counted := w.probes["crc_errors"]; counted < damaged {
				w.Failf(rule.Responder, "counts %d damaged segments of %d", counted, damaged)
			}
		}
	}),
})

var datagramLimit = define(rule.Rule{
	ID: "DIW-SEG-001", Level: rule.Must, Rests: validity.Frames,
	Title: "A UDP payload has at most 65507 bytes; the stack segments longer messages",
	Source: paper("IV-B", "Although for UD RDMA operations it is possible to perform reassembly of larger "+
		"messages in the iWARP stack."),
	Needs: rule.TapRequester, Stimulus: "messages of 64 KiB and more",
	New: watching(func(w *watch) {
		w.sent = func(d *datagram) {
			if n := len(d.bytes) - iwarp.UDPLen; n > iwarp.MaxDatagram || d.err != nil && n > 0xFFFF-iwarp.UDPLen {
				w.wrong(d, "a UDP payload of %d bytes", n)
			} else if _, off := d.place(); d.err == nil && off > 0 {
				w.Met()
			}
		}
	}),
})

var coverOnce = define(rule.Rule{
	ID: "DIW-SEG-002", Level: rule.Must, Rests: validity.Sequence,
	Title: "The segments of a message cover it exactly once, in ascending order of sending",
	Source: rule.Source{Ref: "RFC 5041 5.1", Requirement: "The data source segments the message in ascending order " +
		"of offset, and every byte is in one segment"},
	Needs: rule.TapRequester, Stimulus: "messages of 1 MB",
	New: watching(func(w *watch) {
		at := map[bool]*progress{true: {}, false: {}} // of Write-Records, and of SENDs
		w.sent = func(d *datagram) {
			s := &d.Segment
			if d.err != nil || !s.Opcode.IsSend() && s.Opcode != iwarp.WriteRecord {
				return
			}
			number, off := d.place()
			if why := at[s.Tagged].step(number, off, s); why != "" {
				w.wrong(d, "%s: %s", why, s.String())
			}
			if s.Last && off > 0 {
				w.Met()
			}
		}
	}),
})

// progress is the position of the source in one kind of message.
type progress struct {
	number, next uint32 // message of the latest segment, and offset after it
	open         bool   // its last segment has not been sent
}

// step processes a segment and returns the fault of its place; "" when there is none.
func (p *progress) step(number, off uint32, s *iwarp.Segment) (why string) {
	switch same := p.open && number == p.number; {
	case same && off < p.next:
		why = "bytes are sent twice"
	case same && off > p.next, !same && off > 0:
		why = "bytes are left out"
	case !same && p.open:
		why = "the previous message has no last segment"
	}
	p.number, p.next, p.open = number, off+uint32(len(s.Payload)), !s.Last
	return why
}
