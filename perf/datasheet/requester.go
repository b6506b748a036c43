package datasheet

import (
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// requester is the observed state of a device that sends requests.
type requester struct {
	found *Findings
	win   window
	begun bool
	next  int64 // first offset never sent
	una   int64 // first offset that is not acknowledged; una <= next

	heard   vtime.Time // the latest response that acknowledged something
	sent    vtime.Time // the latest first transmission
	pace    vtime.Duration
	quiet   int    // packets since the latest AckReq
	blocked [2]int // packets and messages in flight when an acknowledgement ended a silence; zero when none did

	told    *answer    // the response that requests a retransmission, until one follows
	alarm   vtime.Time // time of the latest response that indicates a gap
	waits   *answer    // an RNR NAK, until an attempt follows
	round   round
	ladder  []int64    // timeouts without progress, in nanoseconds
	refused int        // RNR NAKs without progress
	repair  int64      // offset after the last byte that TCP had sent when repeated acknowledgements indicated a loss
	hole    vtime.Time // time at which a READ response arrived after a missing one
	holed   bool
}

// round is a retransmission: packets retransmitted in a row.
type round struct {
	open bool
	last int64 // the next offset that continues it
	goal int64 // offset after the newest packet sent when the round began
	left int64 // length from the first packet of the round to goal
	runs int
	by   *sample // sample for rounds that did not reach the goal
	all  *int    // number of rounds that did
}

// send processes a request that is sent.
func (q *requester) send(x slot) {
	if !q.begun {
		q.begun, q.next, q.una = true, x.from, x.from
	}
	if x.from >= q.next {
		q.sendFirst(x)
		return
	}
	switch {
	case q.round.open && x.from == q.round.last:
		q.round.runs++
	case x.to <= q.una: // retransmitted although it was acknowledged: the wire shows no reason
	default:
		q.startRound(&x)
	}
	q.round.last = x.to
	if old := q.win.find(x.from); old != nil {
		old.latest, old.again = x.latest, true
	}
}

// sendFirst processes a request that is sent for the first time.
func (q *requester) sendFirst(x slot) {
	q.closeRound()
	if q.blocked[0] > 0 {
		q.found.held(q.blocked)
		q.blocked = [2]int{}
	}
	if gap := x.first.Sub(q.sent); q.win.count() > 0 && gap > 0 && (q.pace == 0 || gap < q.pace) {
		q.pace = gap
	}
	q.sent = x.first
	q.quiet++
	if x.ackReq {
		q.found.AckReqEvery.add(int64(q.quiet))
		q.quiet = 0
	}
	if x.ends {
		q.found.Messages++
		if x.ackReq || x.read {
			q.found.MessagesAsking++
		}
	}
	q.win.push(x)
	q.next = x.to
	q.found.inFlight(q.win.count(), q.win.messages)
}

// startRound finds the cause of the retransmission of x, and the time from the cause to it.
func (q *requester) startRound(x *slot) {
	q.closeRound()
	f := q.found
	q.round = round{open: true, goal: q.next, left: q.next - x.from, runs: 1}
	switch {
	case q.waits != nil:
		f.RNRWait.addTime(x.first.Sub(q.waits.at))
		f.RNRCode.add(int64(q.waits.code))
		q.waits = nil
		return
	case q.holed && x.read:
		f.ReadGap.addTime(x.first.Sub(q.hole))
		q.holed = false
		return
	case q.told != nil && !q.stale(x):
		f.ResendLatency.addTime(x.first.Sub(q.told.at))
		if q.told.kind == duplicate {
			q.repair = q.next
		}
		q.told = nil
		q.round.by, q.round.all = &f.ResentOnNAK, &f.WholeOnNAK
		return
	}
	q.told = nil
	q.expire(x)
	q.round.by, q.round.all = &f.ResentOnTimeout, &f.WholeOnTimeout
}

// stale reports whether the indication that x is missing refers to an earlier transmission of x: no further indication
// came for most of the time since the latest, so the timer caused the retransmission.
func (q *requester) stale(x *slot) bool {
	old := q.win.find(x.from)
	return old != nil && old.again && 2*x.first.Sub(q.alarm) > x.first.Sub(old.latest)
}

// expire records a retransmission that only the timer can have caused. The timer runs from the latest transmission of
// the packet and from the latest response that acknowledged something (IBTA 9.7.6.1.3).
func (q *requester) expire(x *slot) {
	since := q.heard
	if old := q.win.find(x.from); old != nil {
		since = max(since, old.latest)
	}
	q.found.Timeouts.addTime(x.first.Sub(since))
	if len(q.ladder) < ladderRungs {
		q.ladder = append(q.ladder, int64(x.first.Sub(since)/vtime.Nanosecond))
	}
}

// closeRound records the length of a round. With a single packet in flight, going back and retransmitting one look
// alike.
func (q *requester) closeRound() {
	r := &q.round
	if r.open && r.by != nil && r.left > 1 {
		r.by.add(int64(r.runs))
		if r.last >= r.goal {
			*r.all++
		}
	}
	q.round = round{}
}

// repeats reports whether an acknowledgement makes no progress while packets are outstanding.
func (q *requester) repeats(a *answer) bool { return a.upTo == q.una && q.next > q.una }

// hear processes a response.
func (q *requester) hear(a *answer) {
	if !q.begun || a.upTo > q.next {
		return
	}
	if a.kind == data && q.missed(a) {
		return
	}
	if a.upTo > q.una {
		q.progress(a)
	}
	if a.missing() {
		q.alarm = a.at
	}
	switch {
	case a.missing() && q.told == nil:
		q.told = &answer{at: a.at, kind: a.kind}
	case a.kind == notReady:
		q.refused++
		q.waits = &answer{at: a.at, code: a.code}
	}
}

// missed reports a READ response that arrives after a missing one, of the same READ or of an earlier one.
func (q *requester) missed(a *answer) bool {
	x := q.win.find(q.una)
	if x == nil || !x.read || a.named <= q.una {
		return false
	}
	if !q.holed {
		q.holed, q.hole = true, a.at
	}
	return true
}

// heldPaces is the silence, in multiples of the usual distance of packets, after which a sender is considered to be
// waiting.
const heldPaces = 16

// progress processes an acknowledgement of new requests. A sender that continues after a silence had waited for it.
func (q *requester) progress(a *answer) {
	q.found.climbed(q.ladder, false)
	if q.blocked[0] == 0 && q.pace > 0 && a.at.Sub(q.sent) > heldPaces*q.pace && !q.round.open {
		q.blocked = [2]int{q.win.count(), q.win.messages}
	}
	q.win.drop(a.upTo)
	q.una, q.heard = a.upTo, a.at
	q.ladder, q.refused = nil, 0
	q.told, q.waits = nil, nil
	if a.upTo < q.repair { // NewReno sends the next packet that is missing at once (RFC 6582)
		q.told = &answer{at: a.at, kind: duplicate}
	}
}

// end decides whether the device has given up: it was silent for longer than its next attempt would have taken.
func (q *requester) end(at vtime.Time) {
	q.closeRound()
	if q.next == q.una {
		return
	}
	last := q.heard
	for _, x := range q.win.slots[q.win.head:] {
		last = max(last, x.latest)
	}
	q.found.climbed(q.ladder, at.Sub(last) >= q.nextRung())
	if q.waits != nil && at.Sub(q.waits.at) > 2*roce.RNRTimer(q.waits.code).Duration() {
		q.found.RNRRetries.add(int64(q.refused - 1))
	}
}

// nextRung foretells the next timeout: as long as the latest, or longer where they grow.
func (q *requester) nextRung() vtime.Duration {
	n := len(q.ladder)
	if n == 0 {
		return 0
	}
	next := q.ladder[n-1]
	if n > 1 && next > q.ladder[n-2] {
		next = int64(float64(next) * float64(next) / float64(q.ladder[n-2]))
	}
	return vtime.Duration(next) * vtime.Nanosecond
}
