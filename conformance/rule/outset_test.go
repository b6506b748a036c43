package rule

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// The PSN that a responder expects at the beginning of a capture is known from the first answer that acknowledges or
// refuses a request of the capture. With attributes it is known at once.
func TestFirstAnswerTells(t *testing.T) {
	for name, c := range map[string]struct {
		known    bool
		answer   int // PSN, less that of the first request seen
		syndrome roce.Syndrome
		told     bool
	}{
		"an ACK of a request that was seen":           {false, 1, roce.SyndromeACK, true},
		"an ACK of one before the capture":            {false, -2, roce.SyndromeACK, false},
		"a NAK of one before the capture":             {false, -2, roce.SyndromePSNSeqErr, true},
		"a NAK of one that was seen":                  {false, 1, roce.SyndromePSNSeqErr, true},
		"nothing new, of a connection from its start": {true, 1, roce.SyndromeACK, true},
	} {
		w := newWalk(t, c.known)
		w.see(trace.ResponderIn, roce.SendOnly, 0, 8)
		w.see(trace.ResponderIn, roce.SendOnly, 1, 8)
		before := w.now
		if got := w.c.Certain(before); got != c.known {
			t.Errorf("%s: before it the start was certain: %v", name, got)
		}
		w.see(trace.ResponderOut, roce.Acknowledge, c.answer, 0, ack(c.syndrome))
		if got := w.c.Certain(w.now); got != c.told {
			t.Errorf("%s: after it certain is %v, want %v", name, got, c.told)
		}
		if !c.known && w.c.Certain(before) {
			t.Errorf("%s: it tells of what was before it", name)
		}
	}
}

// Requests that a first answer shows to have been received before the capture are not awaited, and no later request is
// mistaken for one of them.
func TestFirstAnswerMovesWhatIsExpected(t *testing.T) {
	w := newWalk(t, false)
	w.see(trace.ResponderIn, roce.SendOnly, 0, 8) // the newest of several requests; the capture missed the others
	w.see(trace.ResponderIn, roce.SendOnly, 3, 8)
	w.see(trace.ResponderOut, roce.Acknowledge, 3, 0, ack(roce.SyndromeACK))
	w.want("expected", w.c.EPSN, testStart.Add(4))
	w.want("gap", w.c.GapOpen, false)
	w.want("certain", w.c.Certain(w.now), true)
}

// Data that are repeated do not show what is expected: the first acknowledgement does, also of a request that the
// capture does not have.
func TestDataTellLessThanAnACK(t *testing.T) {
	for name, c := range map[string]struct {
		acks []int
		want int
	}{
		"of a request before the capture":         {[]int{4}, 5},
		"of one that was seen":                    {[]int{1}, 2},
		"of one that was seen, and of one unseen": {[]int{1, 4}, 2},
	} {
		w := newWalk(t, false)
		w.see(trace.ResponderIn, roce.ReadRequest, 0, 8)
		w.see(trace.ResponderIn, roce.SendOnly, 1, 8)
		w.see(trace.ResponderOut, roce.ReadRespOnly, 0, 8)
		before := w.now
		for _, p := range c.acks {
			w.see(trace.ResponderOut, roce.Acknowledge, p, 0, ack(roce.SyndromeACK))
		}
		w.want(name, w.c.EPSN, testStart.Add(c.want))
		w.want(name+": certain before", w.c.Certain(before), c.want == 2)
	}
}

// A capture may begin after a gap has drawn its NAK. What comes early then is dropped, and comes again after a request
// from before the capture: it has not been received because it was seen.
func TestWhatComesAgainBeforeAnAnswerTellsNothing(t *testing.T) {
	w := newWalk(t, false)
	for _, early := range []int{0, 1, 2} {
		w.see(trace.ResponderIn, roce.SendOnly, early, 8)
	}
	for _, due := range []int{-2, -1, 0} {
		w.see(trace.ResponderIn, roce.SendOnly, due, 8)
		w.see(trace.ResponderOut, roce.Acknowledge, due, 0, ack(roce.SyndromeACK))
		w.want("certain", w.c.Certain(w.now), false)
	}
	w.see(trace.ResponderIn, roce.SendOnly, 2, 8)
	w.see(trace.ResponderOut, roce.Acknowledge, 1, 0, ack(roce.SyndromePSNSeqErr))
	w.want("certain of the NAK", w.c.Certain(w.now), false)
	w.see(trace.ResponderIn, roce.SendOnly, 1, 8)
	w.see(trace.ResponderIn, roce.SendOnly, 2, 8)
	w.see(trace.ResponderOut, roce.Acknowledge, 2, 0, ack(roce.SyndromeACK))
	w.want("certain at last", w.c.Certain(w.now), true)
	w.want("expected", w.c.EPSN, testStart.Add(3))
}

// The requester may also have sent again because answers are late: they are of what was seen first.
func TestWhatComesAgainBeforeLateAnswers(t *testing.T) {
	w := newWalk(t, false)
	for _, p := range []int{0, 1, 2, 0} {
		w.see(trace.ResponderIn, roce.SendOnly, p, 8)
	}
	w.see(trace.ResponderOut, roce.Acknowledge, 1, 0, ack(roce.SyndromeACK))
	w.want("certain of half", w.c.Certain(w.now), false)
	w.want("expected", w.c.EPSN, testStart.Add(3))
	w.see(trace.ResponderOut, roce.Acknowledge, 2, 0, ack(roce.SyndromeACK))
	w.want("certain of all", w.c.Certain(w.now), true)
}

// So it is where the capture begins between the gap and its NAK.
func TestNAKOfARequestBeforeTheCaptureTellsWhatIsExpected(t *testing.T) {
	w := newWalk(t, false)
	w.see(trace.ResponderIn, roce.SendOnly, 0, 8)
	w.see(trace.ResponderIn, roce.SendOnly, 1, 8)
	w.see(trace.ResponderOut, roce.Acknowledge, -1, 0, ack(roce.SyndromePSNSeqErr))
	w.want("expected", w.c.EPSN, testStart.Add(-1))
	w.want("gap", w.c.GapOpen, true)
	w.see(trace.ResponderIn, roce.SendOnly, -1, 8)
	w.see(trace.ResponderIn, roce.SendOnly, 1, 8)
	w.want("the next gap is of", w.c.EPSN, testStart)
	w.want("the next gap", w.c.GapOpen, true)
}
