// Package linkmakers compares the implementations of links: the kernel's netem, the user-space relay and the simulator
// run the same scenarios, and figures describe what each did to the packets of one direction.
//
// On Linux 6.1, "gauntlet lab compare" showed, at 10 Mb/s and 10 ms, that loss, bursts of loss and an overflowing queue
// agree within the statistical error of 4000 packets, and that jitter does not:
//
//	link                netem                               relay                      simulator
//	random 5 %          4.71 % lost                         4.77 %                     4.78 %
//	gemodel 2 %, 25 %   7.24 % lost, runs of 4.29           7.99 %, 4.12               7.99 %, 4.12
//	4 states            6.87 % lost, runs of 2.31           6.31 %, 2.14               6.30 %, 2.14
//	queue of 20         65.5 % lost, median 29.5 ms         67.4 %, 28.7 ms            65.7 %, 28.8 ms
//	jitter 2 ms         none overtakes, median 13.9 ms      36.7 % overtake, 12.0 ms   36.7 %, 10.0 ms
//
// Relay and simulator draw the same random numbers. The simulator counts a delay from the last bit on the line, the
// others from a frame's entry into the link; in the relay a frame also waits for the one before.
package linkmakers

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/perf/link"
)

// compared are the links of the comparison, each with one property. The load keeps the line busy whatever the losses.
var compared = []struct{ name, lines string }{
	{"random 5 %", "loss A>B random p=5%"},
	{"gemodel 2 %, 25 %", "loss A>B gemodel p=2% r=25%"},
	{"4 states", "loss A>B state p13=2% p31=30% p32=10% p23=40% p14=0.5%"},
	{"jitter 2 ms", "link jitter=2ms"},
	{"queue of 20", "link A>B port=40M queue=20"},
}

// base is the scenario text common to all. IRN goes on sending while packets are missing; its cap exceeds the queue, so
// that the queue is the limit.
const base = `impl irn irn
link rate=10M delay=10ms queue=1000
load write msg=64KiB count=60
qp qd=8
run limit=60s`

// linkMakers are the implementations of links. The simulator runs in virtual time on any system.
var linkMakers = []struct{ name, bench, link string }{
	{"netem", "lab", "netem"},
	{"relay", "lab", "relay"},
	{"sim", "sim", "auto"},
}

// Comparison is a line of the table: the figures of one implementation and one link.
type Comparison struct {
	Link    string `json:"link"`
	Carrier string `json:"carrier"`
	link.Figures
}

// Collect makes all runs and returns the figures; see Compare.
func Collect(ctx context.Context, seed uint64) ([]*Comparison, error) {
	list := []*Comparison{}
	err := Compare(ctx, seed, func(one *Comparison) error { list = append(list, one); return nil })
	return list, err
}

// Write makes all runs and prints their table, each line when its run is done; see Compare.
func Write(ctx context.Context, seed uint64, out io.Writer) error {
	if _, err := fmt.Fprintln(out, head); err != nil {
		return err
	}
	return Compare(ctx, seed, func(one *Comparison) error { return one.Print(out) })
}

// Compare makes all runs, which takes minutes, and calls found with the figures of each. It must be called where the
// bench lab runs, in the guest.
func Compare(ctx context.Context, seed uint64, found func(*Comparison) error) error {
	for _, l := range compared {
		for _, by := range linkMakers {
			s, err := scenario.Parse(strings.NewReader(fmt.Sprintf("seed %d\n%s\n%s\n", seed, base, l.lines)))
			if err != nil {
				return err
			}
			f, err := measure(ctx, s, by.bench, by.link)
			if err != nil {
				return fmt.Errorf("lab: compare %s on %s: %w", l.name, by.name, err)
			}
			if err := found(&Comparison{l.name, by.name, f}); err != nil {
				return err
			}
		}
	}
	return nil
}

// measure runs a Spec and returns the effects of the link on the packets of A.
func measure(ctx context.Context, s *scenario.Spec, where, by string) (link.Figures, error) {
	impls, err := registry.Ends(s)
	if err != nil {
		return link.Figures{}, err
	}
	b, err := registry.Open(where, "")
	if err != nil {
		return link.Figures{}, err
	}
	path := link.NewPath(trace.A)
	job, err := bench.NewJob(s, impls)
	if err != nil {
		return link.Figures{}, err
	}
	job.Bytes, job.Link, job.Open = true, by, func(trace.Header) (trace.Sink, error) { return path, nil }
	_, err = b.Run(ctx, job)
	return path.Figures(), err
}

// head is the first line of the table; Print writes the others.
const head = "LINK               BY     PACKETS     LOST  MEAN RUN  RUNS OF 1, 2, 3, 4+      OVERTOOK  DELAY LEAST, " +
	"5 %, MEDIAN, 95 %, LONGEST"

// Print writes the line of a comparison.
func (c *Comparison) Print(w io.Writer) error {
	runs := make([]string, len(c.Runs))
	for i, r := range c.Runs {
		runs[i] = fmt.Sprintf("%3.0f %%", 100*r)
	}
	delays := make([]string, len(c.DelayNs))
	for i, d := range c.DelayNs {
		delays[i] = quantity.Duration(d)
	}
	_, err := fmt.Fprintf(w, "%-17s  %-5s  %7d  %5.2f %%  %8.2f  %-23s  %6.2f %%  %s\n", c.Link, c.Carrier, c.Sent,
		100*c.Lost, c.MeanRun, strings.Join(runs, " "), 100*c.Overtook, strings.Join(delays, ", "))
	return err
}
