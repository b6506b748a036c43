// Package record makes the recordings that the experiments of package meta are made on: runs in virtual time.
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

// Run records a Spec that is run with the same implementation at both ends, every packet encoded. An engine that is
// wrong may never come to its end: then the recording is what it did.
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
