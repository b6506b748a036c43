// Package merge makes one trace of captured frames: from the taps at the two ends of a link and the link's own log
// (Taps), from the taps of every hop of a path with a middlebox in it (Hops), or from one tap alone (OneTap).
//
// Frames are matched by their bytes. A frame that left and arrived is delivered, one that left and never arrived is
// dropped, and so on; Taps has the whole list. The package knows no rule of a protocol, only which bytes were seen
// where and when, and it reports the frames that the taps themselves lost, so that no endpoint is accused of losing
// them.
package merge

import (
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/internal/ring"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Options are the parameters of a merge of two taps.
type Options struct {
	Zero   time.Time      // wall-clock time of vtime 0; zero: the first frame
	Window vtime.Duration // a packet that has not arrived after this time is Dropped; zero: 500 ms
	// the link's log, in any order; if it names a frame, it names every frame with the same bytes; nil when there is no
	// log
	Fates []LinkFate
	// the log covers a part of the link: packets that it does not name may be lost or delayed
	Partial bool
	// least delay of a packet, by sender; zero: not known, and half of the typical delay takes its place
	Least   [2]vtime.Duration
	Ordered bool       // no packet overtakes another
	Forged  []Forgery  // frames that the harness itself put on the link, in any order
	Foreign bool       // captures of a foreign link: unrelated traffic to the RoCEv2 port is left out
	Until   vtime.Time // time until which, at least, the taps captured; zero: the last frame
}

// Stats counts the frames and their fates.
type Stats struct {
	Frames     [2]uint64 // frames of each tap
	Fates      [5]uint64 // records by Fate
	Copies     uint64
	Explored   uint64 // entries of the link's log that match a frame
	Unexplored uint64 // entries of the link's log that match no frame
	Early      uint64 // packets with an arrival before their departure, by the clocks of the taps
	Gaps       []Gap  // losses that the taps report
}

// causeCapture is the cause of the fate of a packet whose fate is unknown because a tap lost frames at that time, or
// stopped.
const causeCapture = "capture"

const defaultWindow = 500 * vtime.Millisecond

// slack is the most by which the time stamp of a packet's departure may follow that of its arrival: the clocks of two
// taps of one host differ by the time that a frame takes from one tap to the other.
const slack = 20 * vtime.Microsecond

// Taps matches the frames of two taps and plays the resulting trace into s. Each tap's times are its own; they must
// come from one clock. Memory is bounded by the frames within the window.
//
// A frame that left is matched with one that arrived when their bytes from the EtherType on agree, TTL and header
// checksum aside: of several frames with equal bytes, with the one that was due first by the log of the link or,
// without a log, with the one whose delay is closest to that of the packet before; where no packet overtakes another,
// equal frames keep their order. A log has the bytes with which a frame left the link. Without a log, the remaining
// frames are matched by similarity, and by destination QP, PSN and opcode. The record of a frame that arrived with
// other bytes has those in Changed. Taps accepts any frame, also malformed ones. A frame that arrived twice is a Copy.
// One that was never sent is Injected, and one that never arrived Dropped, unless the other tap lost frames about that
// time: then its fate is Unknown and the cause "capture".
func Taps(h *trace.Header, sources []capture.Source, opt Options, s trace.Sink) (Stats, error) {
	m := newMerger(h, opt, s)
	l := capture.NewLanes(sources, opt.Zero)
	for n := l.Next(); n != nil; n = l.Next() {
		m.step(n)
	}
	m.close(sources)
	return m.stats, l.Err()
}

// merger is a merge in progress.
type merger struct {
	sink    trace.Sink
	atlas   *atlas
	headers roce.Frame // headers of the latest frame
	window  vtime.Duration
	until   vtime.Time
	stats   Stats
	now     vtime.Time

	order   ring.Ring[flight] // all records, in order of time
	sent    ring.Ring[flight] // sent frames that may still be matched, in order of sending
	early   ring.Ring[flight] // arrivals without a matching departure so far
	free    []*flight
	index   index
	least   [2]vtime.Duration // of any packet, by sender; zero when not known
	latest  [2]vtime.Time     // departure time of the newest packet that has arrived, by sender
	ordered bool              // no packet overtakes another
	foreign bool              // unrelated traffic may pass the taps and is left out
	delay   [2]vtime.Duration // typical delay at present, by sender
	known   [2]bool           // delay is known
	recent  [2]recent

	ledger ledger    // entries of packets that are still to be sent
	forged forgeries // forged frames that are still to arrive
	told   bool      // the log covers the whole link, so packets that it lost are not awaited
}

// newMerger returns a merge that has not begun.
func newMerger(h *trace.Header, opt Options, s trace.Sink) *merger {
	m := &merger{sink: s, atlas: newAtlas(h), window: opt.Window, until: opt.Until, index: newIndex(),
		forged: newForgeries(opt.Forged), ledger: newLedger(opt.Fates), told: opt.Fates != nil && !opt.Partial,
		least: opt.Least, ordered: opt.Ordered, foreign: opt.Foreign}
	if m.window == 0 {
		m.window = defaultWindow
	}
	return m
}

// step processes one frame.
func (m *merger) step(n *capture.Lane) {
	m.now = n.At
	m.explain(n.At.Add(-slack))
	m.expire(n.At.Add(-m.window))
	f := m.flight()
	n.Frame.Fill(&f.Rec, &m.headers)
	where := m.atlas.place(&m.headers, &f.Rec)
	tap := n.Frame.Tap
	switch n.Frame.Way {
	case capture.Outward:
		where.from = tap
	case capture.Inward:
		where.from = tap.Other()
	}
	f.Rec.Conn, f.Rec.From = where.conn, where.from
	if m.foreign && (m.atlas.strangers(&m.headers, &f.Rec) || n.Frame.AnotherPort && !m.atlas.sends(&m.headers, &f.Rec)) {
		m.free = append(m.free, f)
		return
	}
	f.Rec.Sent, f.Rec.Recv = vtime.Never, vtime.Never
	f.key = ContentKey(n.Frame.Raw, where.from)
	if m.foreign { // the taps may see a packet with different tags and padding
		f.key = KeyOf(capture.PacketKey(n.Frame.Raw), where.from)
	}
	f.loose = looseOf(where.from, &f.Rec.Packet)
	m.stats.Frames[tap]++
	if n.Frame.Dropped > 0 {
		m.stats.Gaps = append(m.stats.Gaps, Gap{tap, n.Last, n.At, n.Frame.Dropped})
	}
	if where.from == tap {
		m.leave(f)
	} else {
		m.arrive(f)
	}
	m.emit()
}

// flight returns an empty flight, with the buffers of a recycled one if there is one.
func (m *merger) flight() *flight {
	if k := len(m.free); k > 0 {
		f := m.free[k-1]
		m.free = m.free[:k-1]
		f.Empty()
		f.progress = progress{}
		return f
	}
	return &flight{}
}

// leave processes a frame that left its sender.
func (m *merger) leave(f *flight) {
	f.keepBytes()
	f.Rec.Sent = m.now
	f.inOrder, f.inSent = true, true
	m.order.Push(f)
	m.sent.Push(f)
	if m.account(f); f.settled {
		return
	}
	for i := range m.early.Len() {
		e := m.early.At(i)
		if e.settled || e.key != f.key {
			continue
		}
		if !m.told {
			e.dead, e.settled = true, true
			m.settle(f, e)
			return
		}
		m.foreseen(e, e.Rec.Recv.Add(rounding))
	}
}

// arrive processes a frame that reached its receiver.
func (m *merger) arrive(f *flight) {
	if m.forged.take(f.key, m.now) {
		f.keepBytes()
		f.Rec.Recv, f.Rec.Fate, f.settled, f.inOrder = m.now, trace.Injected, true, true
		m.order.Push(f)
		return
	}
	if b := m.index.exact[f.key]; b != nil {
		if m.told && m.foretold(b, f) {
			return
		}
		if sent := m.choose(b.waiting, m.now, b.last); sent != nil && !m.told {
			f.Rec.Recv = m.now
			m.settle(sent, f)
			m.straighten(sent)
			m.free = append(m.free, f)
			return
		}
		f.Rec.Copy = b.last != nil && !m.told
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
	m.copied(f, m.index.exact[f.key].last)
}

// explain settles the arrivals up to a time; no departure with their bytes can follow any more.
func (m *merger) explain(until vtime.Time) {
	for f := m.early.First(); f != nil && f.Rec.Recv <= until; f = m.early.First() {
		m.early.Drop()
		f.inEarly = false
		if !f.settled {
			m.strange(f)
		}
		m.recycle(f)
	}
}

// settle settles packet f, which arrived as got with the bytes with which it left the link: its sent bytes, unless
// altered. If the clocks of the two taps show the arrival before the departure, the arrival is set to the departure.
func (m *merger) settle(f, got *flight) {
	if got.Rec.Recv < f.Rec.Sent {
		got.Rec.Recv = f.Rec.Sent
		m.stats.Early++
	}
	if f.altered {
		fate := f.Rec.Fate
		m.change(f, got)
		f.Rec.Fate = fate
		return
	}
	f.Rec.Recv, f.Rec.Fate = got.Rec.Recv, trace.Delivered
	m.arrived(f)
}

// arrived records the delay of f, and that further frames with its bytes are copies.
func (m *merger) arrived(f *flight) {
	// the delay of a packet that a scripted fault held back says nothing about others
	if from := f.Rec.From; f.cause == "" {
		m.delay[from], m.known[from] = m.recent[from].typical(f.Rec.Recv.Sub(f.Rec.Sent), m.ordered), true
	}
	m.latest[f.Rec.From] = max(m.latest[f.Rec.From], f.left())
	f.settled, f.matched = true, true
	m.index.arrived(f)
}

// lose settles a packet that will not arrive.
func (m *merger) lose(f *flight, fate trace.Fate, cause string) {
	f.Rec.Fate, f.Rec.Cause, f.settled = fate, cause, true
	m.index.remove(f)
}

// expire drops packets sent before the window from the index, and settles those that did not arrive.
func (m *merger) expire(before vtime.Time) {
	for f := m.sent.First(); f != nil && f.Rec.Sent < before; f = m.sent.First() {
		m.sent.Drop()
		if !f.settled {
			m.giveUp(f)
		}
		m.index.forget(f)
		f.inSent = false
		m.recycle(f)
	}
}

// giveUp settles a packet that did not arrive. If the log covers the whole link, the link has not lost it: the tap has.
func (m *merger) giveUp(f *flight) {
	if m.told || m.gapNear(f.Rec.From.Other(), f.Rec.Sent, f.Rec.Sent.Add(m.window)) {
		m.lose(f, trace.Unknown, causeCapture)
		return
	}
	m.lose(f, trace.Dropped, "loss")
}

// emit passes settled records to the sink, in order, up to the first that is not settled.
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

// close settles the remaining packets. A packet in flight when the taps stopped is not lost, unless it cannot be in
// flight any more: for its age, or because, on a link without reordering, a later packet has arrived.
func (m *merger) close(sources []capture.Source) {
	m.explain(vtime.Never)
	m.stats.Unexplored = m.ledger.left()
	m.now = max(m.now, m.until)
	for f := m.sent.First(); f != nil; f = m.sent.First() {
		m.sent.Drop()
		if from := f.Rec.From; !f.settled {
			if m.known[from] && m.now.Sub(f.Rec.Sent) > 2*m.delay[from] || m.now.Sub(f.Rec.Sent) > m.window ||
				m.ordered && f.left() < m.latest[from] {
				m.giveUp(f)
			} else {
				m.lose(f, trace.Unknown, causeCapture)
			}
		}
		f.inSent = false
		m.recycle(f)
	}
	m.emit()
	m.lateGaps(sources)
	m.sink.End(m.now)
}
