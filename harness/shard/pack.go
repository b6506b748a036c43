package shard

import (
	"cmp"
	"slices"
)

// Item is a unit of work as Pack sees it.
type Item struct {
	Cost   float64 // in any unit
	Copies int     // shards that do it, each for itself; as many as there are at most
}

// Pack deals items out to n shards, and returns the shards of each: the costliest first, each to the shards that have
// the least so far. It depends on the items and their order alone, so that machines which know the same work agree
// without a word. Of items without copies the heaviest shard is above the mean by the cost of one item at most.
func Pack(items []Item, n int) [][]int {
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, k int) int { return cmp.Compare(items[k].Cost, items[i].Cost) })
	loads, shards := make([]float64, max(1, n)), make([][]int, len(items))
	for _, i := range order {
		for range min(items[i].Copies, len(loads)) {
			s := lightest(loads, shards[i])
			loads[s] += items[i].Cost
			shards[i] = append(shards[i], s)
		}
	}
	return shards
}

// lightest is the shard with the least work among those that are not taken, of which there is one.
func lightest(loads []float64, taken []int) int {
	least := -1
	for s, load := range loads {
		if !slices.Contains(taken, s) && (least < 0 || load < loads[least]) {
			least = s
		}
	}
	return least
}
