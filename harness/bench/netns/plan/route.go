package plan

import (
	"cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// Route is the hops from A to B.
type Route []Hop

// RouteOf returns the whole path as one hop, or as two with a middlebox between them. The link of the Spec is the one
// after the box, so that it has the same losses with a middlebox and without one.
func RouteOf(sp *scenario.Spec, boxed bool) Route {
	wan := Hop{Link: sp.Link, Faults: sp.Faults, Seeds: sp.Seeds()}
	if !boxed {
		return Route{wan}
	}
	wan.Part = trace.WANHop
	lan := Hop{Part: trace.LANHop, Link: spec.Duplex{AB: sp.LAN.Link, BA: sp.LAN.Link}, Faults: sp.LAN.Faults,
		Seeds: sp.LANSeeds()}
	return Route{lan, wan}
}

// WAN returns the hop whose link is that of the Spec.
func (r Route) WAN() *Hop { return &r[len(r)-1] }

// Line returns the rate at which the endpoint of a side sends; zero is no limit.
func (r Route) Line(side trace.Side) unit.Rate {
	if side == trace.A {
		return r.port(0, side)
	}
	return r.port(len(r)-1, side)
}

// BoxLines are the rates at which a middlebox sends, by its ports: it is the end B of the LAN and the end A of the WAN.
func (r Route) BoxLines() []unit.Rate {
	return []unit.Rate{r.port(int(engine.LAN), trace.B), r.port(int(engine.WAN), trace.A)}
}

// headroom bounds the rate of a port into the LAN, as a multiple of the rate of the link after it. The LAN then never
// limits a run, and a host that cannot send 100 Gb/s need not try to: it would send a full queue at once and be late
// with all other work.
const headroom = 2

// port returns the rate at which the end of a hop at a side sends into it.
func (r Route) port(i int, side trace.Side) unit.Rate {
	own, behind := r[i].Way(side), r.WAN().Way(side)
	speed := cmp.Or(own.Port, own.Rate)
	if most := headroom * behind.Rate; r[i].Part == trace.LANHop && most > 0 && (speed == 0 || speed > most) {
		return most
	}
	return speed
}

// Window returns the maximum time that a packet with a payload of mtu bytes can spend on a hop, at most MaxWindow.
func (r Route) Window(mtu int) (most vtime.Duration) {
	for i := range r {
		most = max(most, r[i].window(mtu))
	}
	return min(most, MaxWindow)
}

// MaxWindow bounds the time for which a merge awaits a packet on a slow link with a long queue, which is rarely full,
// and so its memory.
const MaxWindow = 30 * vtime.Second
