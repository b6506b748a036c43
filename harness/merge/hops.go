package merge

import (
	"cmp"
	"iter"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Span is the evidence of one hop of a path: its taps and the log of its link.
type Span struct {
	Sources []capture.Source  // the taps at its two ends
	Fates   []LinkFate        // the log of its link; nil when there is none
	Partial bool              // the log is of a part of the link
	Least   [2]vtime.Duration // least delay of a packet, by sender; zero when not known
	Ordered bool              // no packet overtakes another
	Watch   trace.Sink        // receives the records of this hop before they are merged with those of other hops
	Forged  []Forgery         // frames that were made for this hop
}

// Hops is Taps for a path of several hops. Spans are in the order of the connections of h: the LAN comes before the
// WAN. Each hop is merged separately, and the records of all hops are played into s in time order. Fates, Partial,
// Forged, Least and Ordered are taken from the spans, not from opt.
func Hops(h *trace.Header, spans []Span, opt Options, s trace.Sink) error {
	b := hopMerger{per: len(h.Conns) / len(spans)}
	for i := range spans {
		stop := b.add(h, i, &spans[i], opt)
		defer stop()
	}
	for hop := b.earliest(); hop != nil; hop = b.earliest() {
		s.Packet(hop.head)
		hop.advance()
	}
	s.End(b.end)
	return b.err
}

// hopMerger merges the records of the hops of a path into one trace.
type hopMerger struct {
	per  int // connections per hop
	hops []*hopRecords
	end  vtime.Time // the latest end of a hop's trace
	err  error
}

// hopRecords is the records of one hop; the next record is in head.
type hopRecords struct {
	next func() (*trace.Record, bool)
	head *trace.Record // nil at the end; valid until advance
}

func (hop *hopRecords) advance() { hop.head, _ = hop.next() }

// add starts the merge of hop i; stop must be called.
func (b *hopMerger) add(h *trace.Header, i int, sp *Span, opt Options) (stop func()) {
	part := *h
	part.Conns = h.Conns[i*b.per:][:b.per]
	opt.Fates, opt.Partial, opt.Forged, opt.Least, opt.Ordered = sp.Fates, sp.Partial, sp.Forged, sp.Least, sp.Ordered
	hop := &hopRecords{}
	hop.next, stop = iter.Pull(func(yield func(*trace.Record) bool) {
		_, err := Taps(&part, sp.Sources, opt, &hopSink{merger: b, watch: sp.Watch, yield: yield, shift: i * b.per})
		b.err = cmp.Or(b.err, err)
	})
	hop.advance()
	b.hops = append(b.hops, hop)
	return stop
}

// earliest returns the hop whose next record is the earliest, the first of them at equal times; nil at the end.
func (b *hopMerger) earliest() (first *hopRecords) {
	for _, hop := range b.hops {
		if hop.head != nil && (first == nil || hop.head.Time() < first.head.Time()) {
			first = hop
		}
	}
	return first
}

// hopSink receives the trace of one hop, and renumbers its connections as those of the path.
type hopSink struct {
	merger *hopMerger
	watch  trace.Sink
	yield  func(*trace.Record) bool
	shift  int
	done   bool // the consumer wants no more records
}

// Packet implements trace.Sink.
func (k *hopSink) Packet(r *trace.Record) {
	if k.done {
		return
	}
	k.watch.Packet(r)
	if r.Conn >= 0 {
		r.Conn += k.shift
	}
	k.done = !k.yield(r)
}

// Event implements trace.Sink; captures have no events.
func (k *hopSink) Event(*trace.Event) {}

// End implements trace.Sink.
func (k *hopSink) End(at vtime.Time) { k.merger.end = max(k.merger.end, at) }
