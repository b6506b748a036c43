package selective

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// TestTableIsAMap compares a table with a map from which the PSNs below the window are deleted.
func TestTableIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		floor := psn.New(rapid.Uint32().Draw(t, "start"))
		var got table[int]
		got.reset(floor)
		want := map[psn.PSN]int{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			p := floor.Add(rapid.IntRange(-2*pageLen, 6*pageLen).Draw(t, "psn"))
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				v := rapid.Int().Draw(t, "value")
				*got.at(p) = v
				if !p.Less(floor) {
					want[p] = v
				}
			case 1:
				if floor.Less(p) {
					floor = p
				}
				got.forget(p)
				for q := range want {
					if q.Less(floor) {
						delete(want, q)
					}
				}
			default:
				if got.get(p) != want[p] {
					t.Fatalf("get(%v) is %d, want %d", p, got.get(p), want[p])
				}
			}
		}
		if got.floor != floor {
			t.Fatalf("the floor is %v, want %v", got.floor, floor)
		}
	})
}
