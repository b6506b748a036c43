package degrade

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/splitmix"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// everyTap stands for the frames of all taps, in the order of their times.
const everyTap = -1

// Stretches returns the harms of lacking a few frames of a recording: each single frame, each two neighbours, each
// beginning and each end, of one tap or of all at once. Frames that are missing within a capture are counted; a capture
// may begin late and end early.
func Stretches(r Recording) (list []Harm) {
	for tap := everyTap; tap < len(r.Taps); tap++ {
		if tap == 0 && len(r.Taps) == 1 {
			break // it is all taps
		}
		n := len(r.numbers(tap))
		for i := range n {
			list = append(list, stretch(tap, i, i+1, true), stretch(tap, i, i+2, true))
			if i > 0 {
				list = append(list, stretch(tap, 0, i, false), stretch(tap, i, n, false))
			}
		}
	}
	return list
}

// stretch is the harm of lacking the frames [from, to) of a tap.
func stretch(tap, from, to int, counted bool) Harm {
	name := fmt.Sprintf("frames %d to %d of tap %d cut off", from, to-1, tap)
	if counted {
		name = fmt.Sprintf("frames %d to %d of tap %d missed", from, to-1, tap)
	}
	return Harm{Name: name, Hides: true, Breaks: validity.Capture, To: func(r Recording, _ splitmix.Stream) Recording {
		frames, n := r.numbers(tap), -1
		lost := frames[from:min(to, len(frames))]
		drop := func(*Frame) bool { n++; return slices.Contains(lost, n) }
		if counted {
			return r.misses(drop)
		}
		return r.without(drop)
	}}
}

// numbers returns the numbers of the frames of a tap in the order of their times; frames are numbered tap by tap.
func (r Recording) numbers(of int) (list []int) {
	var at []vtime.Time
	for tap, frames := range r.Taps {
		for _, f := range frames {
			if of == everyTap || of == tap {
				list = append(list, len(at))
			}
			at = append(at, f.At)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	return list
}
