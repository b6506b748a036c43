package merge

import (
	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Gap is a time in which a tap lost frames: nothing can be concluded from their absence.
type Gap struct {
	Tap      trace.Side
	From, To vtime.Time
	Frames   uint64
}

// gapNear reports whether a tap lost frames between two times.
func (m *merger) gapNear(tap trace.Side, from, to vtime.Time) bool {
	for i := len(m.stats.Gaps) - 1; i >= 0; i-- {
		if g := &m.stats.Gaps[i]; g.Tap == tap && g.From <= to && g.To >= from {
			return true
		}
	}
	return false
}

// lateGaps reports losses that a tap counted without saying when.
func (m *merger) lateGaps(sources []capture.Source) {
	for i, src := range sources {
		tap := trace.Side(i & 1)
		if t, ok := src.(capture.AtTap); ok {
			tap = t.Side
		}
		lost := capture.StatsOf(src).Dropped
		for _, g := range m.stats.Gaps {
			if g.Tap == tap {
				lost -= min(lost, g.Frames)
			}
		}
		if lost > 0 {
			m.stats.Gaps = append(m.stats.Gaps, Gap{tap, 0, m.now, lost})
		}
	}
}
