package judging

import (
	"cmp"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Orders returns the work that a Spec orders implementations to do. Requests and regions are computed on demand, so the
// result is small however large the Spec is. For a device there are no orders: a stock tool chooses its own requests
// and memory.
func Orders(s *scenario.Spec, impls [2]engine.Implementation) *rule.Orders {
	o := &rule.Orders{Until: vtime.Never, Managed: s.CM.Managed(impls[trace.A].NewBox != nil)}
	o.Rates = [2]unit.Rate{cmp.Or(s.Link.AB.Port, s.Link.AB.Rate), cmp.Or(s.Link.BA.Port, s.Link.BA.Rate)}
	var stock [2]bool
	for side := range stock {
		if stock[side] = foreign(&impls[side]) && !scenario.Foreign(s.Impl[side]) ||
			s.Devices[side].Present(); stock[side] {
			o.Rates[side] = 0
		}
	}
	if s.For > 0 {
		o.Until = vtime.Time(s.For)
	}
	o.Series = func(conn int, side trace.Side) (list []rule.Series) {
		if stock[side] {
			return nil
		}
		for _, d := range drive.SeriesOf(s, side, conn) {
			d.Abroad = d.Abroad || stock[side.Other()]
			list = append(list, rule.Series(d))
		}
		return list
	}
	o.Regions = func(conn int, side trace.Side) (list []rule.Region) {
		if stock[side] && !s.Devices[side].Present() {
			return nil
		}
		for _, d := range drive.RegionsOf(s, side, conn) {
			list = append(list, rule.Region{RKey: d.RKey, VA: d.VA, Len: d.Len, Access: d.Access, Bounded: true})
		}
		return list
	}
	return o
}
