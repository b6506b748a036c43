package all

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/judging"
	"github.com/rdma-gauntlet/gauntlet/conformance/meta"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// To hunt for longer: go test ./impls/all -run LessOfAnyLegalSpec -args -from=1000 -specs=5000 -ways=6
var perSpec = flag.Int("ways", 1, "ways to lose evidence of a random Spec")

// mostLess is for how many of the random Specs evidence is lost, unless -ways asks for more of it.
const mostLess = 22

// TestLessOfAnyLegalSpec loses evidence of runs over random Specs, each in a few ways that its seed draws: no rule may fail that holds
// with all of it (META-LESS-001).
func TestLessOfAnyLegalSpec(t *testing.T) {
	impls, all, n := Implementations(), meta.Ways(), *specs
	if *perSpec == 1 {
		n = min(n, mostLess)
	}
	for seed := *from; seed < *from+n; seed++ {
		if testing.Short() && seed%4 != 0 {
			continue
		}
		impl := impls[seed%uint64(len(impls))]
		r := recorded(t, legal(seed, impl.Name), impl)
		d := draw{rand.New(rand.NewPCG(seed, 1))}
		var ways []meta.Way
		for range *perSpec {
			ways = append(ways, pick(d, all...))
		}
		v, err := meta.Less(meta.Judged, rules.All(), []*meta.Recording{r}, func(int) []meta.Way { return ways })
		if err != nil {
			t.Fatal(seed, err)
		}
		for _, f := range v.Findings {
			t.Errorf("LESS %s", f.Text)
		}
	}
}

// recorded records a run in virtual time with the same implementation at both ends, as far as it comes.
func recorded(t *testing.T, text string, impl engine.Implementation) *meta.Recording {
	t.Helper()
	spec, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	job, err := bench.NewJob(spec, [2]engine.Implementation{impl, impl})
	if err != nil {
		t.Fatal(err)
	}
	job.Bytes = true
	r := &meta.Recording{Name: fmt.Sprint(impl.Name, " ", spec.Seed), Options: judging.Declared(job.Impls, spec.Params)}
	r.Options.Orders = judging.Orders(job.Spec, job.Impls)
	play := judging.Run{Job: job, Bench: sim.Bench{}, Sink: func(h trace.Header, _ []trace.Viewer) (trace.Sink, error) {
		r.Header = h
		return r, nil
	}}
	if _, err = play.Play(t.Context()); err != nil && !errors.Is(err, sim.ErrLimit) {
		t.Fatal(err)
	}
	return r
}
