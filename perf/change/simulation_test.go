package change

import (
	"math"
	"math/rand/v2"

	"github.com/rdma-gauntlet/gauntlet/perf/stats"
)

// noise is a way in which the numbers of an unchanged program differ from night to night.
type noise string

// The kinds of noise. Sigma is the standard deviation of one run, without bad nights and the offset of a night.
const (
	normal   noise = "normal"
	heavy    noise = "heavy tails (t, 3 degrees)"
	bad      noise = "3 % bad nights (−10 %)"
	drifting noise = "AR(1) 0.5 over nights"
	modal    noise = "two modes 2 % apart"
)

var noises = []noise{normal, heavy, bad, drifting, modal}

const (
	sigma   = 0.01
	repeats = 5 // a night's number is the median of so many runs of each build
)

// machine is a host on which one number is measured, of the tested and of the pinned build.
type machine struct {
	*rand.Rand
	noise  noise
	offset float64    // of this night, shared by all runs of the number
	host   [2]float64 // of this night: factors of the tested and of the pinned build
}

// night begins another night.
func (m *machine) night() {
	m.host = [2]float64{1, 1}
	switch m.noise {
	case drifting:
		m.offset = 0.5*m.offset + sigma*math.Sqrt(1-0.25)*m.NormFloat64()
	case bad:
		if m.Float64() < 0.03 {
			m.host = [2]float64{0.9, 0.95} // the pinned build is slowed less than the tested one
		}
	}
}

// run returns one measurement.
func (m *machine) run(truth float64) float64 {
	by := m.NormFloat64()
	switch m.noise {
	case heavy:
		chi := 0.0
		for range 3 {
			x := m.NormFloat64()
			chi += x * x
		}
		by /= math.Sqrt(chi / 3 * 3) // t with 3 degrees of freedom has a variance of 3
	case modal:
		by = by/2 + float64(2*m.IntN(2)-1)
	}
	return truth * m.host[0] * (1 + m.offset + sigma*by)
}

// number returns the number of a night: the median of some runs divided by that of the pinned build. The pinned build
// has noise of its own, and not the offset of the number.
func (m *machine) number(truth float64) float64 {
	var tested, pinned []float64
	for range repeats {
		tested = append(tested, m.run(truth))
	}
	shared, host := m.offset, m.host
	m.offset, m.host[0] = 0, m.host[1]
	for range repeats {
		pinned = append(pinned, m.run(1))
	}
	m.offset, m.host = shared, host
	return stats.Median(tested) / stats.Median(pinned)
}

// life is a series over nights, processed as by the night command.
type life struct {
	machine
	truths  []float64 // by night
	values  []float64
	level   int // the night that began it
	suspect int // number of nights on which a change was suspected
	runs    int // number of runs for confirmation
}

// next adds a night, and reports whether it confirmed a change.
func (l *life) next(truth float64) bool {
	l.night()
	l.truths, l.values = append(l.truths, truth), append(l.values, l.number(truth))
	from := max(l.level, len(l.values)-mostLevel-recent)
	score := Score(l.values[l.level:])
	if math.Abs(score) < suspected {
		return false
	}
	l.suspect++
	_, err := Confirm(&Suspicion{Score: score}, Usual, func(new bool) (float64, error) {
		l.runs++
		if new {
			return l.run(truth), nil
		}
		return l.run(l.truths[from]), nil
	})
	if err == nil {
		l.level = from + split(l.values[from:])
	}
	return err == nil
}

// stepped returns for each series the nights until a step was confirmed, counted from 1; more than patience for a miss.
func stepped(n noise, seed uint64, series int, step float64, patience int) (delays []int) {
	const before = 40
	for i := range series {
		l := &life{machine: machine{Rand: rand.New(rand.NewPCG(seed, uint64(i))), noise: n}}
		for range before {
			l.next(1)
		}
		delay := 1
		for delay <= patience && !l.next(1+step) {
			delay++
		}
		delays = append(delays, delay)
	}
	return delays
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
