package iwarp

import (
	"fmt"
	"strconv"
	"strings"
)

// attr is one key=value of the text form.
type attr struct {
	name   string
	width  int
	base   int
	always bool                  // print even when it has the usual value
	of     func(*Segment) bool   // whether a segment has the attribute
	usual  func(*Segment) uint64 // default, which does not print
	get    func(*Segment) uint64
	set    func(*Segment, uint64)
}

func tagged(s *Segment) bool   { return s.Tagged }
func untagged(s *Segment) bool { return !s.Tagged }
func record(s *Segment) bool   { return s.Tagged && s.Opcode == WriteRecord }
func every(*Segment) bool      { return true }

func zero(*Segment) uint64    { return 0 }
func version(*Segment) uint64 { return Version }
func queue(s *Segment) uint64 { return uint64(s.Opcode.Queue()) }

// attrs is the grammar, in printing order.
var attrs = [...]attr{
	{"msn", 32, 10, true, untagged, zero, func(s *Segment) uint64 { return uint64(s.MSN) }, func(s *Segment, v uint64) {
		s.MSN = uint32(v)
	}},
	{"mo", 32, 10, true, untagged, zero, func(s *Segment) uint64 { return uint64(s.MO) }, func(s *Segment, v uint64) {
		s.MO = uint32(v)
	}},
	{"msg", 32, 10, true, record, zero, func(s *Segment) uint64 { return uint64(s.Record.ID) },
		func(s *Segment, v uint64) { s.Record.ID = uint32(v) }},
	{"off", 32, 10, true, record, zero, func(s *Segment) uint64 { return uint64(s.Record.Off) },
		func(s *Segment, v uint64) { s.Record.Off = uint32(v) }},
	{"mlen", 32, 10, true, record, zero, func(s *Segment) uint64 { return uint64(s.Record.Len) },
		func(s *Segment, v uint64) { s.Record.Len = uint32(v) }},
	{"stag", 32, 16, false, every, zero, func(s *Segment) uint64 { return uint64(s.STag) }, func(s *Segment, v uint64) {
		s.STag = uint32(v)
	}},
	{"to", 64, 16, false, tagged, zero, func(s *Segment) uint64 { return s.TO },
		func(s *Segment, v uint64) { s.TO = v }},
	{"qn", 32, 10, false, untagged, queue, func(s *Segment) uint64 { return uint64(s.QN) }, func(s *Segment, v uint64) {
		s.QN = uint32(v)
	}},
	{"flags", 32, 16, false, record, zero, func(s *Segment) uint64 { return uint64(s.Record.Flags) },
		func(s *Segment, v uint64) { s.Record.Flags = uint32(v) }},
	{"resv", 16, 16, false, every, zero, func(s *Segment) uint64 { return uint64(s.Reserved) },
		func(s *Segment, v uint64) { s.Reserved = uint16(v) & reservedBits }},
	{"ddp", 2, 10, false, every, version, func(s *Segment) uint64 { return uint64(s.DDP) }, func(s *Segment, v uint64) {
		s.DDP = uint8(v)
	}},
	{"rdmap", 2, 10, false, every, version, func(s *Segment) uint64 { return uint64(s.RDMAP) },
		func(s *Segment, v uint64) { s.RDMAP = uint8(v) }},
}

// Queue returns the queue that an opcode's messages belong to.
func (o Opcode) Queue() uint32 {
	switch o {
	case ReadRequest:
		return QueueRead
	case Terminate:
		return QueueTerminate
	}
	return QueueSend
}

// String returns the text form of AppendText, everything shown.
func (s *Segment) String() string { return string(s.AppendText(nil, true)) }

// AppendText appends the one-line text form that Parse reads: opcode, key=value for attributes without their usual
// value, the length of the payload, and L on a last segment. It shows everything but the bytes of the payload; with all
// false it leaves addresses out, as in a ladder. A segment whose model differs from that of its opcode has the word
// TAGGED or UNTAGGED.
func (s *Segment) AppendText(b []byte, all bool) []byte { return s.appendText(b, all, len(s.Payload)) }

// appendText is AppendText for a payload of n bytes, which the segment need not hold.
func (s *Segment) appendText(b []byte, all bool, n int) []byte {
	b = append(b, s.Opcode.String()...)
	if s.Tagged != s.Opcode.Tagged() {
		b = append(b, map[bool]string{true: " TAGGED", false: " UNTAGGED"}[s.Tagged]...)
	}
	for i := range attrs {
		a := &attrs[i]
		v := a.get(s)
		if !a.of(s) || v == a.usual(s) && !a.always || !all && (a.name == "stag" || a.name == "to") {
			continue
		}
		b = append(append(append(b, ' '), a.name...), '=')
		if a.base == 16 {
			b = append(b, "0x"...)
		}
		b = strconv.AppendUint(b, v, a.base)
	}
	b = strconv.AppendInt(append(b, " len="...), int64(n), 10)
	if s.Last {
		b = append(b, " L"...)
	}
	return b
}

// Parse reads the text form. The payload is len= zeros.
func Parse(text string) (Segment, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return Segment{}, fmt.Errorf("iwarp: segment %q: empty; want an opcode such as WREC", text)
	}
	op, ok := ParseOpcode(words[0])
	if !ok {
		return Segment{}, fmt.Errorf("iwarp: segment %q: unknown opcode %s", text, words[0])
	}
	s := Segment{Opcode: op, Tagged: op.Tagged(), DDP: Version, RDMAP: Version, QN: op.Queue()}
	for _, w := range words[1:] {
		if err := s.word(w); err != nil {
			return Segment{}, fmt.Errorf("iwarp: segment %q: %w", text, err)
		}
	}
	return s, nil
}

// ParseOpcode returns the opcode of a name that String prints.
func ParseOpcode(name string) (Opcode, bool) {
	for o := range Opcode(16) {
		if o.String() == name {
			return o, true
		}
	}
	return 0, false
}

// word reads one word of the text form.
func (s *Segment) word(w string) error {
	switch w {
	case "L":
		s.Last = true
		return nil
	case "TAGGED", "UNTAGGED":
		s.Tagged = w == "TAGGED"
		return nil
	}
	key, value, _ := strings.Cut(w, "=")
	if key == "len" {
		n, err := strconv.ParseUint(value, 10, 16)
		if err != nil || n > MaxDatagram {
			return fmt.Errorf("len=%s: want at most %d", value, MaxDatagram)
		}
		s.Payload = make([]byte, n)
		return nil
	}
	for i := range attrs {
		a := &attrs[i]
		if a.name != key {
			continue
		}
		if !a.of(s) {
			return fmt.Errorf("%v has no %s", s.Opcode, key)
		}
		v, err := strconv.ParseUint(value, 0, a.width)
		if err != nil {
			return fmt.Errorf("%s=%s: want a number of %d bits", key, value, a.width)
		}
		a.set(s, v)
		return nil
	}
	return fmt.Errorf("unknown word %s", w)
}
