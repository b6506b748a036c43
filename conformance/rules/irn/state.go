package irn

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/selective"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// order is the order in which an engine reports the variables of its sender, named as in IRNH.
var order = []string{"next_sn_to_send", "last_acked_psn", "retransmit_sn", "recover_sn", "in_recovery", "do_retransmit"}

// snapshot is the reported state of the sender of requests after one input.
type snapshot struct {
	at         vtime.Time // of the latest report
	acked      psn.PSN    // lastAcked: the oldest unacknowledged PSN
	retransmit psn.PSN    // retransmitSN: the next hole to retransmit
	recov      psn.PSN    // recoverSN: the newest PSN sent at the latest retransmission
	inRecovery bool       // inRecovery
	pending    bool       // doRetransmit: the retransmission of retransmit is due
}

// watcher collects the reports of the sender of requests.
type watcher struct {
	*selective.Reports[snapshot]
	c *rule.Context
}

// newWatcher returns a watcher that calls step for every change.
func newWatcher(c *rule.Context, step func(w *watcher, prev, cur *snapshot)) *watcher {
	w := &watcher{selective.NewReports(c, true,
		snapshot{acked: c.Start, retransmit: c.Start, recov: c.Start}), c}
	w.Order, w.Set = order, (*snapshot).set
	w.Step = func(prev, cur *snapshot) { step(w, prev, cur) }
	return w
}

// set sets one variable.
func (s *snapshot) set(e *trace.Event) {
	p := psn.New(uint32(e.Value))
	switch s.at = e.At; e.Name {
	case "last_acked_psn":
		s.acked = p
	case "retransmit_sn":
		s.retransmit = p
	case "recover_sn":
		s.recov = p
	case "in_recovery":
		s.inRecovery = e.Value != 0
	case "do_retransmit":
		s.pending = e.Value != 0
	}
}

// fail reports a violation that the reports show at their latest time.
func (w *watcher) fail(text string) { w.c.FailAt(w.Cur.at, rule.NoRecord, rule.Requester, text) }

const senderState = rule.TapRequester | rule.Probes | rule.Attributes

var recoveryEntered = define(rule.Rule{
	ID: "IRN-REC-001", Level: rule.Must,
	Title: "Recovery is entered by a retransmission of the oldest packet after a NACK or a timeout, and by nothing else",
	Source: rule.Source{Ref: recovery + "; " + hls, Requirement: "When a NACK is received or when a timeout occurs, " +
		"the sender enters loss recovery mode; txFree: sending the retransmission of lastAcked sets inRecovery."},
	Needs: senderState | rule.Completions, Sees: ofSender, Stimulus: "a lost packet",
	New: func(c *rule.Context) rule.Check {
		w := newWatcher(c, func(w *watcher, prev, cur *snapshot) {
			switch {
			case prev.inRecovery || !cur.inRecovery:
			case !prev.pending || prev.retransmit != prev.acked:
				w.fail("recovery is entered, and no retransmission of the oldest packet was due")
			default:
				c.Met()
			}
		})
		r := newRequests(c, selective.FromNothing)
		return rule.Check{End: w.End, Event: func(e *trace.Event) {
			w.Event(e)
			r.Event(e)
		}, Sight: func(s *rule.Sight) {
			w.Flush()
			r.sight(s)
			if s.Relation == rule.Again && s.Pkt.PSN == w.Cur.acked && s.Pkt.PSN == c.UNA && !w.Cur.inRecovery {
				c.Failf(rule.Requester, "%s, the oldest, is sent again outside recovery; nothing expected", c.Rel(s.Pkt.PSN))
			}
		}}
	},
})

var recoveryLeft = define(rule.Rule{
	ID: "IRN-REC-005", Level: rule.Must,
	Title: "recoverSN is the newest packet sent at each retransmission; recovery ends when it is " +
		"acknowledged, and not before",
	Source: rule.Source{Ref: recovery + "; " + hls, Requirement: "A sender exits loss recovery when a cumulative " +
		"acknowledgement greater than the recovery sequence is received, where the recovery sequence corresponds to " +
		"the last regular packet that was sent before the retransmission of a lost packet."},
	Needs: senderState, Sees: rule.RequestOut, Stimulus: "losses while another is repaired",
	New: func(c *rule.Context) rule.Check {
		w := newWatcher(c, func(w *watcher, prev, cur *snapshot) {
			left := prev.inRecovery && !cur.inRecovery
			switch {
			case left && cur.acked.LessEq(prev.recov):
				w.fail("recovery ends while " + c.Rel(prev.recov) + ", which is recoverSN, is not acknowledged")
			case cur.inRecovery && cur.recov.Less(cur.acked):
				w.fail("recovery continues after " + c.Rel(cur.recov) + ", which is recoverSN, is acknowledged")
			case left:
				c.Met()
			}
		})
		return rule.Check{Event: w.Event, End: w.End, Sight: func(s *rule.Sight) {
			w.Flush()
			if s.Relation == rule.Again && w.Cur.inRecovery && w.Cur.recov.Less(c.MAX.Prev()) {
				c.Failf(rule.Requester, "%s is sent again, and recoverSN is %s, not %s", c.Rel(s.Pkt.PSN),
					c.Rel(w.Cur.recov), c.Rel(c.MAX.Prev()))
			}
		}}
	},
})

var bitmapEncoding = define(rule.Rule{
	ID: "IRN-BMP-001", Level: rule.Must,
	Title: "The 2-bitmap holds for each packet whether it arrived, whether it ends a message, and whether a " +
		"receive completes with it",
	Source: rule.Source{Ref: early, Requirement: "A 2-bitmap tracks whether a packet arrived or not, and whether it " +
		"is the last packet of a message that will trigger an MSN update and in certain cases, in addition, a CQE."},
	Needs: rule.TapResponder | rule.Probes | rule.Attributes, Sees: rule.RequestIn | rule.ResponseOut,
	Stimulus: "SENDs, WRITEs and READs behind a lost packet",
	New: func(c *rule.Context) rule.Check {
		b := bitmaps{c: c, r: newReceiver(c), kinds: map[psn.PSN]kind{}}
		b.r.Match = func(*answer, *rule.Sight) {}
		return rule.Check{Sight: b.sight, Event: b.event}
	},
})

// kind is the value of a packet in the 2-bitmap: "the 2-bitmap tracks whether a packet arrived and whether it is the
// last packet of a message that will trigger (1) an MSN update and in certain cases (2) a CQE" (IRN 5.3.3).
type kind uint8

const (
	middle   kind = 0b10
	last     kind = 0b01
	lastCQE  kind = 0b11
	kindBits      = 2
)

// kindOf returns the kind of a request: WRITE_LAST, WRITE_ONLY and READ_REQUEST count messages; the end of a SEND, and
// an immediate, also complete a receive.
func kindOf(o roce.Opcode) kind {
	switch {
	case !o.EndsMessage():
		return middle
	case o.IsSend(), o.HasImm():
		return lastCQE
	}
	return last
}

// shown is the number of PSNs in the variable rcv_bitmap. recentLimit is the number of arrivals that a report may lag,
// as a real endpoint takes all packets waiting at its port at once.
const (
	shown       = 31
	recentLimit = 1024
)

// bitmaps compares each reported bitmap with the recent bitmaps of the reference. A bitmap that several arrivals do not
// change is reported once.
type bitmaps struct {
	c      *rule.Context
	r      *selective.Receiver[cause]
	kinds  map[psn.PSN]kind // of the requests kept
	behind bool             // the latest arrival is not in recent yet
	recent []int64          // bitmaps that may still be reported, oldest first
}

func (b *bitmaps) sight(s *rule.Sight) {
	b.settle()
	b.r.Sight(s)
	if b.behind = s.Point == trace.ResponderIn && !b.r.Blind; s.Kept {
		b.kinds[s.Pkt.PSN] = kindOf(s.Pkt.Opcode)
	}
}

// settle appends the bitmap after the latest arrival: two bits for each PSN, the expected one in the lowest.
func (b *bitmaps) settle() {
	if !b.behind {
		return
	}
	b.behind = false
	if b.c.Held == 0 {
		clear(b.kinds)
	}
	var bits int64
	for i := range shown {
		if p := b.c.EPSN.Add(i); b.c.Holds(p) {
			bits |= int64(b.kinds[p]) << (kindBits * i)
		}
	}
	if len(b.recent) == recentLimit {
		b.recent = b.recent[:copy(b.recent, b.recent[recentLimit/2:])]
	}
	b.recent = append(b.recent, bits)
}

func (b *bitmaps) event(e *trace.Event) {
	b.settle()
	if e.Kind != trace.Probe || e.Name != "rcv_bitmap" || b.c.Mine(e) || b.r.Blind || b.c.Fatal {
		return
	}
	if i := slices.Index(b.recent, e.Value); i >= 0 {
		b.recent = b.recent[i:]
		if e.Value != 0 {
			b.c.Met()
		}
		return
	}
	if len(b.recent) > 0 {
		b.c.Failf(rule.Responder, "the 2-bitmap is %#b; %#b expected from the arrivals", uint64(e.Value),
			uint64(b.recent[len(b.recent)-1]))
	}
}
