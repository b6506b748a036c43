package apn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var moderatedQueue = define(rule.Rule{
	ID: "APN-QD-007", Level: rule.Must, Rests: validity.Everything,
	Title: "With one completion in m signalled the effective window is between m and the depth",
	Source: rule.Source{Ref: "perftest", Requirement: "New work requests are posted when a completion is polled, and " +
		"with CQ moderation one completion stands for so many requests."},
	Sees: judged, Stimulus: "CQ moderation, a queue shorter than the path, messages of one packet, no loss",
	BlackBox: "ENG,HW",
	New:      ended((*flow).judgeModerated),
})

// judgeModerated measures the window as messages per cycle.
func (f *flow) judgeModerated() {
	c := f.c
	want, known := formula(c.Attr)
	m, depth := c.Attr.CQModeration, c.Attr.QueueDepth
	if f.spoilt || !known || m <= 1 || m > depth || f.sent < 8*depth || float64(depth) > 0.98*want {
		return
	}
	span := float64(f.last.Sub(f.begin))
	burst := vtime.Duration(m) * c.Attr.Path.Rate.Time(f.wire) // what is posted at once leaves one after the other
	// The first depth messages waited for nobody, the last may be a full burst: the two counts enclose the window.
	least, most := float64(f.sent-1)/span*float64(f.cycle()+burst+hosts), float64(f.sent-depth)/span*float64(f.cycle())
	const text = "%.1f messages are outstanding, want %d to %d"
	switch {
	case most > 1.01*float64(depth):
		c.Failf(rule.Requester, text, most, m, depth)
	case least < 0.98*float64(m):
		f.slow(f.patience(100, hosts), text, most, m, depth)
	default:
		c.Met()
	}
}
