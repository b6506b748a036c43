package change

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
)

var (
	years = flag.Int("years", 40, "series-years of each noise; make quality has more")
	table = flag.String("table", "", "file that the table is written to")
)

// patience is the number of nights after which a step counts as missed; a simulated year has two parts of that length.
const patience = 180

// quality is the result of the simulation with one kind of noise.
type quality struct {
	noise              noise
	alarms, suspicions int
	runs               int
	touched            int           // series of 180 nights with an alarm
	delays             map[int][]int // by step in basis points: nights until each was confirmed
}

var steps = []int{50, 100, 200, 500}

// TestQuality checks the goals of the detector. Figures of many more years are in QUALITY.md.
func TestQuality(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: simulates years")
	}
	all := make([]quality, len(noises))
	var wait sync.WaitGroup
	for i, n := range noises {
		wait.Go(func() { all[i] = measure(n, *years) })
	}
	wait.Wait()
	for i := range all {
		q := &all[i]
		if rate := 1000 * float64(q.alarms) / float64(*years); rate >= 1 && lower(q.alarms)*1000/float64(*years) > 1 {
			t.Errorf("%s: %d false alarms in %d series-years", q.noise, q.alarms, *years)
		}
		if share := within(q.delays[500], 2); share < 0.95 {
			t.Errorf("%s: %.2f of steps of 5 %% within two nights", q.noise, share)
		}
	}
	if share := within(all[0].delays[200], 2); share < 0.85 {
		t.Errorf("%.2f of steps of 2 %% with 1 %% normal noise within two nights", share)
	}
	if *table != "" {
		if err := os.WriteFile(*table, page(all), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// measure simulates one kind of noise: years without a change, and series with each step, as many as the page says.
func measure(n noise, years int) quality {
	q := quality{noise: n, delays: map[int][]int{}}
	const nights = 2 * patience
	for i := range years {
		l := &life{machine: machine{Rand: rand.New(rand.NewPCG(1, uint64(i))), noise: n}}
		before := q.alarms
		for night := range nights + 5 {
			if l.next(1) {
				q.alarms++
			}
			if night == patience && q.alarms > before {
				q.touched++
			}
		}
		q.suspicions, q.runs = q.suspicions+l.suspect, q.runs+l.runs
	}
	for _, s := range steps {
		q.delays[s] = stepped(n, uint64(s), min(1000, max(100, years/10)), float64(s)/1e4, patience)
	}
	return q
}

// within returns the share of steps that were found within the given number of nights.
func within(delays []int, nights int) float64 {
	n := 0
	for _, d := range delays {
		if d <= nights {
			n++
		}
	}
	return float64(n) / float64(len(delays))
}

// upper and lower are the ends of the confidence interval of a Poisson count, each exceeded once in twenty.
func upper(n int) float64 { return bound(func(mean float64) bool { return poisson(n, mean) > 0.05 }) }

func lower(n int) float64 {
	return bound(func(mean float64) bool { return 1-poisson(n-1, mean) < 0.05 })
}

func bound(below func(float64) bool) (mean float64) {
	for below(mean) {
		mean += 0.01
	}
	return mean
}

// poisson returns the probability of at most n events when the mean is given.
func poisson(n int, mean float64) (p float64) {
	term := math.Exp(-mean)
	for k := 0; k <= n; k++ {
		p += term
		term *= mean / float64(k+1)
	}
	return p
}

// delay describes the time until steps were found: "93 %, 1, 2" is the share within two nights, the median and the 90th
// percentile in nights.
func delay(delays []int) string {
	d := slices.Sorted(slices.Values(delays))
	word := func(nights int) string {
		if nights > patience {
			return "–"
		}
		return fmt.Sprint(nights)
	}
	return fmt.Sprintf("%.0f %%, %s, %s", 100*within(d, 2), word(d[len(d)/2]), word(d[len(d)*9/10]))
}

// page returns the text of QUALITY.md.
func page(all []quality) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, qualityHead, 100*sigma, repeats, *years, min(1000, max(100, *years/10)))
	for i := range all {
		q := &all[i]
		rate := 1000 / float64(*years)
		fmt.Fprintf(
			&b,
			"| %s | %.2f (≤ %.2f) | %.1f %% | %.2f |",
			q.noise,
			rate*float64(q.alarms),
			rate*upper(q.alarms),
			100*float64(q.suspicions)/float64(*years*365),
			float64(q.runs)/float64(*years*365),
		)
		for _, s := range steps {
			fmt.Fprintf(&b, " %s |", delay(q.delays[s]))
		}
		b.WriteString("\n")
	}
	b.WriteString(qualityPaired)
	for _, s := range steps {
		found, wrong := perturbed(float64(s)/1e4, 400)
		fmt.Fprintf(&b, "| %.1f %% | %.1f %% | %.1f %% |\n", float64(s)/100, 100*found, 100*wrong)
	}
	b.WriteString(qualityOthers)
	for i := range all {
		fmt.Fprintf(
			&b,
			"| %s | %.2f %% | %s |\n",
			all[i].noise,
			100*float64(all[i].touched)/float64(*years),
			others[all[i].noise],
		)
	}
	b.WriteString(qualityTail)
	return b.Bytes()
}

// others are the figures of detectors that look at one point a night, with their default settings.
var others = map[noise]string{
	normal:   "0 % | 13 % | 0 % | 1.3 %",
	heavy:    "33 % | 27 % | 0 % | 2 %",
	bad:      "100 % | 48 % | 0 % | 2 %",
	drifting: "2 % | 82 % | 5 % | 45 %",
	modal:    "– | – | – | –",
}

// perturbed returns the share of nights in which a step in one of fifty paired series is found at once, and the share
// in which another series is reported. A change of the program has made all values differ seed by seed.
func perturbed(step float64, nights int) (found, wrong float64) {
	rng := rand.New(rand.NewPCG(3, uint64(step*1e4)))
	for range nights {
		var tracks []history.Track
		for i := range 50 {
			truth := 1.0
			if i == 0 {
				truth += step
			}
			s := history.Series{Name: fmt.Sprint(i), Bench: "sim", Class: history.Paired, Better: history.Up}
			old, now := history.Point{Series: s}, history.Point{Series: s}
			for seed := range uint64(16) {
				old.Seeds, now.Seeds = append(old.Seeds, seed), append(now.Seeds, seed)
				met := 1 + 0.1*rng.NormFloat64() // effect of the losses of the seed on both values
				old.Values = append(old.Values, met*(1+sigma*rng.NormFloat64()))
				now.Values = append(now.Values, met*truth*(1+sigma*rng.NormFloat64()))
			}
			tracks = append(tracks, history.Track{Series: s, Entries: []history.Entry{
				{
					Header: &history.Header{Night: "2026-01-01", Commit: "a"},
					Point:  &old,
				}, {Header: &history.Header{Night: "2026-01-02", Commit: "b"}, Point: &now}}})
		}
		hit, miss := 0.0, 0.0
		for _, e := range Of(tracks, "2026-01-02", Usual, nil).Entries {
			for _, x := range e.Changes {
				if x.Name == "0" {
					hit = 1
				} else {
					miss = 1
				}
			}
		}
		found, wrong = found+hit/float64(nights), wrong+miss/float64(nights)
	}
	return found, wrong
}

// The bound on false reports holds, and a step of 2 % in one of fifty series is found at once more often than not.
func TestPairedQuality(t *testing.T) {
	if found, wrong := perturbed(0.02, 100); found < 0.5 || wrong > 0.12 {
		t.Errorf("%.2f found, and %.2f of nights with another one", found, wrong)
	}
}

// QUALITY.md has the text of this test with numbers of its own.
func TestQualityPage(t *testing.T) {
	text, err := os.ReadFile("QUALITY.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{qualityPaired, qualityOthers, qualityTail} {
		if !strings.Contains(string(text), part) {
			t.Errorf("QUALITY.md is not of this test, make quality writes it:\n%s", part)
		}
	}
}
