package trace

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// packetLine is a packet line as read. Its frame is made when all lines are known, because a FIRST packet announces the
// length of a message whose other packets come later.
type packetLine struct {
	record int // index in Fixture.Records before they are sorted
	start  psn.PSN
	sent   packetText
	got    *packetText
	set    bool // the packet is as it stands: its payload too
}

// packetText is one form of a packet: the words of package roce and those about the frame around it.
type packetText struct {
	packet []string
	frame  []string
	icrc   string
	sum    string
}

// packet reads "A>B [words] PACKET [words] [got …]"; X stands for the link, which lost a packet or made one.
func (p *fixtureParser) packet(at stamped, from, to string, words []string) error {
	from, to = p.hop(from, to)
	r := Record{Sent: at.line, Recv: at.recv, Fate: Delivered, Conn: p.shift}
	if err := direction(&r, from, to, at.line); err != nil {
		return err
	}
	line := packetLine{record: len(p.f.Records)}
	words, got := cutWord(words, "got")
	words, err := p.recordWords(&r, words)
	if err != nil {
		return err
	}
	if len(words) > 0 {
		m, ok, err := p.management(&p.f.Header.Conns[r.Conn], r.From, words)
		if err != nil {
			return err
		}
		if ok {
			r.Packet, line.set = mad(m), true
			p.lines = append(p.lines, line)
			p.addRecord(r)
			return nil
		}
	}
	changed := got != nil
	if got, err = p.recordWords(&r, got); err != nil {
		return err
	}
	if line.sent, err = p.packetText(words); err != nil {
		return err
	}
	if line.start, err = p.parse(&r, &line.sent, &r.Packet); err != nil {
		return err
	}
	if changed {
		if err := p.gotWords(&r, &line, got); err != nil {
			return err
		}
	}
	if err := p.untapped(&r); err != nil {
		return err
	}
	p.lines = append(p.lines, line)
	p.addRecord(r)
	return nil
}

// direction takes the ends of the arrow.
func direction(r *Record, from, to string, at vtime.Time) error {
	sender, sent := ParseSide(from)
	receiver, received := ParseSide(to)
	switch {
	case sent && received && sender != receiver:
		r.From = sender
	case sent && to == "X":
		r.From, r.Recv, r.Fate, r.Cause = sender, vtime.Never, Dropped, "loss"
	case received && from == "X":
		r.From, r.Sent, r.Recv, r.Fate = receiver.Other(), vtime.Never, at, Injected
	default:
		return fmt.Errorf("%s>%s: want A>B, B>A, or X on one side for the link", from, to)
	}
	return nil
}

// cutWord splits words at w; after is nil when w does not occur.
func cutWord(words []string, w string) (before, after []string) {
	for i := range words {
		if words[i] == w {
			return words[:i], append([]string{}, words[i+1:]...)
		}
	}
	return words, nil
}

// recordWords takes out the words about the record as a whole.
func (p *fixtureParser) recordWords(r *Record, words []string) (rest []string, err error) {
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "conn":
			if r.Conn, err = p.conn(value); err != nil {
				return nil, err
			}
		case "cause":
			r.Cause = value
		case "copy":
			// The sender's tap saw the original only.
			r.Copy, r.Sent = true, vtime.Never
		default:
			rest = append(rest, w)
		}
	}
	return rest, nil
}

// frameKeys are the words about the frame around a packet.
var frameKeys = map[string]bool{"sport": true, "dport": true, "df": true, "id": true, "tos": true, "ttl": true,
	"iplen": true, "udplen": true, "byte": true, "cut": true, "extra": true, "fill": true, "raw": true}

// packetText sorts words into those of the packet and those about its frame.
func (p *fixtureParser) packetText(words []string) (t packetText, err error) {
	for _, w := range words {
		key, value, pair := strings.Cut(w, "=")
		switch {
		case key == "icrc" && pair:
			t.icrc = value
		case key == "sum" && pair:
			t.sum = value
		case frameKeys[key] && pair:
			t.frame = append(t.frame, w)
		default:
			t.packet = append(t.packet, w)
		}
	}
	if t.icrc != "" && t.icrc != "bad" && t.icrc != "good" {
		return t, fmt.Errorf("icrc=%s: want bad or good", t.icrc)
	}
	return t, nil
}

// has reports whether the packet's text gives a value for key.
func (t *packetText) has(key string) bool {
	for _, w := range t.packet {
		if strings.HasPrefix(w, key+"=") {
			return true
		}
	}
	return false
}

// Defaults of a request that says where it acts.
const (
	defaultVA   = 0x1000
	defaultRKey = 0x7
)

// parse reads a packet whose PSNs are relative to the first request of its half-conversation, and returns that one. The
// opcode tells which half-conversation it is: a response belongs to the requests of the other side.
func (p *fixtureParser) parse(r *Record, t *packetText, into *roce.Packet) (start psn.PSN, err error) {
	if len(t.packet) == 0 {
		return 0, fmt.Errorf("no packet after the arrow")
	}
	if _, ok := iwarp.ParseOpcode(t.packet[0]); ok {
		return 0, p.segment(r, t, into)
	}
	if len(t.packet) > 1 && t.packet[0] == roce.TCP.String() && !strings.Contains(t.packet[1], "=") {
		return 0, p.tcpSegment(r, t, into)
	}
	c := &p.f.Header.Conns[r.Conn]
	text := strings.Join(t.packet, " ")
	start = c.Ends[r.From].QP.SendPSN
	if *into, err = roce.ParsePacketAt(text, start); err == nil && into.ToRequester() {
		start = c.Ends[r.From.Other()].QP.SendPSN
		*into, err = roce.ParsePacketAt(text, start)
	}
	if err != nil {
		return 0, err
	}
	sender := &c.Ends[r.From].QP
	layout := into.Layout()
	if !t.has("qp") {
		into.DestQP = sender.DestQPN
	}
	if !t.has("pkey") && layout&roce.LayoutBTH != 0 {
		into.PKey = sender.PKey
	}
	if !t.has("va") && layout&(roce.LayoutRETH|roce.LayoutVAETH|roce.LayoutAtomicETH) != 0 {
		into.RETH.VA = defaultVA
	}
	if !t.has("rkey") && layout&(roce.LayoutRETH|roce.LayoutAtomicETH) != 0 {
		into.RETH.RKey = defaultRKey
	}
	return start, nil
}

// gotWords reads the form in which the packet arrived; words that it does not repeat are as sent.
func (p *fixtureParser) gotWords(r *Record, line *packetLine, words []string) error {
	got, err := p.packetText(words)
	if err != nil {
		return err
	}
	if len(got.packet) == 0 {
		got.packet = line.sent.packet
	}
	got.frame = append(line.sent.frame[:len(line.sent.frame):len(line.sent.frame)], got.frame...)
	r.Changed = &Change{}
	if _, err := p.parse(r, &got, &r.Changed.Packet); err != nil {
		return fmt.Errorf("got: %w", err)
	}
	line.got = &got
	r.Fate = Corrupted
	if r.Cause == "" {
		r.Cause = "corrupt"
	}
	return nil
}

// untapped removes what no tap saw.
func (p *fixtureParser) untapped(r *Record) error {
	taps := p.f.Header.Taps
	if taps == [2]bool{true, true} {
		return nil
	}
	r.Fate, r.Cause = Unknown, ""
	if !taps[r.From] {
		r.Sent = vtime.Never
	}
	if !taps[r.From.Other()] {
		r.Recv = vtime.Never
	}
	if r.Time() == vtime.Never {
		return fmt.Errorf("no tap sees this packet: remove it, or tap the other side")
	}
	return nil
}

// build gives every record its bytes.
func (p *fixtureParser) build() error {
	p.announce()
	coded := p.coded()
	for _, repairs := range []bool{false, true} { // a repair packet is made of the bytes of others
		for i := range p.lines {
			line := &p.lines[i]
			r := &p.f.Records[line.record]
			if (r.Packet.Opcode == roce.LoWAR) != repairs {
				continue
			}
			coded.repair(r, &line.sent)
			if err := p.buildLine(line, r, coded); err != nil {
				return fmt.Errorf("line %d: %w", p.f.RecordLines[line.record], err)
			}
		}
	}
	return nil
}

// buildLine makes the bytes of a packet as sent, and as received when that differs.
func (p *fixtureParser) buildLine(line *packetLine, r *Record, coded coded) error {
	err := p.synthesise(line, &line.sent, r)
	if err != nil || line.got == nil {
		return err
	}
	received := Record{From: r.From, Conn: r.Conn, Packet: r.Changed.Packet}
	coded.repair(&received, line.got)
	err = p.synthesise(line, line.got, &received)
	*r.Changed = Change{received.Packet, received.Sum, received.ICRC, received.Raw, received.Defect}
	if err == nil && r.Raw != nil && bytes.Equal(r.Raw, received.Raw) {
		return fmt.Errorf("got: the bytes are those that were sent; say what changed")
	}
	return err
}

// announce fills in the length of the message in the RETH of packets that do not give one: the payload from this PSN to
// the end of the message, as the first transmissions on other lines show it.
func (p *fixtureParser) announce() {
	type place struct {
		conn int
		from Side
		psn  psn.PSN
	}
	seen := map[place]*roce.Packet{}
	for i := range p.f.Records {
		r := &p.f.Records[i]
		at := place{r.Conn, r.From, r.Packet.PSN}
		if seen[at] == nil && r.Packet.Opcode.IsRequest() && r.Fate != Injected {
			seen[at] = &r.Packet
		}
	}
	for _, line := range p.lines {
		r := &p.f.Records[line.record]
		if line.sent.has("dmalen") || r.Packet.Opcode.Layout()&roce.LayoutRETH == 0 || r.Packet.Opcode.IsRead() {
			continue
		}
		total := uint32(0)
		for next, ok := &r.Packet, true; ok; next, ok = seen[place{r.Conn, r.From, next.PSN.Next()}] {
			total += uint32(next.Len)
			if next.Opcode.EndsMessage() {
				break
			}
		}
		r.Packet.RETH.DMALen = total
		if r.Changed != nil && !line.got.has("dmalen") {
			r.Changed.Packet.RETH.DMALen = total
		}
	}
}

// synthesise makes the frame of one form of a packet and reads it back, so that the record holds what a capture of the
// frame would give.
func (p *fixtureParser) synthesise(line *packetLine, t *packetText, r *Record) error {
	if t.sum != "" {
		n, err := number(t.sum, 0xFFFFFFFF)
		if err != nil {
			return fmt.Errorf("sum=%w", err)
		}
		defer func() { r.Sum = uint32(n) }()
	}
	w := frameWords{ttl: 64, df: 1}
	if err := w.read(t.frame); err != nil {
		return err
	}
	r.WireBytes = r.Packet.WireLen(p.f.Header.Conns[r.Conn].Ends[r.From].Addr.Is6())
	if !p.f.Header.Bytes {
		r.ICRC = map[string]Integrity{"bad": Bad, "good": Good}[t.icrc]
		return nil
	}
	if r.Packet.Payload == nil && !r.Packet.Opcode.OverIP() {
		r.Packet.Payload = pattern(r.Packet.Len, p.conversation(r.Conn), r.Packet.PSN.Sub(line.start), w.fill)
	}
	r.Raw = w.frame(&p.f.Header.Conns[r.Conn], r.From, &r.Packet)
	if t.icrc == "bad" {
		damage(r.Raw)
	}
	r.Decode()
	if w.noRaw {
		r.Raw, r.Packet.Payload = nil, nil
	}
	return nil
}

// damage flips a bit of the ICRC.
func damage(frame []byte) {
	if off, _, ok := roce.FieldSpan(frame, "icrc"); ok {
		frame[off] ^= 1
	}
}

// pattern is the payload of a packet: a function of its place, so that retransmissions carry the same bytes.
func pattern(n, conn, place int, fill byte) []byte {
	if n <= 0 {
		return nil
	}
	b := make([]byte, n)
	seed := byte(conn*101+place*167) + fill*59
	for i := range b {
		b[i] = seed + byte(i) + byte(i>>8)
	}
	return b
}

// frameWords are the fields of the headers below the transport, and the damage done to the frame.
type frameWords struct {
	sport, dport  *uint64
	id            uint16
	tos, ttl      uint8
	df            uint8
	fill          byte
	noRaw         bool
	iplen, udplen string // "+1", "-2" or a length
	extra         int    // bytes added before the ICRC; negative: removed
	bytes         []edit
}

// edit sets one byte of a frame.
type edit struct {
	off   int
	value byte
}

// read takes the words of a frame.
func (f *frameWords) read(words []string) error {
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		if err := f.word(key, value); err != nil {
			return fmt.Errorf("%s: %w", w, err)
		}
	}
	return nil
}

// word takes one word; the key is one of frameKeys.
func (f *frameWords) word(key, value string) error {
	switch key {
	case "raw":
		f.noRaw = value == "off"
		return nil
	case "iplen":
		f.iplen = value
		return checkLength(value)
	case "udplen":
		f.udplen = value
		return checkLength(value)
	case "byte":
		off, b, _ := strings.Cut(value, ":")
		at, err := number(off, 1<<16)
		if err != nil {
			return err
		}
		n, err := number(b, 255)
		f.bytes = append(f.bytes, edit{int(at), byte(n)})
		return err
	}
	n, err := number(value, 0xFFFF)
	if err != nil {
		return err
	}
	switch key {
	case "sport":
		f.sport = &n
	case "dport":
		f.dport = &n
	case "id":
		f.id = uint16(n)
	case "tos":
		f.tos = uint8(n)
	case "ttl":
		f.ttl = uint8(n)
	case "df":
		f.df = uint8(n)
	case "fill":
		f.fill = byte(n)
	case "extra":
		f.extra = int(min(n, 4096))
	case "cut":
		f.extra = -int(min(n, 4096))
	}
	return nil
}

// checkLength accepts a length, or a difference with its sign.
func checkLength(s string) error {
	if n, err := strconv.Atoi(s); err != nil || n > 0xFFFF || n < -0xFFFF {
		return fmt.Errorf("want a length, or a difference such as +1")
	}
	return nil
}
