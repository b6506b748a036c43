package all

import (
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/shard"
)

// To hunt for longer, or among other Specs, or on several machines:
// go test ./impls/all -run AnyLegalSpec -args -from=1000 -specs=5000 -shard=1/2
var (
	from  = flag.Uint64("from", 1, "seed of the first random Spec")
	specs = flag.Uint64("specs", 66, "random Specs to run")
	part  = flag.String("shard", "", "run those of shard i of n, i/n, or of the one that the environment names, auto")
)

// seeds returns the seeds of random Specs from first on that belong to this shard. All shards have equally many seeds
// of each implementation.
func seeds(t *testing.T, first, n uint64) []uint64 {
	t.Helper()
	mine := shard.Whole
	if *part != "" {
		var err error
		if mine, err = shard.Parse(*part, os.Getenv); err == nil {
			err = shard.Acknowledge(os.Getenv)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return divided(first, n, uint64(len(Implementations())), mine)
}

// divided distributes seeds in rounds, in each of which every implementation has one.
func divided(first, n, round uint64, mine shard.Part) (out []uint64) {
	for seed := first; seed < first+n; seed++ {
		if (seed-first)/round%uint64(mine.Of) == uint64(mine.Index) {
			out = append(out, seed)
		}
	}
	return out
}

// Every seed belongs to one shard.
func TestSeedsAreDivided(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8} {
		var all []uint64
		for i := range n {
			all = append(all, divided(100, 66, 11, shard.Part{Index: i, Of: n})...)
		}
		slices.Sort(all)
		if want := divided(100, 66, 11, shard.Whole); !slices.Equal(all, want) || len(want) != 66 {
			t.Errorf("%d shards: %v", n, all)
		}
	}
}
