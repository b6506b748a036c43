package sim

import (
	"container/heap"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/wire"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// flight is one packet in flight. Flights are recycled, so that a run allocates only as many as are in flight at once.
type flight struct {
	arrive    vtime.Time
	seq       uint64 // order of launch, which decides ties
	conn      int
	packet    roce.Packet // without bytes
	raw       []byte      // with bytes: the frame as it will arrive; else payload that had to be copied
	original  []byte      // the frame as it was sent, when that differs
	wireBytes int
	sum       uint32 // with bytes: CRC-32 of the payload as it was sent, where summed
	summed    bool   // sum is known
	marked    bool   // without bytes: the link marked it
	ticket    uint64 // number of a packet held by a reorder fault; 0 for others
	copies    int    // copies of a held packet, which follow it when it is released
	gap       vtime.Duration
}

// alter applies the link's changes to the frame.
func (f *flight) alter(v *channel.Verdict) {
	f.original = append(f.original[:0], f.raw...)
	wire.Alter(f.raw, v)
}

// keep makes the payload of a packet without a frame last until it arrives. The payload of a WRITE or SEND of a load is
// in memory that does not change during a run, and stays there. READ responses come from memory that is written, and a
// scheme makes packets of its own in buffers that it reuses.
func (f *flight) keep() {
	if p := &f.packet; p.Payload != nil && !p.Opcode.IsWrite() && !p.Opcode.IsSend() {
		f.raw = append(f.raw[:0], p.Payload...)
		p.Payload = f.raw
	}
}

// altered reports whether the frame will arrive with other bytes than it was sent with.
func (f *flight) altered() bool { return len(f.original) > 0 }

// sent returns the frame as the sender's tap saw it.
func (f *flight) sent() []byte {
	if f.altered() {
		return f.original
	}
	return f.raw
}

// port is one side's entry to the link, with the packets in flight from it.
type port struct {
	side    trace.Side
	name    fault.Side // name of the side for the link
	channel *channel.Channel
	shift   int     // added to connections for the trace: the second hop of a divided path has its own
	air     fifo    // flights in order of arrival
	late    flights // those that do not fit the order
	held    map[uint64]*flight
	pool    []*flight
	lost    *flight // the last packet that the link took; its record may still be waiting
	seq     uint64
	frame   roce.Frame // the next frame: addresses stay, packet and source port change
	encoded []byte     // a frame on its way through an implementation that changes frames
	causes  map[channel.Cause]string
}

// init initialises the port for the channel ch, with no packet in flight, for packets with the same lower headers as
// like.
func (p *port) init(side trace.Side, ch *channel.Channel, like *roce.Packet) {
	*p = port{side: side, name: wire.FaultSide(side), channel: ch, held: map[uint64]*flight{},
		causes: map[channel.Cause]string{}}
	drive.Frame(&p.frame, side, 0, like)
}

// take returns an empty flight. New ones are allocated next to each other, because they arrive in the order in which
// they are launched.
func (p *port) take() *flight {
	if len(p.pool) == 0 {
		block := make([]flight, 64)
		for i := range block {
			p.pool = append(p.pool, &block[len(block)-1-i])
		}
	}
	f := p.pool[len(p.pool)-1]
	p.pool = p.pool[:len(p.pool)-1]
	f.original, f.ticket, f.summed = f.original[:0], 0, false
	return f
}

func (p *port) giveBack(f *flight) { p.pool = append(p.pool, f) }

// encode puts the packet of p.frame on the wire as end sends it, and returns its layer-1 length.
func (p *port) encode(f *flight, end *drive.Endpoint) int {
	p.frame.SrcPort = drive.SourcePort(f.conn)
	if !end.Alters() {
		if p.frame.Packet.Opcode.OverIP() {
			f.raw = p.frame.AppendTo(f.raw[:0])
		} else {
			f.raw, f.sum = p.frame.AppendSummed(f.raw[:0])
			f.summed = true
		}
		return p.frame.WireLen()
	}
	// The bytes that Emit returns belong to the implementation, which may reuse them.
	p.encoded = p.frame.AppendTo(p.encoded[:0])
	f.raw = append(f.raw[:0], end.Emit(p.encoded)...)
	return wireLen(len(f.raw))
}

// wireLen returns the length of a frame of n bytes at layer 1: with FCS, the minimum length of Ethernet, preamble and
// gap.
func wireLen(n int) int { return max(n+4, 64) + 20 }

// launch applies the channel's verdict: the flight is launched, held, or lost. Copies are flights of their own.
func (p *port) launch(f *flight, v *channel.Verdict) {
	f.marked = v.Mark
	switch v.Fate {
	case channel.Lost:
		if p.lost != nil {
			p.giveBack(p.lost)
		}
		p.lost = f
		return
	case channel.Held:
		f.ticket, f.copies, f.gap = v.Ticket, v.Copies, v.Gap
		p.held[v.Ticket] = f
	default:
		p.fly(f, v.Arrive)
		p.flyCopies(f, v.Copies, v.Gap)
	}
}

// flyCopies launches copies after a flight, each gap after the previous one.
func (p *port) flyCopies(f *flight, copies int, gap vtime.Duration) {
	at := f.arrive
	for range copies {
		c := p.take()
		c.conn, c.packet, c.wireBytes, c.raw = f.conn, f.packet, f.wireBytes, append(c.raw[:0], f.raw...)
		c.sum, c.summed = f.sum, f.summed && !f.altered()
		c.keep()
		at = at.Add(gap)
		p.fly(c, at)
	}
}

// fly launches a flight. On a link that keeps the order it is the last to arrive.
func (p *port) fly(f *flight, arrive vtime.Time) {
	f.arrive, f.seq = arrive, p.seq
	p.seq++
	if p.air.n > 0 && arrive < p.air.last().arrive {
		heap.Push(&p.late, f)
		return
	}
	p.air.push(f)
}

// release launches a held flight, with its copies.
func (p *port) release(r channel.Release) *flight {
	f := p.held[r.Ticket]
	if f != nil {
		delete(p.held, r.Ticket)
		p.fly(f, r.Arrive)
		p.flyCopies(f, f.copies, f.gap)
	}
	return f
}

// arrival returns the time at which the next flight arrives, or at which a held one has waited long enough.
func (p *port) arrival() vtime.Time {
	at := vtime.Never
	if p.air.n > 0 {
		at = p.air.first().arrive
	}
	if len(p.late) > 0 {
		at = min(at, p.late[0].arrive)
	}
	if len(p.held) > 0 {
		at = min(at, p.channel.NextRelease())
	}
	return at
}

// land removes the flight that arrives first.
func (p *port) land() *flight {
	if len(p.late) > 0 && (p.air.n == 0 || p.late.before(p.late[0], p.air.first().flight)) {
		return heap.Pop(&p.late).(*flight)
	}
	f := p.air.first().flight
	p.air.pop()
	return f
}

// cause spells a verdict's cause; the strings are made once.
func (p *port) cause(v *channel.Verdict) string {
	if v.Cause.Kind == channel.None {
		return ""
	}
	s, ok := p.causes[v.Cause]
	if !ok {
		s = v.Cause.String()
		p.causes[v.Cause] = s
	}
	return s
}

// fifo is a ring of flights; its size is a power of two. The time of arrival lies in the ring, so that looking for the
// next thing to happen does not touch a flight that is out of the cache.
type fifo struct {
	at   []slot
	head int
	n    int
}

type slot struct {
	arrive vtime.Time
	flight *flight
}

// first and last must not be called on an empty queue.
func (q *fifo) first() *slot { return &q.at[q.head] }
func (q *fifo) last() *slot  { return &q.at[(q.head+q.n-1)&(len(q.at)-1)] }

// push adds a flight at the end.
func (q *fifo) push(f *flight) {
	if q.n == len(q.at) {
		q.grow()
	}
	q.at[(q.head+q.n)&(len(q.at)-1)] = slot{f.arrive, f}
	q.n++
}

func (q *fifo) pop() {
	q.head = (q.head + 1) & (len(q.at) - 1)
	q.n--
}

// grow doubles the ring and straightens it.
func (q *fifo) grow() {
	bigger := make([]slot, max(16, 2*len(q.at)))
	for i := range q.n {
		bigger[i] = q.at[(q.head+i)&(len(q.at)-1)]
	}
	q.at, q.head = bigger, 0
}

// flights is a heap by arrival.
type flights []*flight

func (h flights) before(a, b *flight) bool {
	return a.arrive < b.arrive || a.arrive == b.arrive && a.seq < b.seq
}
func (h flights) Len() int           { return len(h) }
func (h flights) Less(i, j int) bool { return h.before(h[i], h[j]) }
func (h flights) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *flights) Push(x any) { *h = append(*h, x.(*flight)) }

// Pop implements heap.Interface.
func (h *flights) Pop() any {
	old := *h
	f := old[len(old)-1]
	*h = old[:len(old)-1]
	return f
}
