package judging

import (
	"cmp"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Orders is what a judge has to know of the work of a Spec. Requests and regions are made when they are asked for, so that it costs
// nothing to keep, however large the Spec is. Boxed says that a middlebox is in the path, which the communication manager does not know.
func Orders(s *scenario.Spec, boxed bool) *rule.Orders {
	o := &rule.Orders{Until: vtime.Never, Managed: s.CM.Managed(boxed)}
	o.Rates = [2]unit.Rate{cmp.Or(s.Link.AB.Port, s.Link.AB.Rate), cmp.Or(s.Link.BA.Port, s.Link.BA.Rate)}
	for side, d := range s.Devices {
		if d.Present() {
			o.Rates[side] = 0
		}
	}
	if s.For > 0 {
		o.Until = vtime.Time(s.For)
	}
	o.Series = func(conn int, side trace.Side) (list []rule.Series) {
		if s.Devices[side].Present() {
			return nil // a stock tool has arguments, and posts what it likes
		}
		for _, d := range drive.SeriesOf(s, side, conn) {
			list = append(list, rule.Series(d))
		}
		return list
	}
	o.Regions = func(conn int, side trace.Side) (list []rule.Region) {
		for _, d := range drive.RegionsOf(s, side, conn) {
			list = append(list, rule.Region(d))
		}
		return list
	}
	return o
}
