package loss

import (
	"math"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// law is a loss process as a Markov chain in which each state has a loss probability. The processes are compared with
// it, and it uses none of their code.
type law struct {
	move [][]float64 // move[i][j]: from state i to state j between two packets
	lose []float64
}

// lawOf returns the law of a process from the definitions in package spec.
func lawOf(t *testing.T, l spec.Loss) law {
	t.Helper()
	p, r, h, k := float64(l.P), float64(l.R), float64(l.H), float64(l.K)
	switch l.Model {
	case spec.Bernoulli:
		return law{[][]float64{{1}}, []float64{p}}
	case spec.Gilbert:
		return law{[][]float64{{1 - p, p}, {r, 1 - r}}, []float64{1 - k, 1 - h}}
	case spec.Markov4:
		p13, p31, p32, p14, p23 := float64(l.P13), float64(l.P31), float64(l.P32), float64(l.P14), float64(l.P23)
		return law{[][]float64{
			{1 - p13 - p14, 0, p13, p14},
			{0, 1 - p23, p23, 0},
			{p31, p32, 1 - p31 - p32, 0},
			{1, 0, 0, 0},
		}, []float64{0, 0, 1, 1}}
	case spec.Sojourn:
		w := law{make([][]float64, l.Length+1), make([]float64, l.Length+1)}
		for i := range w.move {
			w.move[i] = make([]float64, l.Length+1)
			if i == 0 || i == l.Length {
				w.move[i][0], w.move[i][1] = 1-p, p
			} else {
				w.move[i][i+1] = 1
			}
			w.lose[i] = h
		}
		w.lose[0] = 0
		return w
	}
	t.Fatalf("no law for %s", l)
	return law{}
}

// step returns the distribution v after one transition.
func (w law) step(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		for j, p := range w.move[i] {
			out[j] += x * p
		}
	}
	return out
}

// only returns v weighted with the probability that a packet is lost, or survives, in each state.
func (w law) only(lost bool, v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		if out[i] = x * w.lose[i]; !lost {
			out[i] = x - out[i]
		}
	}
	return out
}

// stationary returns the stationary distribution by iterating the mean of staying and moving, which cannot oscillate.
func (w law) stationary() []float64 {
	v := make([]float64, len(w.lose))
	v[0] = 1
	for range 30000 {
		for i, x := range w.step(v) {
			v[i] = (v[i] + x) / 2
		}
	}
	return v
}

func sum(v []float64) (s float64) {
	for _, x := range v {
		s += x
	}
	return s
}

// joint returns the probability that a packet and the one lag after it are both lost; lag 0 is the loss rate.
func (w law) joint(lag int) float64 {
	v := w.only(true, w.stationary())
	if lag == 0 {
		return sum(v)
	}
	for range lag {
		v = w.step(v)
	}
	return sum(w.only(true, v))
}

// runs returns the probabilities of run lengths 1 to n, and of all longer ones at [n].
func (w law) runs(n int) []float64 {
	v := w.only(true, w.step(w.only(false, w.stationary())))
	starts, out := sum(v), make([]float64, n+1)
	for i := range n {
		next := w.step(v)
		out[i] = sum(w.only(false, next)) / starts
		v = w.only(true, next)
	}
	out[n] = sum(v) / starts
	return out
}

// chiSquare returns the deviation of the counts from the law in standard deviations, by Wilson and Hilferty's cube-root
// approximation. It merges cells until each expects ten.
func chiSquare(counts []int, law []float64) float64 {
	total := 0
	for _, c := range counts {
		total += c
	}
	var x, freedom, expect, seen float64
	freedom = -1
	for i, c := range counts {
		expect += law[i] * float64(total)
		seen += float64(c)
		if expect < 10 && i < len(counts)-1 {
			continue
		}
		x += (seen - expect) * (seen - expect) / math.Max(expect, 1)
		freedom++
		expect, seen = 0, 0
	}
	freedom = math.Max(freedom, 1)
	return (math.Cbrt(x/freedom) - (1 - 2/(9*freedom))) / math.Sqrt(2/(9*freedom))
}
