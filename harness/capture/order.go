package capture

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// orderLimit bounds the bytes of the frames that wait to be returned.
const orderLimit = 256 << 20

// Ordered returns a source that yields the frames of src in the order of their time stamps. The order in the file says
// nothing about frames of equal time stamps, so these get the order that no rule objects to: what may be an answer
// comes after the requests, and the packets to one QP are in the order of their PSNs. The time stamp of a frame may
// precede that of an earlier frame by at most behind, see Lane.Behind.
func Ordered(src Source, behind time.Duration) Source { return &ordered{src: src, behind: behind} }

type ordered struct {
	src    Source
	behind time.Duration
	newest time.Time
	wait   waiting
	size   int    // bytes of the waiting frames
	count  uint64 // number of frames read
	shown  *Frame // frame returned last
	free   []*Frame
	err    error // error with which the source ended
}

// Next implements Source.
func (o *ordered) Next(f *Frame) error {
	if o.shown != nil {
		o.free, o.shown = append(o.free, o.shown), nil
	}
	for o.err == nil && (len(o.wait) == 0 || o.newest.Sub(o.wait[0].Wall) <= o.behind) {
		if o.size > orderLimit {
			return fmt.Errorf(
				"capture: frames are out of time order by %v; put them in order (reordercap does)", o.behind)
		}
		o.read()
	}
	if len(o.wait) == 0 {
		return o.err
	}
	k := heap.Pop(&o.wait).(queued)
	o.size -= len(k.Raw)
	o.shown = k.Frame
	*f = *k.Frame
	return nil
}

// read reads one frame of the source.
func (o *ordered) read() {
	var f Frame
	if o.err = o.src.Next(&f); o.err != nil {
		return
	}
	k := &Frame{}
	if n := len(o.free); n > 0 {
		k, o.free = o.free[n-1], o.free[:n-1]
	}
	raw := append(k.Raw[:0], f.Raw...)
	*k = f
	k.Raw = raw
	if k.Wall.After(o.newest) {
		o.newest = k.Wall
	}
	o.size += len(raw)
	o.count++
	heap.Push(&o.wait, queued{k, o.count, rankOf(raw)})
}

// Stats returns those of the source.
func (o *ordered) Stats() Stats { return StatsOf(o.src) }

// rank orders frames of equal time stamps.
type rank struct {
	answer bool // the packet may be a responder's
	from   netip.Addr
	to     uint32 // destination QP
	psn    psn.PSN
}

// compare compares two ranks; frames of the same rank are in the order of the file.
func (r rank) compare(q rank) int {
	if r.answer != q.answer {
		if q.answer {
			return -1
		}
		return 1
	}
	return cmp.Or(r.from.Compare(q.from), cmp.Compare(r.to, q.to), r.psn.Sub(q.psn))
}

// rankOf returns the rank of a frame by the base transport header of its packet; zero if it has none.
func rankOf(raw []byte) rank {
	const from, bth = 8, 12 // behind the UDP header
	ip, proto, udp, ok := packet(raw)
	if !ok || proto != protoUDP || len(udp.data) < from+bth {
		return rank{}
	}
	be, b := binary.BigEndian, udp.data[from:]
	return rank{roce.Opcode(b[0]).IsResponse(), ip.sender(), be.Uint32(b[4:]) & psn.Mask, psn.New(be.Uint32(b[8:]))}
}

// packet returns the IP packet of a frame, and what it carries.
func packet(raw []byte) (ip layer, proto byte, carried layer, ok bool) {
	p := layer{kind: etherFrame, data: raw}
	if ip, ok = p.frame(); ok {
		proto, carried, ok = ip.ip()
	}
	return ip, proto, carried, ok
}

// queued is a waiting frame with its position in the file.
type queued struct {
	*Frame
	number uint64
	rank   rank
}

// waiting is a heap of frames, the earliest first.
type waiting []queued

func (w waiting) Len() int      { return len(w) }
func (w waiting) Swap(i, j int) { w[i], w[j] = w[j], w[i] }
func (w *waiting) Push(x any)   { *w = append(*w, x.(queued)) }
func (w waiting) Less(i, j int) bool {
	if c := w[i].Wall.Compare(w[j].Wall); c != 0 {
		return c < 0
	}
	if c := w[i].rank.compare(w[j].rank); c != 0 {
		return c < 0
	}
	return w[i].number < w[j].number
}

// Pop implements heap.Interface.
func (w *waiting) Pop() any {
	last := len(*w) - 1
	k := (*w)[last]
	*w = (*w)[:last]
	return k
}

// Shifted returns a source that adds by to the time stamps of the frames of one tap.
func Shifted(src Source, tap trace.Side, by time.Duration) Source { return shifted{src, tap, by} }

type shifted struct {
	Source
	tap trace.Side
	by  time.Duration
}

// Next implements Source.
func (s shifted) Next(f *Frame) error {
	err := s.Source.Next(f)
	if f.HasTap && f.Tap == s.tap {
		f.Wall = f.Wall.Add(s.by)
	}
	return err
}

// Stats returns those of the source.
func (s shifted) Stats() Stats { return StatsOf(s.Source) }

// PacketKey identifies the IP packet of a frame by its bytes (roce.Fingerprint), without MAC addresses, tags, TTL and
// bytes after the packet.
func PacketKey(raw []byte) uint64 { return keyOf(raw, roce.Fingerprint) }

// SightKey is PacketKey without the traffic class, which may differ between two sights of a packet.
func SightKey(raw []byte) uint64 { return keyOf(raw, roce.FingerprintAnyClass) }

func keyOf(raw []byte, fingerprint func([]byte) uint64) uint64 {
	if ip, _, carried, ok := packet(raw); ok {
		// Slices of one array: the difference of their capacities is how far they are apart.
		from, end := cap(raw)-cap(ip.data)-etherLen, cap(raw)-cap(carried.data)+len(carried.data)
		return fingerprint(raw[from:end])
	}
	return fingerprint(raw)
}
