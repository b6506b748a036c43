package rule

import (
	"bytes"
	"encoding/binary"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// Frames that look alike are judged once. Most packets of a flow differ from the one before only in their PSN, in the
// identification and the checksum of the IP header, and in the payload, and no rule of frames reads these.

// ofFrames reports whether the rule judges frames by their looks.
func (r *Rule) ofFrames() bool {
	return r.Each != nil && r.Rests == validity.Frames && (r.Looks || !r.Keeps)
}

// look holds all that the rules of frames may read of a frame in a half-conversation.
type look struct {
	half     *half // nil before the first
	list     int
	mtu      int
	maker    Maker
	icrc     trace.Integrity
	bth      roce.BTH // without PSN and AckReq
	syndrome roce.Syndrome
	payload  int // bytes
	frame    int // bytes; 0 where they were not captured
	head     [headMost]byte
	end, ip  int    // length of head, and the offset of the IP header in it
	check    uint32 // checkOf the IP header
}

// headMost is the greatest length of the headers of a frame with a BTH.
const headMost = 96

// alike is a look that has been judged.
type alike struct {
	look
	again bool   // it was judged twice: a rule that Looks may meet its stimulus at the second frame only
	said  int    // alikes.said when it was judged
	met   uint32 // rules of frames whose stimulus it is, one bit each by place in the plan
	times int    // frames seen since the last count
}

// alikes holds the latest looks, by connection and opcode.
type alikes struct {
	list *[256]alike
	said int // looks of which rules have reported a finding or doubt; what they knew of earlier looks is then not sure
}

// place returns the slot for the look of a sight.
func (a *alikes) place(h *half, s *Sight) *alike {
	return &a.list[(uint(h.conv.Index)*13+uint(s.Pkt.Opcode))%uint(len(a.list))]
}

// show shows a sight to the rules of frames, unless they have judged one that looks alike.
func (a *alikes) show(h *half, list int, s *Sight) {
	callers := h.plan.frames[list]
	if len(callers) == 0 {
		return
	}
	if a.list == nil {
		a.list = new([256]alike)
	}
	l := a.place(h, s)
	same := l.half == h && l.list == list && l.said == a.said && l.shows(h, s)
	if same && l.again {
		l.times++
		return
	}
	l.count()
	l.half = nil
	var met [mostAlike]int
	for i := range callers {
		met[i] = callers[i].account.met
	}
	if h.showFrames(callers, s) || !l.take(h, list, s) {
		return // the next frame that looks alike is judged again
	}
	l.again, l.said = same, a.said
	for i := range callers {
		if callers[i].account.met > met[i] {
			l.met |= 1 << i
		}
	}
}

// mostAlike bounds the rules of frames that are called for a sight.
const mostAlike = 32

// showFrames shows a sight to rules of frames, and reports whether one of them has said something.
func (h *half) showFrames(callers []caller, s *Sight) bool {
	before := saidBy(callers)
	h.showAll(callers, s)
	if saidBy(callers) == before {
		return false
	}
	callers[0].account.judge.alikes.said++
	return true
}

// saidBy returns the number of findings and doubts that rules have reported.
func saidBy(callers []caller) (n int) {
	for i := range callers {
		n += callers[i].account.said
	}
	return n
}

// count adds the frames that were not judged to account.met of their rules.
func (l *alike) count() {
	if l.times == 0 {
		return
	}
	for i := range l.half.plan.frames[l.list] {
		l.half.plan.frames[l.list][i].account.met += int(l.met>>i&1) * l.times
	}
	l.times = 0
}

// countAll calls count for every look.
func (a *alikes) countAll() {
	if a.list == nil {
		return
	}
	for i := range a.list {
		a.list[i].count()
	}
}

// common returns the fields of a BTH that frames which look alike have in common.
func common(b roce.BTH) roce.BTH {
	b.PSN, b.AckReq = 0, false
	return b
}

// headers returns the headers of a frame as captured (all but its payload and ICRC), and the offset of the IP header.
// ok is false for a frame of which rules of frames may read more.
func (s *Sight) headers() (head []byte, ip int, ok bool) {
	packet, udp, ok := Network(s.Raw)
	end := len(s.Raw) - icrcBytes - s.Pkt.Len
	if !ok || udp != 20 || int(binary.BigEndian.Uint16(packet[2:])) != len(packet) || end > headMost {
		return nil, 0, false
	}
	ip = len(s.Raw) - len(packet)
	return s.Raw[:max(end, 0)], ip, end == ip+udp+8+s.Pkt.Opcode.HeaderLen()
}

// icrcBytes is the length of the ICRC.
const icrcBytes = 4

// take stores the look of a frame; ok is false when rules of frames may read more of it.
func (l *alike) take(h *half, list int, s *Sight) (ok bool) {
	p := s.Pkt
	if s.Rec.Changed != nil || s.Rec.Defect != "" || p.Pad != 0 || p.Opcode.Layout()&roce.LayoutBTH == 0 {
		return false
	}
	l.frame, l.met = len(s.Raw), 0
	if s.Raw != nil {
		head, ip, ok := s.headers()
		if !ok {
			return false
		}
		l.end, l.ip, l.check = copy(l.head[:], head), ip, checkOf(head[ip:])
	}
	c := &h.conv
	l.half, l.list, l.mtu, l.maker, l.icrc = h, list, c.MTU, makerOf(c, s, h.plan.shows.path), s.ICRC
	l.bth, l.syndrome, l.payload = common(p.BTH), p.AETH.Syndrome, p.Len
	return true
}

// shows reports whether a frame has this look.
func (l *alike) shows(h *half, s *Sight) bool {
	if l.frame != len(s.Raw) || l.mtu != h.conv.MTU || l.icrc != s.ICRC || s.Rec.Changed != nil ||
		s.Rec.Defect != "" || l.maker != makerOf(&h.conv, s, h.plan.shows.path) {
		return false
	}
	if p := s.Pkt; s.Raw == nil {
		return l.bth == common(p.BTH) && l.payload == p.Len && l.syndrome == p.AETH.Syndrome &&
			p.RETH.VA%8 == 0 // of an atomic
	}
	return l.heads(s.Raw[:l.end], s.Pkt.Opcode.Layout()&roce.LayoutAETH != 0)
}

// heads reports whether the headers of a frame are those of the look, except for identification and checksum of IP,
// AckReq, PSN and MSN.
func (l *look) heads(head []byte, aeth bool) bool {
	const id, flags, checksum, addresses, request, extended = 4, 6, 10, 12, 20 + 8 + 8, 20 + 8 + 12
	was, ip, end := l.head[:len(head)], l.ip, l.ip+extended
	if aeth {
		if head[end] != was[end] { // the syndrome
			return false
		}
		end += 4
	}
	return bytes.Equal(head[:ip+id], was[:ip+id]) &&
		bytes.Equal(head[ip+flags:ip+checksum], was[ip+flags:ip+checksum]) &&
		bytes.Equal(head[ip+addresses:ip+request], was[ip+addresses:ip+request]) &&
		(head[ip+request]^was[ip+request])&0x7F == 0 && bytes.Equal(head[end:], was[end:]) &&
		checkOf(head[ip:]) == l.check
}

// checkOf returns a number that is equal for IPv4 headers which differ only in their identifications, if both checksums
// are right, or wrong by the same amount (RFC 1624).
func checkOf(ip []byte) uint32 {
	be := binary.BigEndian
	sum := (uint32(^be.Uint16(ip[10:])) + 0xFFFF - uint32(be.Uint16(ip[4:]))) % 0xFFFF
	if ip[10]&ip[11] == 0xFF { // this zero may be wrong
		sum |= 1 << 16
	}
	return sum
}
