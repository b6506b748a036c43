// Package record makes recordings of runs in virtual time for the experiments of package meta.
package record

import (
	"context"
	"errors"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/conformance/judging"
	"github.com/rdma-gauntlet/gauntlet/conformance/meta"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Run records a run of a Spec with the same implementation at both ends and every packet encoded. A broken engine may
// never finish; the recording then ends at the limit of the run.
func Run(ctx context.Context, spec *scenario.Spec, impl engine.Implementation) (*meta.Recording, error) {
	job, err := bench.NewJob(spec, [2]engine.Implementation{impl, impl})
	if err != nil {
		return nil, err
	}
	job.Bytes = true
	r := &meta.Recording{Name: fmt.Sprint(impl.Name, " ", spec.Seed), Options: judging.Declared(job.Impls, spec.Params)}
	r.Options.Orders = judging.Orders(job.Spec, job.Impls)
	play := judging.Run{Job: job, Bench: sim.Bench{}, Sink: func(h trace.Header, _ trace.Viewer) (trace.Sink, error) {
		r.Header = h
		return r, nil
	}}
	if _, err = play.Play(ctx); errors.Is(err, sim.ErrLimit) {
		err = nil
	}
	return r, err
}
