package trace

import (
	"cmp"
	"hash/crc32"
	"slices"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/internal/ring"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// LinkFate is what the emulated link says it did with one packet, for a link that keeps a log.
type LinkFate struct {
	At     vtime.Time // when the link took the packet
	From   Side
	Opcode roce.Opcode
	PSN    psn.PSN
	Left   vtime.Time // when the part of the link that the log is of let it go; zero: at once
	Lost   bool       // the link never delivered it
	Cause  string     // who changed its fate; empty when nobody did
}

// MergeOptions say how two taps become one trace.
type MergeOptions struct {
	Zero    time.Time         // wall-clock time of vtime 0; zero: the first frame
	Window  vtime.Duration    // a packet that has not arrived for so long is dropped; zero: 500 ms
	Fates   []LinkFate        // the link's log, in any order; nil when there is none
	Partial bool              // the log is of a part of the link: packets may be lost and held back that it does not name
	Least   [2]vtime.Duration // what a packet takes at least, by sender; zero: nobody knows, and half of what is typical is
	Ordered bool              // no packet overtakes another
	Forged  []Forgery         // what the harness put on the link itself, in any order
	Until   vtime.Time        // the taps watched until then at least; zero: until the last frame
}

// MergeStats counts what became of the frames.
type MergeStats struct {
	Frames     [2]uint64 // frames of each tap
	Fates      [5]uint64 // records by Fate
	Copies     uint64
	Unexplored uint64       // entries of the link's log that fit no frame
	Gaps       []CaptureGap // what the taps say they lost
}

// CaptureGap is a time in which a tap lost frames: nothing can be concluded from their absence.
type CaptureGap struct {
	Tap      Side
	From, To vtime.Time
	Frames   uint64
}

// causeCapture is Record.Cause of a packet whose fate is unknown because a tap lost frames at that time, or stopped.
const causeCapture = "capture"

const defaultWindow = 500 * vtime.Millisecond

// slack is how much later than its arrival a packet may have left by the time stamps: two taps of one host disagree by
// the time that it takes from one to the other.
const slack = 20 * vtime.Microsecond

// Taps matches the frames of two taps and plays the resulting trace into s. Each tap's times are its own; they must come
// from one clock. Memory holds what lies within the window.
//
// A frame that left is matched with one that arrived when their bytes from the IP header on agree, TTL and header
// checksum aside: of equal frames, with the oldest that the link did not lose, or without a log with the one whose delay
// is closest to that of the packet before; where no packet overtakes another, equal ones keep their order too. What is left is
// matched by destination QP, PSN and opcode, and then by similarity; its record has the received form in Changed. A frame
// that arrived twice is a Copy. One that nobody sent is Injected, and one that never arrived Dropped, unless the other
// tap lost frames about that time: then its fate is Unknown and the cause "capture".
func Taps(h *Header, sources []FrameSource, opt MergeOptions, s Sink) (MergeStats, error) {
	m := newMerger(h, opt, s)
	l := NewLanes(sources, opt.Zero)
	for n := l.Next(); n != nil; n = l.Next() {
		m.step(n)
	}
	m.close(sources)
	return m.stats, l.Err()
}

// merger is a merge in progress.
type merger struct {
	sink   Sink
	atlas  *atlas
	window vtime.Duration
	until  vtime.Time
	stats  MergeStats
	now    vtime.Time

	order   ring.Ring[flight] // all records, in order of time
	sent    ring.Ring[flight] // those that may still be matched, in order of sending
	early   ring.Ring[flight] // arrivals that nothing explains yet
	free    []*flight
	exact   map[uint64]*bucket // by content
	loose   map[looseKey]*bucket
	least   [2]vtime.Duration // of any packet, by sender; zero when not known
	latest  [2]vtime.Time     // when the newest packet that has arrived had left, by sender
	ordered bool              // no packet overtakes another
	delay   [2]vtime.Duration // that is typical now, by sender
	known   [2]bool           // there is one
	recent  [2]recent

	fates  []LinkFate // still to come
	forged forgeries  // still to arrive
	told   bool       // the link keeps a log of all that it does, so what it lost does not wait for an arrival
}

// flight is a packet between the taps.
type flight struct {
	Kept
	key     uint64
	loose   looseKey
	settled bool // its fate is known
	matched bool
	dead    bool // an arrival that turned out to be another record's
	fated   bool // the link's log has spoken
	inOrder bool // still in merger.order
	inSent  bool // still in merger.sent
	inEarly bool // still in merger.early
	cause   string
	let     vtime.Time // when the part of the link that keeps a log let it go; zero: at once
}

// left is when the rest of the link took the packet.
func (f *flight) left() vtime.Time { return max(f.Rec.Sent, f.let) }

// looseKey is what identifies a packet whose bytes changed.
type looseKey struct {
	from   Side
	qp     uint32
	psn    psn.PSN
	ip     roce.IP
	opcode roce.Opcode
}

// looseOf returns the key of a packet. One without BTH has the number of its IP packet in place of a PSN, as in the log of a
// link.
func looseOf(from Side, p *roce.Packet) looseKey {
	k := looseKey{from, p.DestQP, p.Number(), p.IP, p.Opcode}
	if p.Opcode.OverIP() {
		k.psn = psn.PSN(p.IP.ID)
	}
	return k
}

// bucket holds the packets of one key: those that wait for their arrival, and the last that arrived.
type bucket struct {
	waiting []*flight
	last    *flight
}

// newMerger sorts the log of the link, whose held-back packets come late in it.
func newMerger(h *Header, opt MergeOptions, s Sink) *merger {
	m := &merger{sink: s, atlas: newAtlas(h), window: opt.Window, until: opt.Until, exact: map[uint64]*bucket{}, loose: map[looseKey]*bucket{},
		forged: newForgeries(opt.Forged), told: opt.Fates != nil && !opt.Partial, least: opt.Least, ordered: opt.Ordered}
	if m.window == 0 {
		m.window = defaultWindow
	}
	m.fates = slices.Clone(opt.Fates)
	slices.SortStableFunc(m.fates, func(a, b LinkFate) int {
		switch {
		case a.At < b.At:
			return -1
		case a.At > b.At:
			return 1
		}
		return 0
	})
	return m
}

// step takes one frame.
func (m *merger) step(n *Lane) {
	m.now = n.At
	m.link(n.At.Add(-slack))
	m.explain(n.At.Add(-slack))
	m.expire(n.At.Add(-m.window))
	f := m.flight()
	headers := n.Frame.Fill(&f.Rec)
	where := m.atlas.find(&headers)
	tap := n.Frame.Tap
	switch n.Frame.Way {
	case Outward:
		where.from = tap
	case Inward:
		where.from = tap.Other()
	}
	f.Rec.Conn, f.Rec.From = where.conn, where.from
	f.Rec.Sent, f.Rec.Recv = vtime.Never, vtime.Never
	f.key = ContentKey(n.Frame.Raw, where.from)
	f.loose = looseOf(where.from, &f.Rec.Packet)
	m.stats.Frames[tap]++
	if n.Frame.Dropped > 0 {
		m.stats.Gaps = append(m.stats.Gaps, CaptureGap{tap, n.Last, n.At, n.Frame.Dropped})
	}
	if where.from == tap {
		m.leave(f)
	} else {
		m.arrive(f)
	}
	m.emit()
}

// flight returns one to fill; its buffers are used again.
func (m *merger) flight() *flight {
	if k := len(m.free); k > 0 {
		f := m.free[k-1]
		m.free = m.free[:k-1]
		*f = flight{Kept: f.Emptied()}
		return f
	}
	return &flight{}
}

// keepBytes copies the bytes of the frame, which belong to the source.
func (f *flight) keepBytes() {
	r := f.Rec
	f.Keep(&r)
}

// leave takes a frame that left its sender.
func (m *merger) leave(f *flight) {
	f.keepBytes()
	f.Rec.Sent = m.now
	f.inOrder, f.inSent = true, true
	m.order.Push(f)
	m.sent.Push(f)
	for i := range m.early.Len() {
		if e := m.early.At(i); !e.dead && e.key == f.key {
			e.dead, e.settled = true, true
			m.match(f)
			return
		}
	}
	wait(m.exact, f.key, f)
	wait(m.loose, f.loose, f)
}

// arrive takes a frame that reached its receiver.
func (m *merger) arrive(f *flight) {
	if m.forged.take(f.key, m.now) {
		f.keepBytes()
		f.Rec.Recv, f.Rec.Fate, f.settled, f.inOrder = m.now, Injected, true, true
		m.order.Push(f)
		return
	}
	if b := m.exact[f.key]; b != nil {
		original := b.last
		if m.told && original != nil && original.cause == "" {
			original = nil // a log tells what was copied
		}
		if sent := m.choose(b.waiting, m.now, original); sent != nil {
			m.match(sent)
			m.straighten(sent)
			m.free = append(m.free, f)
			return
		}
		f.Rec.Copy = b.last != nil
	}
	f.keepBytes()
	f.Rec.Recv, f.inOrder = m.now, true
	m.order.Push(f)
	if !f.Rec.Copy {
		f.inEarly = true
		m.early.Push(f)
		return
	}
	f.settled = true
	m.copied(f, Delivered, m.exact[f.key].last)
}

// copied settles a copy of a packet that has arrived.
func (m *merger) copied(f *flight, fate Fate, original *flight) {
	f.Rec.Copy, f.Rec.Fate, f.Rec.Cause = true, fate, cmp.Or(original.cause, "duplicate")
	m.stats.Copies++
}

// damaged settles a copy that arrived in another form than it was made: links that do both corrupt copies like all packets.
func (m *merger) damaged(f, original *flight) {
	g, at := f.Rec, f.Rec.Recv
	f.KeepChange(&Change{g.Packet, g.Sum, g.ICRC, g.Raw, g.Defect})
	r := original.Rec
	r.Sent, r.Recv, r.Changed = vtime.Never, at, f.Rec.Changed
	f.Keep(&r)
	m.copied(f, Corrupted, original)
}

// explain decides about arrivals up to a time: no departure of the same bytes is to be expected any more.
func (m *merger) explain(until vtime.Time) {
	for f := m.early.First(); f != nil && f.Rec.Recv <= until; f = m.early.First() {
		m.early.Drop()
		f.inEarly = false
		if !f.dead {
			m.strange(f)
		}
		m.recycle(f)
	}
}

// strange decides about an arrival whose bytes nobody sent.
func (m *merger) strange(f *flight) {
	f.settled = true
	from := f.Rec.From
	sent := m.choose(m.waitingFor(f.loose), f.Rec.Recv, nil)
	var original *flight
	if sent == nil && f.Rec.ICRC == Bad {
		if sent = m.similar(f, false); sent == nil {
			original = m.similar(f, true)
		}
	}
	switch {
	case sent != nil:
		m.change(sent, f)
		f.dead = true
	case original != nil:
		m.damaged(f, original)
	case m.gapNear(from, f.Rec.Recv.Add(-m.window), f.Rec.Recv):
		f.Rec.Fate, f.Rec.Cause = Unknown, causeCapture
	default:
		f.Rec.Fate = Injected
	}
}

// waitingFor lists the packets in flight that look like one whose bytes changed.
func (m *merger) waitingFor(k looseKey) []*flight {
	if b := m.loose[k]; b != nil {
		return b.waiting
	}
	return nil
}

// similarBytes is how many bytes a corrupted frame may differ in to be recognised.
const similarBytes = 8

// similar finds the packet that was damaged in the very fields that identify it, among the frames of its length. It looks once, for
// a frame that nothing else explains, at those in flight, and then at those that have arrived.
func (m *merger) similar(f *flight, arrived bool) *flight {
	var best *flight
	least := similarBytes + 1
	for i := range m.sent.Len() {
		o := m.sent.At(i)
		if o.Rec.Sent > f.Rec.Recv || o.matched != arrived || o.settled != arrived || o.Rec.From != f.Rec.From || len(o.Rec.Raw) != len(f.Rec.Raw) {
			continue
		}
		if d := differing(o.Rec.Raw, f.Rec.Raw, least); d < least {
			best, least = o, d
		}
	}
	return best
}

// differing counts bytes that differ behind the Ethernet header, up to a limit.
func differing(a, b []byte, limit int) int {
	n := 0
	for i := etherLen; i < len(a) && n < limit; i++ {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// match settles a packet that arrived as it was sent.
func (m *merger) match(f *flight) {
	f.Rec.Recv, f.Rec.Fate = m.now, Delivered
	m.arrived(f)
}

// change settles a packet that arrived in the form of got.
func (m *merger) change(f, got *flight) {
	g := &got.Rec
	f.Rec.Recv, f.Rec.Fate, f.Rec.Cause = g.Recv, Corrupted, f.cause
	if f.cause == "" {
		f.Rec.Cause = "corrupt"
	}
	f.KeepChange(&Change{g.Packet, g.Sum, g.ICRC, g.Raw, g.Defect})
	m.arrived(f)
}

// arrived remembers the delay, and that further frames with these bytes are copies.
func (m *merger) arrived(f *flight) {
	if from := f.Rec.From; f.cause == "" { // what a script held back tells nothing about the others
		m.delay[from], m.known[from] = m.recent[from].typical(f.Rec.Recv.Sub(f.Rec.Sent), m.ordered), true
	}
	m.latest[f.Rec.From] = max(m.latest[f.Rec.From], f.left())
	f.settled, f.matched = true, true
	m.unwait(f)
	if b := m.exact[f.key]; b != nil {
		b.last = f
	} else {
		m.exact[f.key] = &bucket{last: f}
	}
}

// wait adds f to the bucket of its key.
func wait[K comparable](m map[K]*bucket, key K, f *flight) {
	b := m[key]
	if b == nil {
		b = &bucket{}
		m[key] = b
	}
	b.waiting = append(b.waiting, f)
}

// unwait removes f from its buckets, and buckets that nothing is left in.
func (m *merger) unwait(f *flight) {
	leave(m.exact, f.key, f)
	leave(m.loose, f.loose, f)
}

// leave takes f out of the bucket of its key; an empty bucket is removed, so that memory follows the window.
func leave[K comparable](m map[K]*bucket, key K, f *flight) {
	b := m[key]
	if b == nil {
		return
	}
	if i := slices.Index(b.waiting, f); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	}
	if b.last == f {
		b.last = nil
	}
	if len(b.waiting) == 0 && b.last == nil {
		delete(m, key)
	}
}

// link applies the entries of the link's log up to now: each to the newest packet it can mean.
func (m *merger) link(now vtime.Time) {
	for len(m.fates) > 0 && m.fates[0].At <= now {
		e := &m.fates[0]
		m.fates = m.fates[1:]
		f := m.logged(e)
		if f == nil {
			m.stats.Unexplored++
			continue
		}
		f.fated, f.cause, f.let = true, e.Cause, e.Left
		if f.matched || !e.Lost {
			f.Rec.Cause = e.Cause
			continue
		}
		m.lose(f, Dropped, e.Cause)
	}
}

// logged finds the packet of an entry: the one that left closest before it, by two time stamps that differ a little.
func (m *merger) logged(e *LinkFate) (found *flight) {
	least := vtime.Duration(vtime.Never)
	for i := m.sent.Len() - 1; i >= 0; i-- {
		f := m.sent.At(i)
		off := e.At.Sub(f.Rec.Sent)
		if off > least {
			break // and so are all that left earlier
		}
		k := &f.loose
		if !f.fated && off >= -slack && max(off, -off) < least && k.from == e.From && k.psn == e.PSN && k.opcode == e.Opcode {
			found, least = f, max(off, -off)
		}
	}
	return found
}

// lose settles a packet that will not arrive.
func (m *merger) lose(f *flight, fate Fate, cause string) {
	f.Rec.Fate, f.Rec.Cause, f.settled = fate, cause, true
	m.unwait(f)
}

// expire gives up packets sent before the window, and forgets those that arrived.
func (m *merger) expire(before vtime.Time) {
	for f := m.sent.First(); f != nil && f.Rec.Sent < before; f = m.sent.First() {
		m.sent.Drop()
		if !f.settled {
			m.giveUp(f)
		}
		m.unwait(f)
		f.inSent = false
		m.recycle(f)
	}
}

// giveUp decides about a packet that was not seen again.
func (m *merger) giveUp(f *flight) {
	if m.gapNear(f.Rec.From.Other(), f.Rec.Sent, f.Rec.Sent.Add(m.window)) {
		m.lose(f, Unknown, causeCapture)
		return
	}
	m.lose(f, Dropped, "loss")
}

// gapNear reports whether a tap lost frames between two times.
func (m *merger) gapNear(tap Side, from, to vtime.Time) bool {
	for i := len(m.stats.Gaps) - 1; i >= 0; i-- {
		if g := &m.stats.Gaps[i]; g.Tap == tap && g.From <= to && g.To >= from {
			return true
		}
	}
	return false
}

// emit hands on what is settled, in order.
func (m *merger) emit() {
	for f := m.order.First(); f != nil && f.settled; f = m.order.First() {
		m.order.Drop()
		if !f.dead {
			m.stats.Fates[f.Rec.Fate]++
			m.sink.Packet(&f.Rec)
		}
		f.inOrder = false
		m.recycle(f)
	}
}

// recycle takes back a flight that is in no queue.
func (m *merger) recycle(f *flight) {
	if !f.inOrder && !f.inSent && !f.inEarly {
		m.free = append(m.free, f)
	}
}

// close settles what is left. What was in flight when the taps stopped is not lost, unless it cannot be in flight any more: for
// its age, or because what was sent later has arrived where nothing overtakes.
func (m *merger) close(sources []FrameSource) {
	m.link(vtime.Never)
	m.explain(vtime.Never)
	m.now = max(m.now, m.until)
	for f := m.sent.First(); f != nil; f = m.sent.First() {
		m.sent.Drop()
		if from := f.Rec.From; !f.settled {
			if m.known[from] && m.now.Sub(f.Rec.Sent) > 2*m.delay[from] || m.ordered && f.left() < m.latest[from] {
				m.giveUp(f)
			} else {
				m.lose(f, Unknown, causeCapture)
			}
		}
		f.inSent = false
		m.recycle(f)
	}
	m.emit()
	m.lateGaps(sources)
	m.sink.End(m.now)
}

// lateGaps reports losses that a tap counted without saying when.
func (m *merger) lateGaps(sources []FrameSource) {
	for i, src := range sources {
		tap := Side(i & 1)
		if t, ok := src.(AtTap); ok {
			tap = t.Side
		}
		lost := StatsOf(src).Dropped
		for _, g := range m.stats.Gaps {
			if g.Tap == tap {
				lost -= min(lost, g.Frames)
			}
		}
		if lost > 0 {
			m.stats.Gaps = append(m.stats.Gaps, CaptureGap{tap, 0, m.now, lost})
		}
	}
}

// ContentKey identifies a frame by its bytes from the IP header on, except for TTL and header checksum, which every
// router changes. Two CRCs of different polynomials make it 64 bits wide at memory speed.
func ContentKey(raw []byte, from Side) uint64 {
	var head [40]byte
	n := copy(head[:], raw[min(etherLen, len(raw)):])
	switch head[0] >> 4 {
	case 4:
		head[8], head[10], head[11] = 0, 0, 0
	case 6:
		head[7] = 0
	}
	rest := raw[min(etherLen+n, len(raw)):]
	a := crc32.Update(crc32.ChecksumIEEE(head[:n]), crc32.IEEETable, rest)
	b := crc32.Update(crc32.Checksum(head[:n], castagnoli), castagnoli, rest)
	return uint64(a)<<32 | uint64(b) ^ uint64(from)
}

// etherLen is the length of an Ethernet header without a VLAN tag.
const etherLen = 14

// castagnoli is the polynomial that processors compute.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)
