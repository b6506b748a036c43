package party

import (
	"errors"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
)

// blame turns an error of a program under test into that program's fault. An error of one of the harness's own programs
// remains the harness's, and so does that of a program that, before the start, refuses what it does not support.
func (e *Party) blame(err error) error {
	var exit interface{ ExitCode() int }
	if err == nil || e.fault == nil ||
		!e.begun && errors.As(err, &exit) && exit.ExitCode() == contract.Unsupported {
		return err
	}
	return e.fault(err)
}

// Fault is an error for which the program, which is under test, is to blame.
func (e *Party) Fault(err error) error { return e.fault(err) }

// UnderTest reports whether the program is under test, and not part of the harness.
func (e *Party) UnderTest() bool { return e.fault != nil }

// Close ends the program, and kills it when it does not end by itself. A second call does nothing.
func (e *Party) Close() error { return e.blame(e.Child.Close()) }

// moves counts a report as progress if progress is set.
func (e *Party) moves(something bool) {
	if something {
		e.Moved++
	}
}

// requests returns the number of requests in the orders; 0 if one has no count.
func requests(orders []contract.Order) (n int) {
	for i := range orders {
		w := orders[i].Work
		switch {
		case w == nil || w.Receive || w.Unsignal: // unsignaled requests are not counted
		case w.Count == 0:
			return 0
		default:
			n += w.Count
		}
	}
	return n
}

// Left states the work that a program which is not idle has left, as far as it is known.
func (e *Party) Left() string {
	switch {
	case e.work == 0:
		return "it did not say idle, with no requests of its own to make"
	case e.done >= e.work || e.Share >= 1:
		return fmt.Sprintf("it did not say idle, with all of its %d requests completed", e.work)
	case e.Caps.Tells("cqe") && !e.Caps.Tells("file"): // in lines
		return fmt.Sprintf("%d of %d requests completed", e.done, e.work)
	}
	return fmt.Sprintf("%.0f %% of %d requests completed, as far as it tells", 100*e.Share, e.work)
}

// Late returns the programs that are not idle. The first is the one to blame: a program under test, and of two the one
// at A.
func (p *Parties) Late() (list []*Party) {
	for _, e := range p.All() {
		switch {
		case e.Idle:
		case e.UnderTest() && (len(list) == 0 || !list[0].UnderTest()):
			list = append([]*Party{e}, list...)
		default:
			list = append(list, e)
		}
	}
	return list
}

// Moved counts the reports of progress of the programs.
func (p *Parties) Moved() (n int) {
	for _, e := range p.All() {
		n += e.Moved
	}
	return n
}
