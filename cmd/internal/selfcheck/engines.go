package selfcheck

import (
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/matrix"
	"github.com/rdma-gauntlet/gauntlet/impls/broken/all"
)

// Engines lists the engines with deliberate defects, by package and then by name.
func Engines() (list []matrix.Broken) {
	for _, f := range all.Families() {
		for _, v := range f.Variants {
			list = append(list, matrix.Broken{Family: v.Right.Name, Name: v.Name, Breaks: v.Breaks, Catches: v.Catches,
				Scenarios: v.Scenarios, Stimulus: f.Stimulus, Impl: v.Impl, Right: v.Right})
		}
	}
	return list
}
