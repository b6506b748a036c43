package run

import (
	"context"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Repeat calls once, at most most times, until the result is not INVALID, and returns the last result. An INVALID run
// proves too little about the implementation: its link, capture or host was not as the Spec says. Every other result
// stands. Runs in virtual time are never repeated, because they would end the same way, nor are runs that were
// interrupted. Where the host was late and the bench may choose the dilation, the next attempt has twice the dilation,
// and the last of three or more four times.
func Repeat(ctx context.Context, most int, once func(Try) (*model.Result, error)) (*model.Result, error) {
	for t := (Try{Number: 1}); ; t.Number++ {
		r, err := once(t)
		if err != nil || r == nil || r.Status != rule.Invalid.String() || r.Bench == "sim" ||
			t.Number >= most || ctx.Err() != nil {
			return r, err
		}
		k := slower(r)
		if last := t.Number+1 == most; k > 0 && last && most > 2 {
			k = k.Doubled()
		}
		t.Least = max(t.Least, k)
	}
}

// Try describes one attempt at a run.
type Try struct {
	Number int // from 1
	// least dilation, for Options.Least: twice that of an attempt whose host was late, 0 without one
	Least vtime.Dilation
}

// UsualAttempts is the default limit of attempts at a single run.
const UsualAttempts = 3

// MostAttempts bounds the limit that a user may set: a link that is still not valid by then needs another machine.
const MostAttempts = 100

// AttemptFolders lists the folders that a run of at most that many attempts may leave.
func AttemptFolders(folder string, attempts int) (list []string) {
	for attempt := range attempts {
		list = append(list, AttemptFolder(folder, attempt+1))
	}
	return list
}

// AttemptFolder returns the run folder of an attempt: the given folder for the first, a folder beside it, with the
// suffix -attempt-N, for each of the others. Without a folder it returns "".
func AttemptFolder(folder string, attempt int) string {
	if folder == "" || attempt <= 1 {
		return folder
	}
	return fmt.Sprintf("%s-attempt-%d", folder, attempt)
}

// Attempts runs a Spec as Repeat does, each attempt in a folder of its own. The last result names the earlier attempts.
// Attempts calls invalid for each attempt that it is going to repeat.
func Attempts(ctx context.Context, o Options, most int,
	invalid func(attempt int, r *model.Result)) (*model.Result, error) {
	folder, keep, last := o.Folder, o.Keep, (*model.Result)(nil)
	return Repeat(ctx, most, func(t Try) (*model.Result, error) {
		attempt := t.Number
		o.Least = t.Least
		if last != nil {
			o.Earlier = append(o.Earlier, model.Attempt{Folder: last.Folder, Status: last.Status, Reason: last.Reason})
			invalid(attempt-1, last)
		}
		o.Keep = func(s *scenario.Spec) string {
			if keep != nil && attempt == 1 {
				folder = keep(s)
			}
			return AttemptFolder(folder, attempt)
		}
		var err error
		last, err = Execute(ctx, o)
		return last, err
	})
}

// repeated returns a line for each earlier attempt: its status, its folder and its reason.
func (o *Options) repeated() (out []string) {
	for i, a := range o.Earlier {
		out = append(out, fmt.Sprintf("attempt %d was %s%s: %s", i+1, a.Status, in(a.Folder), a.Reason))
	}
	return out
}

// in returns the words that name a folder, "" without a folder.
func in(folder string) string {
	if folder == "" {
		return ""
	}
	return ", in " + folder
}
