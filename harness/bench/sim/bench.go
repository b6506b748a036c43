package sim

import (
	"context"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Bench is the virtual-time bench.
type Bench struct{}

var (
	_ bench.Bench   = Bench{}
	_ bench.Checker = Bench{}
)

// Check implements bench.Checker.
func (Bench) Check(job *bench.Job) error {
	if job.Spec.Params[engine.TCPParam] == engine.KernelTCP {
		return fmt.Errorf("sim: tcp=kernel: virtual time has no kernel; leave tcp out, or use --bench netns: %w",
			bench.ErrUnsupported)
	}
	return nil
}

// Run implements bench.Bench.
func (Bench) Run(ctx context.Context, job *bench.Job) (*bench.Evidence, error) {
	if err := job.Fitted(); err != nil {
		return nil, err
	}
	w, err := New(job.Spec, job.Impls, Options{Bytes: job.Bytes})
	if err != nil {
		return nil, err
	}
	sink, err := job.Open(w.Header())
	if err != nil {
		return nil, err
	}
	w.out.sink = sink
	w.opts.Progress = func(now vtime.Time) error {
		if job.Progress != nil {
			job.Progress(w.share(now), fmt.Sprintf("virtual time %s", vtime.Duration(now).Std()))
		}
		return context.Cause(ctx)
	}
	if err = w.Run(); err == nil {
		err = context.Cause(ctx)
	}
	ev := w.evidence(&job.Impls)
	if err != nil {
		ev.Incomplete = "" // the error has the reason
	}
	return ev, err
}

// share estimates the fraction of the run that is done.
func (w *World) share(now vtime.Time) float64 {
	if w.spec.For > 0 {
		return float64(now) / float64(w.spec.For)
	}
	return w.end[trace.A].Share()
}

// evidence describes the basis of the trace: above all whether there was a codec, without which no rule about bytes was
// tested.
func (w *World) evidence(impls *[2]engine.Implementation) *bench.Evidence {
	ev := &bench.Evidence{Environment: [][2]string{{"clock", "virtual"}, {"events", fmt.Sprint(w.steps)}}}
	codec := "packets crossed the link as structures with lengths: no codec, no ICRC, no payload"
	switch {
	case w.opts.Bytes:
		codec = "every packet was encoded with its ICRC and decoded on arrival"
	case w.payload:
		codec = "packets crossed the link as structures with payload, which the scheme computes with: no codec, no ICRC"
	}
	ev.Notes = append(ev.Notes, "link: emulated in virtual time", codec)
	for side := trace.A; side <= trace.B; side++ {
		if impls[side].NewStream != nil {
			ev.Environment = append(ev.Environment, [2]string{"endpoint " + side.String() + " TCP", engine.LiteTCP})
		}
		ev.Count(side.String()+" dropped: ", w.end[side].Counters())
		ev.Share(side, w.end[side].Shared())
	}
	if w.box != nil {
		ev.Divided(w.spec.QPs)
		ev.Count("box: ", w.box.Counters())
	}
	if w.spec.For == 0 {
		ev.Incomplete = w.incomplete()
	}
	return ev
}

// incomplete returns the reason why the work did not end.
func (w *World) incomplete() string {
	for side := range w.end {
		if s := w.end[side].Shortfall(); s != "" {
			return s + ", and nothing was left to happen"
		}
	}
	return ""
}
