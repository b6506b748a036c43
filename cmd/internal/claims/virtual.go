// Package claims makes the runs from which numbers are taken: for the claims of the papers (perf), for maps of links
// (atlas), for figures, and for the targets of a profile. It also holds the numbers that need no run, and reads and
// compares files of results.
//
// The packages below perf define the claims, the number of runs and the evaluation; this package gives them the
// functions that make runs.
package claims

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

// Measure runs a Spec in virtual time for its numbers alone: no rules, no run folder, and encoded packets only for
// transports over IP, see registry.Framed. It is five times as fast as "gauntlet run".
func Measure(ctx context.Context, s *scenario.Spec) (targets.Run, error) {
	out := targets.Run{Spec: s}
	impls, err := registry.Ends(s)
	if err != nil {
		return out, err
	}
	job, err := bench.NewJob(s, impls)
	if err != nil {
		return out, fault.Usage(err)
	}
	out.Spec = job.Spec
	var numbers *metrics.Collector
	job.Bytes, job.Open = registry.Framed(impls), func(h trace.Header) (trace.Sink, error) {
		numbers = metrics.NewCollector(&h, run.Measured(job.Spec))
		return trace.NewTimeline(&h, numbers), nil
	}
	ev, err := sim.Bench{}.Run(ctx, job)
	if err != nil {
		return out, err
	}
	out.Summary = numbers.Summary()
	out.Shared, err = variables(ev.Shared)
	return out, err
}

// variables returns the variables that the QPs of a side share, which a bench gives as text.
func variables(shared [][2]string) (map[string]float64, error) {
	out := map[string]float64{}
	for _, v := range shared {
		x, err := strconv.ParseFloat(v[1], 64)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", v[0], err)
		}
		out[v[0]] = x
	}
	return out, nil
}

// EnoughMemory returns an error when the largest runs, jobs of them at once, need more memory than the machine has
// available. It returns nil when that is unknown.
func EnoughMemory(specs []*scenario.Spec, jobs int) error {
	free, ok := availableMemory()
	if !ok {
		return nil
	}
	var need []unit.Size
	for _, s := range specs {
		impls, err := registry.Ends(s)
		if err != nil {
			return err
		}
		job, err := bench.NewJob(s, impls)
		if err != nil {
			return fault.Usage(err)
		}
		need = append(need, sim.Memory(job.Spec, impls, registry.Framed(impls)))
	}
	slices.SortFunc(need, func(a, b unit.Size) int { return int(b - a) })
	total := unit.Size(0)
	for _, n := range need[:min(jobs, len(need))] {
		total += n
	}
	if total > free {
		return fmt.Errorf("%d runs at once need up to %d MiB of memory, and %d MiB are available; use fewer --jobs",
			jobs, total/unit.MiB, free/unit.MiB)
	}
	return nil
}
