package wrk

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var sentAsPosted = rule.Rule{
	ID: "WRK-WIRE-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "A posted request appears on the wire with its operation, length, address, key and immediate, and nothing " +
		"appears that was not posted",
	Source: rule.Source{Ref: "OC; IBTA 9.4", Requirement: "The packets of a request carry its operation, its " +
		"address, key and length, and its immediate."},
	Needs: rule.TapRequester | rule.Attributes | rule.Assigned, Sees: rule.RequestOut,
	Stimulus: "a request that is sent, and is known to have been posted or ordered", BlackBox: telling,
	New: func(c *rule.Context) rule.Check {
		return judgeSending(c, func(d *departure, wrong string, later bool) {
			switch {
			case wrong == "":
				c.Met()
			case !later:
				c.FailAt(d.at, d.record, rule.Requester, wrong)
			}
		})
	},
}

// sending matches the packets that leave with the posted requests of a queue pair. Every request has PSNs of its own,
// which follow from the earlier posts, so a packet that no tap has seen shifts nothing.
type sending struct {
	c      *rule.Context
	book   *book
	posted bool // posts are reported; otherwise the orders stand for them
	queue  []task
	head   int
	made   int     // number of orders queued, where they stand for posts
	at     psn.PSN // first PSN of queue[head]
	begun  bool    // at is set
	now    departure
	early  []departure // packets whose requests have not been posted yet
	lost   bool        // the requests of later packets are not known, or a finding has been made
	apart  bool        // READs take one PSN
	reads  bool        // a READ has been seen

	judges []judgement // of the rules that share the queue
}

// judgement judges a departure: wrong tells how it differs from the oldest posted request, and later that it belongs to
// a later one.
type judgement func(d *departure, wrong string, later bool)

type sendingKey struct{}

// task is a request that was posted.
type task struct {
	wr    engine.WorkRequest
	place bool // its address and key are known
	whole bool // all its other fields are known
}

// departure is a request packet that left for the first time.
type departure struct {
	at     vtime.Time
	record uint64
	pkt    *roce.Packet
}

// earlyLimit bounds the packets that are kept until the post of their request is reported.
const earlyLimit = 1 << 12

// lookAhead is how many orders are compared with a packet that is not of the oldest one; it is far above any queue
// depth in use.
const lookAhead = 1 << 10

// judgeSending makes the check of a rule. The check of the first rule of a half-conversation tracks the requests for
// both.
func judgeSending(c *rule.Context, judge judgement) rule.Check {
	w := c.Shared(sendingKey{}, func() any {
		return &sending{c: c, book: newBook(c), posted: c.Offers(rule.Completions)}
	}).(*sending)
	if w.judges = append(w.judges, judge); len(w.judges) > 1 {
		return rule.Check{}
	}
	return rule.Check{Sight: w.sight, Event: w.event, End: w.end}
}

// judge passes a departure to the rules.
func (w *sending) judge(d *departure, wrong string, later bool) {
	for _, j := range w.judges {
		j(d, wrong, later)
	}
}

func (w *sending) event(e *trace.Event) {
	if e.Kind != trace.Post || !w.c.Mine(e) || !w.posted || w.lost {
		return
	}
	t := task{wr: engine.WorkRequest{ID: e.Body.ID, Op: e.Body.Op, Len: e.Len, Imm: e.Body.Imm,
		RemoteVA: e.VA, RKey: e.RKey},
		place: e.VA != 0 || e.RKey != 0}
	if want, wrong := w.book.post(e); wrong == "" {
		t.whole = true
		t.wr.Imm, t.wr.InvKey, t.wr.Compare, t.wr.SwapAdd = want.Imm, want.InvKey, want.Compare, want.SwapAdd
		if !t.place && want.RemoteVA != 0 {
			t.place, t.wr.RemoteVA, t.wr.RKey = true, want.RemoteVA, want.RKey
		}
	}
	w.push(t)
	for len(w.early) > 0 && !w.lost && w.take(&w.early[0]) {
		w.early = w.early[:copy(w.early, w.early[1:])]
	}
}

func (w *sending) push(t task) {
	if w.head > 256 && w.head > len(w.queue)/2 {
		w.queue = w.queue[:copy(w.queue, w.queue[w.head:])]
		w.head = 0
	}
	if w.lost = w.lost || len(w.queue) == queueLimit; !w.lost {
		w.queue = append(w.queue, t)
	}
}

// order queues the next order where orders stand for posts. It returns false if there are several series, because their
// interleaving is not known.
func (w *sending) order() bool {
	if w.posted || len(w.book.list) != 1 {
		return false
	}
	s := &w.book.list[0]
	if s.Scripted || s.Abroad || s.Count > 0 && w.made == s.Count {
		return false
	}
	w.push(task{wr: s.Request(w.made), place: true, whole: true})
	w.made++
	return true
}

func (w *sending) sight(s *rule.Sight) {
	if s.Relation != rule.First || w.lost || !s.Intact() || !w.posted && len(w.book.list) != 1 {
		return
	}
	if !w.begun {
		w.begun, w.at = true, w.c.Start
	}
	w.now = departure{s.At, s.Index, s.Pkt}
	if len(w.early) == 0 && w.take(&w.now) {
		return
	}
	if w.lost = w.lost || len(w.early) == earlyLimit; !w.lost {
		kept := *s.Pkt
		kept.Payload = nil
		w.early = append(w.early, departure{s.At, s.Index, &kept})
	}
}

// take finds the request of a packet, and judges the packet; it returns false while the request has not been posted.
func (w *sending) take(d *departure) bool {
	for !w.lost {
		if w.head == len(w.queue) && !w.order() {
			return false
		}
		t := &w.queue[w.head]
		span := w.span(&t.wr, d.pkt)
		off := d.pkt.PSN.Sub(w.at)
		switch {
		case w.lost || off < 0:
			return true
		case off < span:
			w.compare(t, d, off, span)
			if off == span-1 || d.pkt.Opcode.EndsMessage() {
				w.head++
				w.at = w.at.Add(span)
			}
			return true
		}
		w.head++
		w.at = w.at.Add(span)
	}
	return true
}

// span returns how many PSNs a request takes. It sets lost when that depends on packets that were not seen.
func (w *sending) span(wr *engine.WorkRequest, p *roce.Packet) int {
	switch wr.Op {
	case engine.OpRead:
		if p.Opcode.IsRead() {
			w.reads, w.apart = true, p.Opcode.Class() != roce.ClassRC
		}
		if w.apart {
			return 1
		}
		if !w.reads && p.PSN != w.at {
			w.lost = true
		}
	case engine.OpCompareSwap, engine.OpFetchAdd:
		return 1
	}
	n := w.c.Packets(wr.Len)
	w.lost = w.lost || n == 0
	return max(1, n)
}

// compare judges packet number off of a request.
func (w *sending) compare(t *task, d *departure, off, span int) {
	wrong := unlike(t, d.pkt, off, span, w.c.MTU)
	if wrong == "" {
		if off == span-1 || d.pkt.Opcode.EndsMessage() {
			w.judge(d, "", false)
		}
		return
	}
	later := false
	for made := w.made; w.made-made < lookAhead && w.order(); { // the orders that stand for posts
		continue
	}
	for i := w.head + 1; i < len(w.queue) && off == 0 && !later; i++ {
		o := &w.queue[i]
		later = o.place && unlike(o, d.pkt, 0, w.span(&o.wr, d.pkt), w.c.MTU) == ""
	}
	w.lost = true
	w.judge(d, wrong, later)
}

func (w *sending) end(at vtime.Time) {
	if w.lost || !w.begun {
		return
	}
	if known := w.book.some || w.made > 0; len(w.early) > 0 && known && at.Sub(w.early[0].at) > rule.Patience {
		w.judge(&w.early[0], w.early[0].pkt.Opcode.String()+" was not posted", false)
	}
}
