// Package atlas answers which loss recovery suits a link: it measures transports over a grid of links, and determines
// for each link which transport is best and by how much.
//
// The loss process runs in the time of the line, and the seed determines it, so that all transports meet the same fades
// and two runs with one seed differ only in the behaviour of the transports. They are compared seed by seed, by the
// ratio of their goodputs. Transports that are not shown to be worse than the best by more than the margin are tied. Of
// the transports whose measured values are within the margin, the atlas picks the one that the caller named first, so
// that a caller who lists the simplest first gets no more complex one without a benefit; a transport that is merely too
// uncertain to be ruled out is tied but never picked.
package atlas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/perf/batch"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

// Transport is an implementation and its parameters.
type Transport struct {
	Name   string // as the user wrote it
	Impl   string
	Params []string // name=value
}

// ParseTransport reads "lowar:r=64:c=8".
func ParseTransport(s string) Transport {
	impl, params, _ := strings.Cut(s, ":")
	t := Transport{Name: s, Impl: impl}
	if params != "" {
		t.Params = strings.Split(params, ":")
	}
	return t
}

// Options selects the measurements.
type Options struct {
	Rates      []unit.Rate
	RTTs       []vtime.Duration
	Losses     []unit.Ratio
	Bursts     []int
	Law        Law
	Transports []Transport // in the order in which ties are decided
	Confidence float64     // of the intervals
	Margin     float64     // relative difference in goodput that matters
	Batch      batch.Options
}

// MostCells bounds the grid.
const MostCells = 10_000

// Plan is an atlas to be measured.
type Plan struct {
	options Options
	links   []Link
	runs    *batch.Batch
}

// New lists the runs of an atlas. The error names the wrong option.
func New(o Options) (*Plan, error) {
	p := &Plan{options: o}
	o.Batch.InOrder = true // link by link, so that an interrupt leaves whole links
	var err error
	if p.runs, err = batch.New(o.Batch); err != nil {
		return nil, fmt.Errorf("atlas: %w", err)
	}
	if p.links, err = o.links(); err != nil {
		return nil, fmt.Errorf("atlas: %w", err)
	}
	for _, l := range costliest(p.links) {
		for i := range o.Transports {
			if err := p.runs.Add(l.scenario(&o.Transports[i], o.Law)); err != nil {
				return nil, fmt.Errorf("atlas: %s: %w", o.Transports[i].Name, err)
			}
		}
	}
	return p, nil
}

// links is the grid: rates, then bursts, then round trips, then losses, as the picture has them.
func (o *Options) links() ([]Link, error) {
	if n := len(o.Rates) * len(o.Bursts) * len(o.RTTs) * len(o.Losses); n < 1 || n > MostCells ||
		len(o.Transports) < 2 {
		return nil, fmt.Errorf("%d links and %d transports; want 1 to %d links and 2 transports or more", n,
			len(o.Transports), MostCells)
	}
	var out []Link
	for _, rate := range o.Rates {
		for _, burst := range o.Bursts {
			for _, rtt := range o.RTTs {
				for _, loss := range o.Losses {
					l := Link{rate, rtt, loss, burst}
					if err := l.validate(); err != nil {
						return nil, err
					}
					if slices.Contains(out, l) {
						return nil, fmt.Errorf("rate %s, RTT %s, loss %s, burst %d: there twice; name each value once",
							rate, rtt, loss, burst)
					}
					out = append(out, l)
				}
			}
		}
	}
	return out, nil
}

// costliest sorts links by the number of packets of their runs, largest first: the last runs are then short.
func costliest(links []Link) []Link {
	return slices.SortedStableFunc(slices.Values(links), func(a, b Link) int {
		return cmp.Compare(b.packets(), a.packets())
	})
}

// Runs returns the runs, for callers that need their number or size beforehand.
func (p *Plan) Runs() *batch.Batch { return p.runs }

// Measure makes the runs. The result is complete even when ctx ends: cells that were not run say so.
func (p *Plan) Measure(ctx context.Context) *Map {
	started := time.Now()
	p.runs.Run(ctx)
	o := &p.options
	m := &Map{Format: FormatVersion, Started: started.UTC().Format(time.RFC3339), Confidence: o.Confidence,
		Margin: o.Margin,
		Seeds:  o.Batch.Seeds, Law: string(o.Law), Runs: len(p.runs.Specs())}
	for _, t := range o.Transports {
		m.Transports = append(m.Transports, t.Name)
	}
	for _, l := range p.links {
		m.Cells = append(m.Cells, p.cell(l))
	}
	m.Wall = time.Since(started).Seconds()
	return m
}

// share is goodput as a share of the payload rate of the line.
var share = targets.Metric{Name: "share of ceiling", Runs: 1, Of: func(r []targets.Run) float64 {
	return targets.OfCeiling(&r[0])
}}

// cell compares the transports over one link.
func (p *Plan) cell(l Link) Cell {
	c := Cell{RateBps: float64(l.Rate), RTTNs: int64(l.RTT / vtime.Nanosecond), Loss: float64(l.Loss), Burst: l.Burst,
		Product: l.product()}
	for i := range p.options.Transports {
		t := &p.options.Transports[i]
		e := Entry{Transport: t.Name, Scenario: l.scenario(t, p.options.Law)}
		var err error
		if e.Values, _, err = p.runs.Values(&share, []string{e.Scenario}); err == nil {
			e.Share, err = stats.Mean(e.Values, p.options.Confidence)
		}
		if err != nil {
			e.Values, e.Trouble, c.Trouble = nil, err.Error(), err.Error()
			if errors.Is(err, context.Canceled) {
				c.Trouble = batch.NotRun
			}
		}
		c.Entries = append(c.Entries, e)
	}
	if c.Trouble == "" {
		p.decide(&c)
	}
	return c
}

// decide finds the best transport, those that are tied with it, and its lead over the next.
func (p *Plan) decide(c *Cell) {
	best := 0
	for i := range c.Entries {
		if c.Entries[i].Share.Value > c.Entries[best].Share.Value {
			best = i
		}
	}
	next := -1
	for i := range c.Entries {
		e := &c.Entries[i]
		lead := Lead(c.Entries[best].Values, e.Values, p.options.Confidence)
		e.Behind, e.Tied = &lead, i == best || lead.Low <= p.options.Margin
		switch {
		case lead.Value <= p.options.Margin && c.Pick == "":
			c.Pick = e.Transport
		case !e.Tied && (next < 0 || e.Share.Value > c.Entries[next].Share.Value):
			next = i
		}
	}
	c.Best = c.Entries[best].Transport
	if next >= 0 {
		c.Next, c.Lead = c.Entries[next].Transport, c.Entries[next].Behind
	}
}

// least is the share that counts where nothing was delivered, so that a ratio exists.
const least = 1e-9

// Lead returns the relative difference of a to b, 0.5 for half as much again: the geometric mean of the ratios of
// pairs, with Student's interval of their logarithms. One pair has no interval. All values are positive shares; those
// of a pair have the same seed.
func Lead(a, b []float64, confidence float64) stats.Estimate {
	logs := make([]float64, len(a))
	for i := range a {
		logs[i] = math.Log(max(a[i], least) / max(b[i], least))
	}
	e, err := stats.Mean(logs, confidence)
	if err != nil {
		return stats.Estimate{} // values are finite, because stats.Mean has checked them before
	}
	e.Value, e.Low, e.High = math.Expm1(e.Value), math.Expm1(e.Low), math.Expm1(min(e.High, math.Log(1/least)))
	return e
}
