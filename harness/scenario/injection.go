package scenario

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Injection is a crafted packet that the link hands to one side as if the other had sent it.
type Injection struct {
	To trace.Side
	QP int            // connection whose addresses it bears
	At vtime.Duration // when it arrives
	// in roce's one-line form; psn=+n counts from the start of the half-conversation it belongs to
	Packet string
	// Cut truncates the transport packet, headers and payload, to this number of bytes and corrects the lengths and
	// checksums of the layers below: a sender that sends too little. Chop truncates the frame to this number of bytes
	// of the IP packet and leaves these unchanged: a link that delivers too little. Zero keeps all bytes.
	Cut, Chop int
	Raw       []Edit // changes of the encoded frame, after which the checksums are right unless said otherwise
	BadCRC    bool   // leave the ICRC wrong
}

// Edit overwrites a named field of an encoded frame: a name of roce.FieldSpan, of which ipsrc may be written as an
// address.
type Edit struct {
	Field string
	Value uint64
}

// isAddress reports whether the field is written as an address.
func (e Edit) isAddress() bool { return e.Field == "ipsrc" }

// String prints the edit as "ttl:3" or "ipsrc:10.0.0.9".
func (e Edit) String() string {
	if e.isAddress() {
		var a [4]byte
		binary.BigEndian.PutUint32(a[:], uint32(e.Value))
		return e.Field + ":" + netip.AddrFrom4(a).String()
	}
	return fmt.Sprintf("%s:%d", e.Field, e.Value)
}

// Bounds of an injection's text.
const (
	maxPacketText = 1024
	maxEdits      = 32
	maxField      = 16
	maxPacket     = 65535
)

// readInjection reads "inject B at=10us cut=20 icrc=bad set=ttl:3 : PACKET".
func readInjection(s *Spec, st *statement) {
	in := Injection{Packet: st.tail}
	w, _ := st.word()
	side, ok := parseSide(w)
	if !ok {
		st.errorf("side %.60q: name the side that receives it, A or B", w)
	}
	in.To, st.tail = side, ""
	st.duration("at", &in.At)
	whole(st, "qp", &in.QP, 0, MaxQPs-1)
	whole(st, "cut", &in.Cut, 1, maxPacket)
	whole(st, "chop", &in.Chop, 1, maxPacket)
	st.choice("icrc", &in.BadCRC, "good", "bad")
	if v, ok := st.take("set"); ok {
		in.Raw = parseEdits(st, v)
	}
	switch err := checkPacket(in.Packet); {
	case in.Packet == "":
		st.errorf(`no packet; want "inject B at=10us : WRITE_ONLY psn=+3 len=8"`)
	case len(in.Packet) > maxPacketText:
		st.errorf("packet text of %d bytes; use %d at most", len(in.Packet), maxPacketText)
	case err != nil:
		st.errorf("%w", err)
	}
	s.Injections = append(s.Injections, in)
}

// checkPacket reads the text of a packet, or of an iWARP segment.
func checkPacket(text string) error {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	if _, ok := iwarp.ParseOpcode(word); ok {
		_, err := iwarp.Parse(text)
		return err
	}
	_, err := roce.ParsePacketAt(text, 0)
	return err
}

// parseEdits reads "ttl:3,ipsrc:10.0.0.9".
func parseEdits(st *statement, v string) []Edit {
	var edits []Edit
	for _, w := range strings.Split(v, ",") {
		field, value, _ := strings.Cut(w, ":")
		e := Edit{Field: field}
		x, ok := unsigned(value)
		if a, err := netip.ParseAddr(value); e.isAddress() {
			switch {
			case err == nil && a.Is4():
				b := a.As4()
				x, ok = uint64(binary.BigEndian.Uint32(b[:])), true
			case x > math.MaxUint32:
				ok = false
			}
		}
		if !ok || field == "" || len(field) > maxField || strings.ContainsFunc(field, notFieldRune) {
			st.fail("set", w, "want field:number such as ttl:3, or ipsrc:10.0.0.9")
		}
		e.Value = x
		edits = append(edits, e)
	}
	if len(edits) > maxEdits {
		st.errorf("set= of %d fields; use %d at most", len(edits), maxEdits)
	}
	return edits
}

// notFieldRune keeps colons and commas, which would print as another list, out of field names.
func notFieldRune(r rune) bool { return r < 'a' || r > 'z' }

// String prints the injection as a statement.
func (in Injection) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "inject %s at=%s qp=%d", in.To, in.At, in.QP)
	if in.Cut != 0 {
		fmt.Fprintf(&b, " cut=%d", in.Cut)
	}
	if in.Chop != 0 {
		fmt.Fprintf(&b, " chop=%d", in.Chop)
	}
	if in.BadCRC {
		b.WriteString(" icrc=bad")
	}
	for i, e := range in.Raw {
		sep := ","
		if i == 0 {
			sep = " set="
		}
		b.WriteString(sep + e.String())
	}
	return b.String() + " : " + in.Packet
}
