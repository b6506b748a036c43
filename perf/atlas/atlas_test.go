package atlas

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/perf/batch"
	"github.com/rdma-gauntlet/gauntlet/perf/models"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

// options returns one link and three transports; values are their shares of the line by transport and seed.
func options(values map[string][]float64) Options {
	o := Options{Rates: []unit.Rate{unit.Gbps}, RTTs: []vtime.Duration{10 * vtime.Millisecond},
		Losses: []unit.Ratio{0.01}, Bursts: []int{1}, Law: Geometric,
		Confidence: 0.95, Margin: 0.02}
	for _, name := range []string{"gbn", "fasr", "irn"} {
		o.Transports = append(o.Transports, ParseTransport(name))
	}
	o.Batch = batch.Options{Seeds: 4, Jobs: 2, Cost: func(*scenario.Spec) float64 { return 1 },
		Run: func(_ context.Context, s *scenario.Spec) (targets.Run, error) {
			r := targets.Run{Spec: s}
			if values[s.Impl[0]] == nil {
				return r, errors.New("no memory")
			}
			r.GoodputBps = values[s.Impl[0]][s.Seed-1] * 1e9 * models.Ceiling(message, mtu)
			return r, nil
		}}
	return o
}

func measure(t *testing.T, ctx context.Context, o Options) *Map {
	t.Helper()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	m := p.Measure(ctx)
	if _, err := json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestDecisions(t *testing.T) {
	far := []float64{0.1, 0.1, 0.1, 0.1}
	for name, tt := range map[string]struct {
		gbn, fasr, irn   []float64
		pick, best, next string
		tied             int
		verdict          string
	}{
		"a clear winner": {far, []float64{0.9, 0.9, 0.9, 0.9}, []float64{0.6, 0.6, 0.6, 0.6}, "fasr", "fasr",
			"irn", 1, "1.50 × irn"},
		"the same": {far, []float64{0.9, 0.8, 0.9, 0.8}, []float64{0.9, 0.8, 0.9, 0.8}, "fasr", "fasr",
			"gbn", 2, "2 tied, 8.5"},
		"simplest first": {[]float64{0.9, 0.9, 0.9, 0.9}, []float64{0.91, 0.91, 0.91, 0.91}, far, "gbn", "fasr",
			"irn", 2, "2 tied, 9.1 × irn"},
		"all alike": {[]float64{0.9, 0.9, 0.9, 0.9}, []float64{0.9, 0.9, 0.9, 0.9}, []float64{0.9, 0.9, 0.9,
			0.9}, "gbn", "gbn", "", 3, "all tied"},
		"uncertain, no pick": {[]float64{0.05, 0.9, 0.02, 0.9}, []float64{0.9, 0.9, 0.9, 0.9}, far, "fasr", "fasr",
			"irn", 2, "2 tied, 9.0 × irn"},
		"losses make it vary": {far, []float64{0.9, 0.5, 0.7, 0.3}, []float64{0.8, 0.45, 0.62, 0.26}, "fasr", "fasr",
			"irn", 1, "1.13 (1.10–1.16) × irn"},
		"nothing delivered": {[]float64{0, 0, 0, 0}, []float64{0.9, 0.9, 0.9, 0.9}, []float64{0, 0, 0, 0}, "fasr",
			"fasr", "gbn", 1, ">999 × gbn"},
	} {
		m := measure(t, t.Context(), options(map[string][]float64{"gbn": tt.gbn, "fasr": tt.fasr, "irn": tt.irn}))
		c := &m.Cells[0]
		if c.Pick != tt.pick || c.Best != tt.best || c.Next != tt.next || c.Tied() != tt.tied ||
			!strings.HasPrefix(c.Verdict(), tt.verdict) {
			t.Errorf("%s: take %s, best %s, next %q, %d tied, %q", name, c.Pick, c.Best, c.Next, c.Tied(), c.Verdict())
		}
	}
}

// A cell's loss rate and burst length are those of its scenario's link, and the scenario is valid.
func TestLinksAreWhatTheySay(t *testing.T) {
	gbn := ParseTransport("gbn")
	for _, law := range []Law{Geometric, Fixed} {
		for _, loss := range []unit.Ratio{0, 1e-5, 1e-3, 0.05, 0.5} {
			for _, burst := range []int{1, 2, 4, 100} {
				l := Link{unit.Gbps, 20 * vtime.Millisecond, loss, burst}
				s, err := targets.Parse(l.scenario(&gbn, law))
				if err != nil {
					t.Fatal(err)
				}
				got, want := s.Link.AB.Loss, float64(burst)
				if burst == 1 {
					want = 1 / (1 - float64(loss))
				} else if law == Fixed {
					want = got.MeanBurst() // two bursts may be adjacent
				}
				if math.Abs(float64(got.Mean()-loss)) > 1e-9 || loss > 0 && math.Abs(got.MeanBurst()-want) >
					1e-6*want || s.Link.BA.Loss != got {
					t.Errorf("%s, loss %s, burst %d: loss %s in bursts of %g", law, loss, burst,
						got.Mean(), got.MeanBurst())
				}
				if loss > 0 && got.Slot != unit.Gbps.Time(packet) {
					t.Errorf("slot %s", got.Slot)
				}
			}
		}
	}
}

// A parameter of the user takes precedence over one fitted to the path.
func TestParameters(t *testing.T) {
	l := Link{unit.Gbps, 20 * vtime.Millisecond, 0.01, 1}
	transport := ParseTransport("irn:cap=77:rto_n=5")
	s, err := targets.Parse(l.scenario(&transport, Geometric))
	if err != nil || s.Params["cap"] != "77" || s.Params["rto_n"] != "5" || s.Params["rtt"] != "20ms" {
		t.Errorf("%v, %v", s, err)
	}
}

func TestNewRejects(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"0 seeds":      func(o *Options) { o.Batch.Seeds = 0 },
		"0 links":      func(o *Options) { o.RTTs = nil },
		"1 transports": func(o *Options) { o.Transports = o.Transports[:1] },
		"rate 1k":      func(o *Options) { o.Rates[0] = 1000 },
		"RTT 2s":       func(o *Options) { o.RTTs[0] = 2 * vtime.Second },
		"loss 0.6":     func(o *Options) { o.Losses[0] = 0.6 },
		"loss NaN":     func(o *Options) { o.Losses[0] = unit.Ratio(math.NaN()) },
		"burst 0":      func(o *Options) { o.Bursts[0] = 0 },
		"there twice":  func(o *Options) { o.Bursts = []int{4, 4} },
		"irn:nonsense": func(o *Options) { o.Transports[2] = ParseTransport("irn:nonsense") },
		"10001 links":  func(o *Options) { o.Losses = make([]unit.Ratio, MostCells+1) },
	} {
		o := options(nil)
		change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error about %q, got %v", want, err)
		}
	}
}

// A failed run leaves out its cell and no other; an interrupt keeps the finished cells.
func TestTrouble(t *testing.T) {
	m := measure(t, t.Context(), options(map[string][]float64{"gbn": {1, 1, 1, 1}, "irn": {1, 1, 1, 1}}))
	if c := m.Cells[0]; m.Left() != 1 || c.Pick != "" || !strings.Contains(c.Trouble, "no memory") ||
		c.Verdict() != "" {
		t.Errorf("%+v", c)
	}
	o := options(map[string][]float64{"gbn": {1, 1, 1, 1}, "irn": {1, 1, 1, 1}, "fasr": {1, 1, 1, 1}})
	o.Losses, o.Batch.Jobs = []unit.Ratio{0.01, 0.02}, 1
	ctx, cancel := context.WithCancel(t.Context())
	runs, inner := 0, o.Batch.Run
	o.Batch.Run = func(ctx context.Context, s *scenario.Spec) (targets.Run, error) {
		if runs++; runs == 13 {
			cancel()
		}
		return inner(ctx, s)
	}
	if m := measure(t, ctx, o); m.Left() != 1 || m.Cells[0].Pick != "gbn" || m.Cells[1].Trouble != batch.NotRun {
		t.Errorf("%d left, %+v", m.Left(), m.Cells)
	}
}
