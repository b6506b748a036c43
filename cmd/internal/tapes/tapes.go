// Package tapes records loss tapes from runs in virtual time and plays them in other runs. Package netem/tape defines
// the tape, and harness/losstape which losses of a run it holds.
package tapes

import (
	"context"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/losstape"
	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
	"github.com/rdma-gauntlet/gauntlet/netem/tape"
)

// Run is a scenario whose losses in one direction are recorded.
type Run struct {
	spec *scenario.Spec
	from trace.Side
}

// Open reads the file of a scenario. From is the sender, "A" or "B". Seed replaces the scenario's unless it is nil.
// Errors are the user's.
func Open(path, from string, seed *uint64) (*Run, error) {
	side, ok := map[string]trace.Side{"A": trace.A, "B": trace.B}[from]
	if !ok {
		return nil, fault.Usage(fmt.Errorf("--from %.20q: want A or B", from))
	}
	s, err := scenario.ReadFile(path)
	if err != nil {
		return nil, fault.Usage(err)
	}
	if seed != nil {
		s.Seed = *seed
	}
	return &Run{s, side}, fault.Usage(s.Validate())
}

// Record runs the scenario and returns the tape of the sender's packets that the link lost. Slot is the length of a
// slot of a tape by time, such as "10us", and "" for other keys.
func (r *Run) Record(ctx context.Context, key, slot string) (*tape.Tape, error) {
	var length vtime.Duration
	if slot != "" {
		var err error
		if length, err = vtime.ParseDuration(slot); err != nil {
			return nil, fault.Usage(fmt.Errorf("--slot: %w", err))
		}
	}
	return record(ctx, r.spec, r.from, tape.Key(key), length)
}

func record(ctx context.Context, s *scenario.Spec, from trace.Side, key tape.Key,
	slot vtime.Duration) (*tape.Tape, error) {
	sink, err := losstape.New(s, from, key, slot)
	if err != nil {
		return nil, fault.Usage(err)
	}
	impls, err := registry.Ends(s)
	if err != nil {
		return nil, fault.Usage(err)
	}
	job, err := bench.NewJob(s, impls)
	if err != nil {
		return nil, fault.Usage(err)
	}
	job.Bytes, job.Open = registry.Framed(impls), func(trace.Header) (trace.Sink, error) { return sink, nil }
	if _, err = (sim.Bench{}).Run(ctx, job); err != nil {
		return nil, fault.Broken(err)
	}
	t, err := sink.Tape()
	return t, fault.Broken(err)
}

// Play runs the scenario with the tape in a file in place of its loss, and returns the tape of the losses. A loss of
// the tape that did not occur is an error without a fault: the tape is of another link or workload. The scenario keeps
// the tape.
func (r *Run) Play(ctx context.Context, file string) (*tape.Tape, error) {
	played, err := tape.Open(file)
	if err != nil {
		return nil, fault.Usage(err)
	}
	losstape.Direction(r.spec, r.from).Loss = spec.Loss{Model: spec.Tape, File: file}
	again, err := record(ctx, r.spec, r.from, played.Key, played.Slot)
	if err != nil {
		return nil, err
	}
	return again, losstape.Missed(played, again)
}

// Write writes a tape to a file, or for "" to standard output.
func Write(t *tape.Tape, path string) error {
	write := func(w io.Writer) error {
		_, err := t.WriteTo(w)
		return err
	}
	if path == "" {
		return write(os.Stdout)
	}
	return document.File(path, write)
}

// Print writes the statistics of a tape for people.
func Print(out io.Writer, s tape.Stats) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "key\t%s %s\nmodel\t%s, seed %d\n", s.Key, s.Slot, s.Model, s.Seed)
	unit := "packets"
	if s.Key == tape.ByTime {
		unit = "slots"
	}
	if s.Key == tape.ByIdentity {
		fmt.Fprintf(w, "lost\t%s on %s, of which %s of retransmissions\n", quantity.Count(int64(s.Lost)),
			quantity.Plural(int64(s.QPs), "connection", "connections"), quantity.Count(int64(s.Again)))
		return w.Flush()
	}
	fmt.Fprintf(w, "lost\t%s of %s %s, %s\n", quantity.Count(int64(s.Lost)), quantity.Count(int64(s.Length)), unit,
		quantity.Share(s.Rate))
	fmt.Fprintf(w, "bursts\t%s, of %s %s on average, the longest %s\n", quantity.Count(int64(s.Bursts)),
		quantity.Value(s.Mean, ""), unit, quantity.Count(int64(s.Longest)))
	return w.Flush()
}
