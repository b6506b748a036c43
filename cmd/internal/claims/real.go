package claims

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Bench says on which bench numbers are measured besides virtual time.
type Bench struct {
	Name     string         // "netns" or "lab"
	Link     string         // "auto", "netem", "ebpf" or "relay"
	Dilate   vtime.Dilation // see run.Options
	Attempts int            // how often a Spec is run at most until its result is not INVALID, at least 1
	Budget   time.Duration  // limit of the estimated time of its runs; 0 for no limit
	Longest  time.Duration  // length to which timed runs are cut, in the time of the Spec; 0 for no limit
}

// Display shows how far the runs are.
type Display interface {
	Restart()                        // the share begins anew, for work of another kind
	Show(share float64, what string) // the share of the runs done
	Note(what string)                // a line that stays
}

// Real opens the bench for the numbers of some classes. Its runs begin after all those in virtual time; a dilated one
// is preceded by a note of its cost.
func (b Bench) Real(classes []targets.Class, d Display) (*suite.Real, error) {
	opened, err := registry.Open(b.Name, "")
	if err != nil {
		return nil, err
	}
	begin := sync.OnceFunc(d.Restart)
	return &suite.Real{Bench: b.Name, Classes: classes, Budget: b.Budget.Seconds(), Cost: b.seconds,
		Longest: vtime.Duration(b.Longest) * vtime.Nanosecond,
		Run: func(ctx context.Context, s *scenario.Spec) (targets.Run, error) {
			begin()
			impls, err := registry.Ends(s)
			if err != nil {
				return targets.Run{}, err
			}
			r, err := Numbers(ctx, run.Options{Spec: s, Bench: opened, Name: b.Name, Impls: impls, Codec: run.CodecAuto,
				Link: b.Link, Dilate: b.Dilate, Chosen: d.Note,
				Version: build.Version(), Commit: build.Commit()}, b.Attempts)
			if err != nil {
				return targets.Run{Spec: s}, err
			}
			return realRun(s, r)
		},
		Progress: func(share float64, what string) { d.Show(share, b.Name+": "+what) }}, nil
}

// realRun returns the numbers of a run with real packets.
func realRun(s *scenario.Spec, r *model.Result) (targets.Run, error) {
	var list [][2]string
	for _, v := range r.Shared {
		list = append(list, [2]string{v.Name, v.Value})
	}
	shared, err := variables(list)
	out := targets.Run{Summary: r.Summary, Spec: s, Shared: shared,
		Made: targets.Made{Dilation: max(1, r.Dilated), Wall: r.Wall}}
	if length := float64(r.Summary.ElapsedNs) / 1e9 * float64(out.Made.Dilation); length > 0 {
		out.Made.Rate = float64(r.Summary.Packets) / length
	}
	return out, err
}

// certificate is the approximate time, in seconds, for which a bench measures its idle link before and after a run, and
// trips the number of round trips that it waits for, which a dilation makes longer.
const (
	certificate = 3
	trips       = 6
)

// carried is the approximate number of packets that two processors carry in a second. A run with more is dilated to the
// time that they need.
const carried = 25e3

// seconds estimates the length of a run in real time.
func (b Bench) seconds(s *scenario.Spec) float64 {
	length, packets := s.For.Seconds(), expected(s)
	if rate := float64(s.Link.AB.Rate); length == 0 && rate > 0 {
		length = packets * float64(8*s.QP[0].MTU) / rate
	}
	length += trips * s.RTT().Seconds()
	return max(length*float64(b.Dilate.Factor()), packets/carried) + certificate
}

// Numbers makes a run for its numbers alone, at most attempts times until the result is not INVALID, and returns the
// last result. It keeps no folder: captures of a run of seconds at full rate take gigabytes.
func Numbers(ctx context.Context, o run.Options, attempts int) (*model.Result, error) {
	r, err := run.Repeat(ctx, attempts, func(t run.Try) (*model.Result, error) {
		o.Least = t.Least
		return run.Execute(ctx, o)
	})
	switch {
	case err != nil:
	case r.Doubtful():
		err = errors.New("INVALID: " + cmp.Or(r.Reason, r.Doubt))
	case r.Fault != nil: // half a run has no numbers
		err = errors.New(r.Reason)
	}
	return r, err
}
