package shard

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// environment returns a getenv for "NAME=value …".
func environment(text string) func(string) string {
	return func(name string) string {
		for _, v := range strings.Fields(text) {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func TestParse(t *testing.T) {
	const array = "SLURM_ARRAY_TASK_MIN=%d SLURM_ARRAY_TASK_MAX=%d SLURM_ARRAY_TASK_STEP=%d " +
		"SLURM_ARRAY_TASK_COUNT=%d SLURM_ARRAY_TASK_ID=%d"
	for _, c := range []struct{ text, env, want string }{
		{"2/8", "", "2/8"},
		{"1/1", "CI_NODE_INDEX=3 CI_NODE_TOTAL=4", "1/1"},
		{"auto", "GAUNTLET_SHARD_INDEX=0 GAUNTLET_SHARD_TOTAL=3", "1/3"},
		{"auto", "CI_NODE_INDEX=3 CI_NODE_TOTAL=4", "3/4"},
		{"auto", "JOB_COMPLETION_INDEX=7 GAUNTLET_SHARD_TOTAL=8", "8/8"},
		{"auto", "TEST_SHARD_INDEX=1 TEST_TOTAL_SHARDS=2", "2/2"},
		{"auto", fmt.Sprintf(array, 1, 8, 1, 8, 1), "1/8"},
		{"auto", fmt.Sprintf(array, 0, 7, 1, 8, 7), "8/8"},
		{"auto", fmt.Sprintf(array, 10, 16, 2, 4, 14), "3/4"},
		{"auto", fmt.Sprintf(array, 5, 5, 1, 1, 5), "1/1"},
		{"auto", fmt.Sprintf(array, 2, 5, 1, 2, 5), "2/2"}, // --array=2,5: two tasks, whatever the step variable
		{"auto", fmt.Sprintf(array, 2, 5, 1, 2, 5) + " GAUNTLET_SHARD_TOTAL=8", "6/8"},
		{"auto", "GAUNTLET_SHARD_INDEX=4 GAUNTLET_SHARD_TOTAL=9 CI_NODE_INDEX=3 CI_NODE_TOTAL=4", "5/9"},

		{"auto", "", "none of GAUNTLET_SHARD_INDEX, CI_NODE_INDEX"},
		{"auto", "CI_NODE_TOTAL=1", "none of"}, // GitLab always sets it
		{"auto", "CI_NODE_INDEX=1 CI_NODE_TOTAL=2 TEST_SHARD_INDEX=1 TEST_TOTAL_SHARDS=2",
			"both CI_NODE_INDEX and TEST_SHARD_INDEX"},
		{"auto", "JOB_COMPLETION_INDEX=7", `GAUNTLET_SHARD_TOTAL is ""`},
		{"auto", "JOB_COMPLETION_INDEX=8 GAUNTLET_SHARD_TOTAL=8",
			"shard 9 of 8, from JOB_COMPLETION_INDEX and GAUNTLET_SHARD_TOTAL"},
		{"auto", "CI_NODE_INDEX=0 CI_NODE_TOTAL=2", "shard 0 of 2"},
		{"auto", fmt.Sprintf(array, 1, 7, 1, 3, 2), "are no range"}, // --array=1,2,7
		{"0/8", "", "shard 0 of 8, from 0/8"},
		{"9/8", "", "shard 9 of 8"},
		{"1/10001", "", "1 to 10000 shards"},
		{"x", "", `shard "x": want i/n`},
		{"1/8/2", "", "want i/n"},
	} {
		p, err := Parse(c.text, environment(c.env))
		if got := fmt.Sprint(p); err != nil && !strings.Contains(err.Error(), c.want) || err == nil && got != c.want {
			t.Errorf("%s with %q: %s, %v; want %s", c.text, c.env, got, err, c.want)
		}
	}
}

func TestAcknowledge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "status")
	if err := Acknowledge(environment("TEST_SHARD_STATUS_FILE=" + path)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	if err := Acknowledge(environment("")); err != nil {
		t.Error(err)
	}
}

// The heaviest shard exceeds the mean by at most the costliest item, and so by at most 15 % when no item is more than
// 15 % of a shard.
func TestPackIsEven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items, n := drawItems(t, 1), rapid.IntRange(1, 40).Draw(t, "n")
		loads, total, costliest := make([]float64, n), 0.0, 0.0
		for i, in := range Pack(items, n) {
			if len(in) != 1 {
				t.Fatalf("item %d is in shards %v", i, in)
			}
			loads[in[0]] += items[i].Cost
			total, costliest = total+items[i].Cost, max(costliest, items[i].Cost)
		}
		if heaviest, mean := slices.Max(loads), total/float64(n); heaviest > (mean+costliest)*1.000001 {
			t.Fatalf("heaviest %g, mean %g, costliest item %g", heaviest, mean, costliest)
		}
	})
}

// Packing the same items gives the same shards, and copies of an item are in different shards.
func TestPackAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items, n := drawItems(t, 3), rapid.IntRange(1, 10).Draw(t, "n")
		shards, again := Pack(items, n), Pack(slices.Clone(items), n)
		for i, in := range shards {
			if !slices.Equal(in, again[i]) || len(in) != min(items[i].Copies, n) {
				t.Fatalf("%+v of %d: %v, then %v", items[i], n, in, again[i])
			}
			if apart := slices.Compact(slices.Sorted(slices.Values(in))); len(apart) != len(in) || apart[0] < 0 ||
				apart[len(apart)-1] >= n {
				t.Fatalf("shards %v of %d", in, n)
			}
		}
	})
}

func drawItems(t *rapid.T, copies int) []Item {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Item {
		return Item{rapid.Float64Range(0, 1000).Draw(t, "cost"), rapid.IntRange(1, copies).Draw(t, "copies")}
	}), 1, 200).Draw(t, "items")
}
