// Package figures measures the figures of the papers that package targets describes: it makes the runs of all figures
// as one batch, and then computes the points of each curve, to be shown with those of the models and of the papers.
package figures

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rdma-gauntlet/gauntlet/perf/batch"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

// Options select the figures and the runs.
type Options struct {
	Figures    []targets.Figure
	Confidence float64                          // confidence of the intervals
	Accounts   map[string]func(float64) float64 // numbers that need no run, by x
	Batch      batch.Options
}

// Plan is figures to be measured.
type Plan struct {
	options Options
	runs    *batch.Batch
}

// New adds the runs, figure by figure, so that the first figures are complete after an interrupt.
func New(o Options) (*Plan, error) {
	o.Batch.InOrder = true
	b, err := batch.New(o.Batch)
	if err == nil {
		err = targets.ValidateFigures(o.Figures)
	}
	if err != nil {
		return nil, fmt.Errorf("figures: %w", err)
	}
	for _, f := range o.Figures {
		for _, p := range f.Panels {
			for _, c := range p.Curves {
				for _, point := range c.Ours {
					for _, text := range point.Runs {
						if err := b.Add(text); err != nil {
							return nil, fmt.Errorf("figures: %s: %w", f.ID, err)
						}
					}
				}
			}
		}
	}
	return &Plan{o, b}, nil
}

// Runs returns the batch, for a caller who must know the number or cost of the runs beforehand.
func (p *Plan) Runs() *batch.Batch { return p.runs }

// Measure makes the runs and computes the points. The result is complete even when ctx ends: points that were not run
// say so.
func (p *Plan) Measure(ctx context.Context) *Set {
	started := time.Now()
	p.runs.Run(ctx)
	m := &Set{Format: FormatVersion, Started: started.UTC().Format(time.RFC3339), Confidence: p.options.Confidence,
		Seeds: p.options.Batch.Seeds, Runs: len(p.runs.Specs())}
	for i := range p.options.Figures {
		m.Figures = append(m.Figures, p.figure(&p.options.Figures[i]))
	}
	m.Wall = time.Since(started).Seconds()
	return m
}

func (p *Plan) figure(f *targets.Figure) Figure {
	out := Figure{ID: f.ID, Source: f.Source, Title: f.Title, Conditions: f.Conditions, Says: f.Says,
		Missing: f.Missing}
	for _, panel := range f.Panels {
		q := Panel{Title: panel.Title, X: Axis(panel.X), Y: Axis(panel.Y)}
		for _, mark := range panel.Marks {
			q.Marks = append(q.Marks, Mark(mark))
		}
		for i := range panel.Curves {
			q.Curves = append(q.Curves, p.curve(&panel.Curves[i], panel.X.Log))
		}
		out.Panels = append(out.Panels, q)
	}
	return out
}

func (p *Plan) curve(c *targets.Curve, log bool) Curve {
	out := Curve{Name: c.Name, Model: sampled(c, log)}
	for n := range c.Ours {
		out.Ours = append(out.Ours, p.point(c, n))
	}
	for _, s := range c.Paper {
		out.Paper = append(out.Paper, [2]float64{s.X, s.Y})
	}
	return out
}

// point computes one number.
func (p *Plan) point(c *targets.Curve, n int) Measure {
	at, metric := &c.Ours[n], c.MetricAt(n)
	m := Measure{X: at.X, Scenarios: at.Runs}
	if c.Model != nil {
		y := c.Model(at.X)
		m.Model = &y
	}
	values, err := p.values(c, &metric, at)
	var e stats.Estimate
	if err == nil {
		e, err = stats.Mean(values, p.options.Confidence)
	}
	switch {
	case errors.Is(err, context.Canceled):
		m.Trouble = batch.NotRun
	case err != nil:
		m.Trouble = err.Error()
	default:
		m.Estimate, m.Values = &e, values
	}
	return m
}

func (p *Plan) values(c *targets.Curve, metric *targets.Metric, at *targets.Point) ([]float64, error) {
	if c.Account == "" {
		values, _, err := p.runs.Values(metric, at.Runs)
		return values, err
	}
	count, ok := p.options.Accounts[c.Account]
	if !ok {
		return nil, fmt.Errorf("no account %q", c.Account)
	}
	return []float64{count(at.X)}, nil
}

// samples is the number of points of a model's curve: enough for a smooth line.
const samples = 80

// sampled returns the model over the span of the points.
func sampled(c *targets.Curve, log bool) [][2]float64 {
	if c.Model == nil {
		return nil
	}
	low, high := c.Span[0], c.Span[1]
	if len(c.Ours) > 0 {
		low, high = math.Inf(1), math.Inf(-1)
		for _, o := range c.Ours {
			low, high = min(low, o.X), max(high, o.X)
		}
	}
	var out [][2]float64
	for i := range samples + 1 {
		share := float64(i) / samples
		x := low + (high-low)*share
		if log {
			x = low * math.Pow(high/low, share)
		}
		if y := c.Model(x); !math.IsNaN(y) && !math.IsInf(y, 0) {
			out = append(out, [2]float64{x, y})
		}
	}
	return out
}
