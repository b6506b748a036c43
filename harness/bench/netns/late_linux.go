package netns

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Reasons to stop a run whose endpoints do not finish.
var (
	errLimit = errors.New("limit reached before the work was done")
	errStill = errors.New("nothing moved")
)

// overdue reports whether the bench has ended a run because an end did not.
func overdue(err error) bool { return errors.Is(err, errLimit) || errors.Is(err, errStill) }

// farPatience is the time without progress after which a tool on another machine runs without pauses. It does not take
// processor time from this one, and most often has nothing left to do but to end, which takes it seconds with pauses.
const farPatience = 300 * vtime.Millisecond

// moved counts the progress of a run so far, and has the time at which it last changed.
type moved struct {
	frames uint64 // frames that the taps have captured
	told   int    // reports of the programs
	at     vtime.Time

	fresh uint64     // frames of these that are no repetition
	ahead vtime.Time // time at which fresh or told last changed: something was done that had not been done
}

// stalled returns an error when there has been no progress for longer than patience while work is left. A run of a
// given duration ends by itself.
func (t *traffic) stalled() error {
	now := t.now()
	last := t.moved
	next := moved{frames: t.legs.seen(), told: t.parties.Moved(), at: last.at, fresh: t.legs.fresh(), ahead: last.ahead}
	if next.at = max(next.at, planned(t.spec)); next.frames != last.frames || next.told != last.told {
		next.at = max(next.at, now)
	}
	if next.fresh != last.fresh || next.told != last.told {
		next.ahead = now
	}
	t.moved = next
	still := now.Sub(next.at)
	if still >= farPatience && t.devices.Far() {
		t.devices.Wake()
	}
	if t.spec.For > 0 || t.idle() || still < t.patience/2 {
		return nil
	}
	if t.devices.Wake(); still < t.patience {
		return nil
	}
	t.at.cut = now
	return t.late(fmt.Errorf("%w for %s", errStill, still.Std().Round(100*time.Millisecond)))
}

// extension is how many times its limit a run with a device may last while work is done.
const extension = 10

// limited reports whether the time of the run is over, although work may be left, and at which time the trace ends. The
// limit of a device is for one that does not get ahead, such as one that repeats the same packets for ever. While it
// gets ahead, however slowly, the run lasts up to extension times as long. A shorter limit of the user is kept.
func (t *traffic) limited(now vtime.Time) (cut vtime.Time, over bool) {
	limit := vtime.Time(min(t.spec.Limit, t.clock.Dilation.Spec(maxRun)))
	switch {
	case t.spec.For > 0:
		limit = min(limit, vtime.Time(t.spec.For))
	case t.devices == nil || t.spec.Limit < dut.Longest:
	case t.ahead(now):
		limit *= extension
	case t.ahead(limit): // it was, and is no longer
		return now, now >= limit
	}
	return limit, now >= limit
}

// excused reports whether a device that is not done at the end of the run got ahead until then: that is no proof that
// the device, and not its host or this machine, is slow.
func (t *traffic) excused(cause error) bool {
	return t.devices != nil && errors.Is(cause, errLimit) && t.ahead(t.at.cut)
}

// ahead reports whether, within the time without progress that is allowed, work has been done that had not been done
// before.
func (t *traffic) ahead(at vtime.Time) bool {
	return t.moved.ahead > 0 && at.Sub(t.moved.ahead) < t.patience
}

// planned returns the time of the last scripted event of a Spec: until then there may be no progress to make.
func planned(s *scenario.Spec) vtime.Time {
	last := lastInjection(s)
	for i := range s.Posts {
		last = max(last, vtime.Time(s.Posts[i].At))
	}
	return last
}

// late names the parties that are not done at the end of the run, with the work that each has left. A party under test
// that is not done is to blame, unless a process of the harness has stalled; where only the harness is not done, the
// harness is.
func (t *traffic) late(cause error) error {
	list, text := t.parties.Late(), []string(nil)
	hung := false
	for _, e := range list {
		text = append(text, fmt.Sprintf("%s: %s, %d lines said", e.Name, e.Left(), e.Lines))
		hung = hung || !e.UnderTest() && time.Since(e.Heard) > mute
	}
	if !t.devices.Idle() {
		text = append(text, t.devices.Unfinished())
	}
	err := fmt.Errorf("netns: %s; %w; %s", strings.Join(text, "; "), cause, t.remedy(cause))
	switch {
	case hung, t.excused(cause):
		return err
	case !t.devices.Idle():
		return t.devices.Fault(err)
	case len(list) > 0 && list[0].UnderTest():
		return list[0].Fault(err)
	}
	return err
}

// mute is a silence that no working process of the harness reaches: it reports its progress ten times a second.
const mute = 2 * time.Second

// remedy is the advice where the time was too short. A tool may retry for ever, so more time does not help it.
func (t *traffic) remedy(cause error) string {
	switch {
	case errors.Is(cause, errStill):
		return fmt.Sprintf("if that is no stall, allow more than %s with --no-progress",
			t.patience.Std().Round(time.Millisecond))
	case t.excused(cause):
		return "it still gets ahead; ask it for fewer messages, or for such as the link and its host can carry"
	case t.devices != nil:
		return "that is all a device is given; ask it for fewer messages, or for such as the link can carry"
	}
	return "raise it with --limit, or run limit= in the Spec"
}

// faultAt is an error for which a program at a side is to blame. That it was not done may be due to the link or the
// host; that it crashed or broke the contract is not.
func faultAt(side trace.Side, program string, err error) error {
	rests := validity.Frames
	if overdue(err) {
		rests = validity.Everything
	}
	return &bench.Fault{Side: side, Program: program, Err: err, Rests: rests}
}

// halted combines the error of a run with that of the order to stop. An end that does not obey the order has delayed
// the other end, and is the cause of a run that was overdue.
func halted(err, halt error) error {
	if halt == nil || err != nil && !overdue(err) {
		return bench.Graver(err, halt)
	}
	if err == nil {
		return halt
	}
	joined := fmt.Errorf("%w; %s", halt, strings.TrimPrefix(err.Error(), "netns: "))
	first, f := bench.FaultOf(err), bench.FaultOf(halt)
	switch {
	case f == nil:
		return joined
	case first != nil && first.Side == f.Side: // its unfinished work says more
		joined = fmt.Errorf("%w; %s", err, strings.TrimPrefix(halt.Error(), "netns: "))
	}
	return faultAt(f.Side, f.Program, joined)
}
