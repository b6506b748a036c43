package rule

import (
	"bytes"
	"encoding/binary"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// Frames that look alike are judged once: most packets of a flow differ from the one before in their PSN, in the
// identification and the checksum of their IP header, and in what they carry, at which no rule of frames looks.

// ofFrames reports a rule that judges each frame for itself by what it looks like.
func (r *Rule) ofFrames() bool { return r.Each != nil && r.Rests == validity.Frames }

// look is how a frame looks to the rules of frames, in a half-conversation.
type look struct {
	half     *half // nil before the first
	list     int
	mtu      int
	maker    Maker
	icrc     trace.Integrity
	bth      roce.BTH // without what differs
	syndrome roce.Syndrome
	payload  int // bytes
	frame    int // bytes; 0 where they were not captured
	head     [headMost]byte
}

// headMost is how long the headers of a frame with a BTH can be.
const headMost = 96

// alike is a look that was judged.
type alike struct {
	look
	met   uint32 // which of the rules of frames it met, by their place in the plan
	times int    // how often it was seen since that was counted
}

// alikes are the latest looks, by connection and opcode.
type alikes struct{ list *[256]alike }

// place is where a look is remembered.
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
	if l.half == h && l.list == list && l.shows(h, s) {
		l.times++
		return
	}
	l.count()
	l.half = nil
	var met [mostAlike]int
	for i := range callers {
		met[i] = callers[i].account.met
	}
	before := saidBy(callers)
	h.showAll(callers, s)
	if saidBy(callers) != before || !l.take(h, list, s) {
		return // it is judged again when it comes again
	}
	for i := range callers {
		if callers[i].account.met > met[i] {
			l.met |= 1 << i
		}
	}
}

// mostAlike is how many rules of frames can be called for a sight.
const mostAlike = 32

// saidBy counts what rules have said, beside that they were met.
func saidBy(callers []caller) (n int) {
	for i := range callers {
		n += callers[i].account.said
	}
	return n
}

// count counts what was met by the frames that were not judged.
func (l *alike) count() {
	if l.times == 0 {
		return
	}
	for i := range l.half.plan.frames[l.list] {
		l.half.plan.frames[l.list][i].account.met += int(l.met>>i&1) * l.times
	}
	l.times = 0
}

// countAll counts what was met by all frames that were not judged.
func (a *alikes) countAll() {
	if a.list == nil {
		return
	}
	for i := range a.list {
		a.list[i].count()
	}
}

// common returns what of a BTH frames that look alike have in common.
func common(b roce.BTH) roce.BTH {
	b.PSN, b.AckReq = 0, false
	return b
}

// headers returns the headers of a frame as captured, which end with the frame but for its payload and ICRC, and where
// its IP header begins. Ok is false for a frame in which rules of frames look at more than that.
func (s *Sight) headers() (head []byte, ip int, ok bool) {
	packet, udp, ok := Network(s.Raw)
	end := len(s.Raw) - icrcBytes - s.Pkt.Len
	if !ok || udp != 20 || int(binary.BigEndian.Uint16(packet[2:])) != len(packet) || end > headMost {
		return nil, 0, false
	}
	ip = len(s.Raw) - len(packet)
	return s.Raw[:max(end, 0)], ip, end == ip+udp+8+s.Pkt.Opcode.HeaderLen()
}

// icrcBytes is how long the ICRC is.
const icrcBytes = 4

// take notes how a frame looks; ok is false when rules of frames look at more.
func (l *alike) take(h *half, list int, s *Sight) (ok bool) {
	p := s.Pkt
	if s.Rec.Changed != nil || s.Rec.Defect != "" || p.Pad != 0 || p.Opcode.Layout()&roce.LayoutBTH == 0 {
		return false
	}
	l.frame, l.met = len(s.Raw), 0
	if s.Raw != nil {
		head, _, ok := s.headers()
		if !ok {
			return false
		}
		copy(l.head[:], head)
	}
	c := &h.conv
	l.half, l.list, l.mtu, l.maker, l.icrc = h, list, c.MTU, makerOf(c, s, h.plan.shows.path), s.ICRC
	l.bth, l.syndrome, l.payload = common(p.BTH), p.AETH.Syndrome, p.Len
	return true
}

// shows reports whether a frame looks like this one.
func (l *alike) shows(h *half, s *Sight) bool {
	p := s.Pkt
	if l.bth != common(p.BTH) || l.payload != p.Len || l.frame != len(s.Raw) ||
		l.syndrome != p.AETH.Syndrome || l.mtu != h.conv.MTU || l.icrc != s.ICRC ||
		s.Rec.Changed != nil || s.Rec.Defect != "" || l.maker != makerOf(&h.conv, s, h.plan.shows.path) {
		return false
	}
	if s.Raw == nil {
		return p.RETH.VA%8 == 0 // of an atomic
	}
	head, ip, ok := s.headers()
	if !ok {
		return false
	}
	const id, flags, checksum, addresses, request, extended = 4, 6, 10, 12, 20 + 8 + 8, 20 + 8 + 12
	end := ip + extended
	if p.Opcode.Layout()&roce.LayoutAETH != 0 {
		end += 4 // the syndrome is compared, the MSN is whatever it is
	}
	was := l.head[:len(head)]
	return bytes.Equal(head[:ip+id], was[:ip+id]) && bytes.Equal(head[ip+flags:ip+checksum],
		was[ip+flags:ip+checksum]) &&
		bytes.Equal(head[ip+addresses:ip+request], was[ip+addresses:ip+request]) &&
		bytes.Equal(head[end:], was[end:]) &&
		sameSum(head[ip:], was[ip:])
}

// sameSum reports whether the checksums of two IPv4 headers are both right, or both wrong by as much, when only their
// identifications differ (RFC 1624).
func sameSum(a, b []byte) bool {
	be := binary.BigEndian
	rest := func(ip []byte) uint32 { return uint32(^be.Uint16(ip[10:])) + 0xFFFF - uint32(be.Uint16(ip[4:])) }
	zero := func(ip []byte) bool { return ip[10]&ip[11] == 0xFF }
	return rest(a)%0xFFFF == rest(b)%0xFFFF && zero(a) == zero(b)
}
