package roce

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// ParsePacket reads the text form of String. Attributes that the opcode does not have, and attributes given twice, are
// errors. The packet has a length but no payload bytes, unless it has no BTH; its Pad is zero, as many as the payload
// needs, unless the text has pad=.
func ParsePacket(s string) (Packet, error) {
	return parse(s, nil)
}

// ParsePacketAt is ParsePacket for texts in which PSNs may be relative: psn=+2 is base+2. Plain numbers stay absolute.
func ParsePacketAt(s string, base psn.PSN) (Packet, error) {
	return parse(s, &base)
}

// parser holds the packet as read so far, and which attributes the text has given.
type parser struct {
	p    Packet
	base *psn.PSN // start for relative PSNs; nil forbids them
	seen Attr
}

func parse(s string, base *psn.PSN) (Packet, error) {
	words := strings.Fields(s)
	if len(words) == 0 {
		return Packet{}, fmt.Errorf("packet %q: empty; want an opcode such as WRITE_FIRST", s)
	}
	ps := parser{base: base}
	err := ps.opcode(words[0])
	for _, w := range words[1:] {
		if err == nil {
			err = ps.word(w)
		}
	}
	if err == nil {
		err = ps.kind(words[0])
	}
	if err != nil {
		return Packet{}, fmt.Errorf("packet %.200q: %w", s, err)
	}
	if ps.p.Payload != nil {
		ps.p.Len = len(ps.p.Payload)
	}
	return ps.p, nil
}

// opcode starts the packet with its first word and the defaults of attributes that a text may leave out.
func (ps *parser) opcode(w string) error {
	switch w {
	case wordACK, wordNAK, wordRNR:
		ps.p.Opcode = Acknowledge
	default:
		if t, ok := parseRepairType(w); ok {
			ps.p.Opcode, ps.p.Repair.Type, ps.seen = LoWAR, t, AttrRepairType
			break
		}
		op, ok := ParseOpcode(w)
		if !ok {
			return fmt.Errorf("unknown opcode %s", w)
		}
		ps.p.Opcode = op
	}
	layout := ps.p.Layout()
	if layout&LayoutBTH != 0 {
		ps.p.PKey = DefaultPKey
	}
	if layout&LayoutAETH != 0 {
		ps.p.AETH.Syndrome = SyndromeACK
	}
	if layout&LayoutRepair != 0 {
		ps.p.Repair.Version = RepairVersion
	}
	if w == wordRNR {
		ps.p.AETH.Syndrome = SyndromeRNR
	}
	return nil
}

// word reads a flag, the word of a NAK code, or key=value.
func (ps *parser) word(w string) error {
	key, value, pair := strings.Cut(w, "=")
	switch {
	case !pair:
		return ps.bare(w)
	case key == "data":
		return ps.data(value)
	}
	for i := range attrs {
		if a := &attrs[i]; a.name == key {
			return ps.attr(a, value)
		}
	}
	for _, k := range syndromeKeys {
		if k.name == key {
			v, err := number(key, value, k.width)
			return ps.syndrome(key, k.base+Syndrome(v), err)
		}
	}
	return fmt.Errorf("unknown key %s", key)
}

// syndromeKeys are the keys that set the syndrome, each to a number added to a base.
var syndromeKeys = [...]struct {
	name  string
	base  Syndrome
	width int
}{{"credit", 0, 5}, {"timer", SyndromeRNR, 5}, {"code", SyndromePSNSeqErr, 5}, {"syndrome", 0, 8}}

// bare reads a word without "=": the name of a NAK code or a flag.
func (ps *parser) bare(w string) error {
	for i, name := range nakCodes {
		if name == w {
			return ps.syndrome(w, SyndromePSNSeqErr+Syndrome(i), nil)
		}
	}
	if w == wordMore && ps.p.Opcode.OverIP() {
		ps.p.IP.Fragment |= moreFragments
		return nil
	}
	for i := range flags {
		if flags[i].name == w && ps.p.Layout()&flags[i].layout != 0 {
			*flags[i].of(&ps.p) = true
			return nil
		}
	}
	return fmt.Errorf("unknown word %s", w)
}

// attr sets an attribute; it is an error when the opcode lacks it. Strictness here finds typing errors in scenarios and
// rule fixtures, where an ignored attribute would silently weaken a test.
func (ps *parser) attr(a *attr, value string) error {
	if a.layout&ps.p.Layout() == 0 {
		return fmt.Errorf("%s has no %s", ps.p.Name(), a.name)
	}
	if err := ps.once(a.bit, a.name); err != nil {
		return err
	}
	v, err := ps.value(a, value)
	if err == nil && a.bit == AttrLen && v > MaxPayload {
		return fmt.Errorf("len=%d: more than %d", v, MaxPayload)
	}
	if err == nil {
		a.set(&ps.p, v)
	}
	return err
}

// data takes the bytes of a packet without BTH.
func (ps *parser) data(value string) error {
	b, err := hex.DecodeString(value)
	switch {
	case !ps.p.Opcode.OverIP():
		return fmt.Errorf("%v has no data", ps.p.Opcode)
	case err != nil || len(b) == 0 || len(b) > MaxPayload:
		return fmt.Errorf("data: want 1 to %d bytes as two hexadecimal digits each", MaxPayload)
	}
	ps.p.Payload = b
	return ps.once(AttrData, "data")
}

// value reads the number of an attribute; only PSNs take a sign, which makes them relative to the base.
func (ps *parser) value(a *attr, s string) (uint64, error) {
	if !a.serial || s == "" || s[0] != '+' && s[0] != '-' {
		return number(a.name, s, a.width)
	}
	if ps.base == nil {
		return 0, fmt.Errorf("%s=%s: relative, and no start PSN is known", a.name, s)
	}
	d, err := strconv.Atoi(s)
	if err != nil || d > psn.Half || d < -psn.Half {
		return 0, fmt.Errorf("%s=%s: want a distance below 2^23", a.name, s)
	}
	return uint64(ps.base.Add(d)), nil
}

// syndrome sets the AETH syndrome. Several keys and words set it, but only one of them may be in a text.
func (ps *parser) syndrome(name string, s Syndrome, err error) error {
	if err != nil {
		return err
	}
	if !ps.p.Opcode.hasAETH() {
		return fmt.Errorf("%v has no %s", ps.p.Opcode, name)
	}
	ps.p.AETH.Syndrome = s
	return ps.once(attrSyndrome, name)
}

// once refuses a second value for the same attribute.
func (ps *parser) once(bit Attr, name string) error {
	if ps.seen&bit != 0 {
		return fmt.Errorf("%s given twice", name)
	}
	ps.seen |= bit
	return nil
}

// kind refuses an acknowledgement whose first word and syndrome disagree, such as "ACK timer=3" or a bare "NAK".
func (ps *parser) kind(first string) error {
	s := ps.p.AETH.Syndrome
	switch {
	case first == wordACK && !s.IsACK():
		return fmt.Errorf("ACK cannot have syndrome %#x", uint8(s))
	case first == wordRNR && !s.IsRNR():
		return fmt.Errorf("RNR cannot have syndrome %#x; want timer=", uint8(s))
	case ps.p.Payload != nil && ps.seen&AttrLen != 0 && ps.p.Len != len(ps.p.Payload):
		return fmt.Errorf("len=%d, and %d bytes of data", ps.p.Len, len(ps.p.Payload))
	case first == wordNAK && !s.IsNAK():
		return fmt.Errorf("NAK needs a code such as %s", nakCodes[0])
	}
	return nil
}

func (o Opcode) hasAETH() bool { return opcodes[o].layout&LayoutAETH != 0 }

// number reads a decimal or 0x number of at most width bits.
func number(key, s string, width int) (uint64, error) {
	v, err := strconv.ParseUint(s, 0, width)
	if err != nil {
		return 0, fmt.Errorf("%s=%s: want a number of %d bits", key, s, width)
	}
	return v, nil
}
