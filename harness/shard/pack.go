package shard

import (
	"cmp"
	"slices"
)

// Item is a unit of work for Pack.
type Item struct {
	Cost   float64 // in any unit
	Copies int     // number of shards that do it, all of them at most
}

// Pack assigns items to n shards, and returns the shards of each item: the costliest items first, each to the shards
// with the least work so far. The result depends only on the items and their order, so that machines with the same list
// agree without communication. Without copies the heaviest shard exceeds the mean by at most the cost of one item.
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

// lightest returns the shard with the least work that is not taken; there must be one.
func lightest(loads []float64, taken []int) int {
	least := -1
	for s, load := range loads {
		if !slices.Contains(taken, s) && (least < 0 || load < loads[least]) {
			least = s
		}
	}
	return least
}
