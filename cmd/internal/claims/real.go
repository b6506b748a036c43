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
	Attempts int            // runs of a Spec until one has a valid link, 1 at least
	Budget   time.Duration  // how long its runs may take by estimate; 0 is without limit
}

// Real opens the bench for the numbers of some classes. First is called before the first run on it, which comes after
// all those in virtual time; progress hears how far it is.
func (b Bench) Real(classes []targets.Class, first func(),
	progress func(share float64, what string)) (*suite.Real, error) {
	opened, err := registry.Open(b.Name, "")
	if err != nil {
		return nil, err
	}
	begin := sync.OnceFunc(first)
	return &suite.Real{Bench: b.Name, Classes: classes, Budget: b.Budget.Seconds(), Cost: seconds,
		Run: func(ctx context.Context, s *scenario.Spec) (targets.Run, error) {
			begin()
			impls, err := registry.Ends(s)
			if err != nil {
				return targets.Run{}, err
			}
			r, err := Numbers(ctx, run.Options{Spec: s, Bench: opened, Name: b.Name, Impls: impls, Codec: run.CodecAuto,
				Link: b.Link, Dilate: b.Dilate,
				Version: build.Version(), Commit: build.Commit()}, b.Attempts)
			return targets.Run{Summary: r.Summary, Spec: s}, err
		},
		Progress: func(share float64, what string) { progress(share, b.Name+": "+what) }}, nil
}

// certificate is about how long a bench measures its idle link before and after a run, in seconds.
const certificate = 3

// carried is about how many packets two processors carry in a second, where a second of the Spec lasts as long as they
// need.
const carried = 25e3

// seconds estimates how long a run takes in real time.
func seconds(s *scenario.Spec) float64 {
	length, packets := s.For.Seconds(), run.ExpectedPackets(s)
	if rate := float64(s.Link.AB.Rate); length == 0 && rate > 0 {
		length = packets * float64(8*s.QP[0].MTU) / rate
	}
	return max(length, packets/carried) + certificate
}

// Numbers makes a run for its numbers alone, again while its link is not what it should be, attempts times in all. It
// keeps no folder: the captures of seconds at full rate are gigabytes. The result is that of the last attempt.
func Numbers(ctx context.Context, o run.Options, attempts int) (*model.Result, error) {
	r, err := run.Repeat(ctx, attempts, func(t run.Try) (*model.Result, error) {
		o.Least = t.Least
		return run.Execute(ctx, o)
	})
	switch {
	case err != nil:
	case r.Doubtful():
		err = errors.New("INVALID: " + cmp.Or(r.Reason, r.Doubt))
	case r.Fault != nil: // there are no numbers of half a run
		err = errors.New(r.Reason)
	}
	return r, err
}
