package run

import (
	"context"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Repeat makes a run until it is not INVALID, at most so often, and returns the last result. A run whose link was not
// what the Spec says proves too little about the implementation, so it is made again; a failure that stands or an error
// never is, nor a run in virtual time, which would end the same way, nor one that was interrupted. Where the machine
// was late and the bench may choose, the next attempt has twice the time, and the last of three or more four times.
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

// Try is one of the attempts at a run.
type Try struct {
	Number int            // from 1
	Least  vtime.Dilation // for Options.Least: what was too little before
}

// UsualAttempts is how often a single run is made, unless told otherwise, whose link was not what it should have been.
const UsualAttempts = 3

// MostAttempts bounds them: a link that was never right by then needs another machine.
const MostAttempts = 100

// AttemptFolders are those that so many attempts of a run may leave.
func AttemptFolders(folder string, attempts int) (list []string) {
	for attempt := range attempts {
		list = append(list, AttemptFolder(folder, attempt+1))
	}
	return list
}

// AttemptFolder is the run folder of an attempt: the folder itself for the first, and one beside it for each of the
// others. "" stays "".
func AttemptFolder(folder string, attempt int) string {
	if folder == "" || attempt <= 1 {
		return folder
	}
	return fmt.Sprintf("%s-attempt-%d", folder, attempt)
}

// Attempts runs a Spec until it is not INVALID, as Repeat does, each attempt in a folder of its own. The last result
// names those before it. Invalid hears of each attempt that is going to be repeated.
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

// repeated says of each attempt before this one where it is and why it did not count.
func (o *Options) repeated() (out []string) {
	for i, a := range o.Earlier {
		out = append(out, fmt.Sprintf("attempt %d was %s%s: %s", i+1, a.Status, in(a.Folder), a.Reason))
	}
	return out
}

// in names a folder, if there is one.
func in(folder string) string {
	if folder == "" {
		return ""
	}
	return ", in " + folder
}
