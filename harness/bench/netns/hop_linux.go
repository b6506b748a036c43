package netns

import (
	"cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// hop is a part of the path with a link of its own: all of it, or what lies before or behind a box.
type hop struct {
	part    trace.Hop
	devices [2]string // at its ends, by side
	ports   [2]string // of its link, by side
	link    spec.Duplex
	faults  []fault.Fault
	seeds   [2]uint64
}

// route is the hops from A to B.
type route []hop

// routeOf returns the whole path as one hop, or as two with a box between them. The link of the Spec is that behind the
// box, so it is the same link, with the same losses, with a box and without one.
func routeOf(sp *scenario.Spec, boxed bool) route {
	wan := hop{devices: [2]string{DeviceA, DeviceB}, ports: [2]string{PortA, PortB}, link: sp.Link, faults: sp.Faults, seeds: sp.Seeds()}
	if !boxed {
		return route{wan}
	}
	wan.part, wan.devices[trace.A] = trace.WANHop, DeviceWAN
	lan := hop{part: trace.LANHop, devices: [2]string{DeviceA, DeviceLAN}, ports: [2]string{LANPortA, LANPortBox},
		link: spec.Duplex{AB: sp.LAN.Link, BA: sp.LAN.Link}, faults: sp.LAN.Faults, seeds: sp.LANSeeds()}
	return route{lan, wan}
}

// headroom is how much faster than the link behind it a port into the LAN is at most. The LAN then never is what limits a
// run, and a host that cannot send 100 Gb/s is not asked to: it would take a full queue at once and be late for all else.
const headroom = 2

// port is the speed at which hop i is sent into by its end at a side.
func (r route) port(i int, side trace.Side) unit.Rate {
	own, behind := r[i].way(side), r[len(r)-1].way(side)
	speed := cmp.Or(own.Port, own.Rate)
	if most := headroom * behind.Rate; r[i].part == trace.LANHop && most > 0 && (speed == 0 || speed > most) {
		return most
	}
	return speed
}

// way is the direction in which a side sends.
func (h *hop) way(side trace.Side) spec.Link {
	if side == trace.A {
		return h.link.AB
	}
	return h.link.BA
}

// named adds the hop to the name of something that every link has.
func (h *hop) named(what string) string {
	if h.part == trace.Whole {
		return what
	}
	return what + ", " + h.part.String()
}

// tap is where the frames at one end are captured.
func (h *hop) tap(side trace.Side) capture.Tap {
	return capture.Tap{Side: side, Hop: h.part, Device: h.devices[side]}
}

// directions names both ways over the hop, as certificates do.
func (h *hop) directions() [2]string {
	near, far := "A", "B"
	switch side, boxed := h.part.Box(); {
	case boxed && side == trace.A:
		near = "box"
	case boxed:
		far = "box"
	}
	return [2]string{near + ">" + far, far + ">" + near}
}

// injects reports whether crafted packets to a side enter on this hop: on the one that ends at the side's endpoint.
func (h *hop) injects(to trace.Side) bool {
	side, boxed := h.part.Box()
	return !boxed || side != to
}
