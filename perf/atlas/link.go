package atlas

import (
	"fmt"
	"math"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// Link is one point of the grid.
type Link struct {
	Rate  unit.Rate
	RTT   vtime.Duration
	Loss  unit.Ratio // of the time of the line, both ways
	Burst int        // packets that are lost in a row; with LawGeometric their mean
}

// Law is the distribution of burst lengths.
type Law string

// The laws.
const (
	Geometric Law = "geometric" // the two-state chain of Gilbert, netem's gemodel
	Fixed     Law = "fixed"     // all alike, as in LoWAR's Fig. 11
)

// message is the size of the messages that every transport sends back to back; mtu cuts it into packets of packet bytes
// on the line.
const (
	message = 64 << 10
	mtu     = 1024
	packet  = mtu + roce.Overhead
)

// The minimum length of a run: enough round trips to make the first filling of the path negligible, and enough packets
// for several losses at a probability of one in ten thousand.
const (
	roundTrips = 40
	fewest     = 50_000
)

// product returns the bandwidth-delay product in packets.
func (l Link) product() int { return spec.Link{Rate: l.Rate}.BDPPackets(l.RTT, packet) }

// window returns the limit of packets in flight for transports that have one: four products, so that a repair that is
// lost again does not stop the sender, and at most the number that every transport can count.
func (l Link) window() int { return min(max(4*l.product(), 64), 1<<16) }

// timer returns the transport timer: three round trips, or on a slow line the time of so many packets that a block of a
// code takes a fraction of it.
func (l Link) timer() vtime.Duration { return max(3*l.RTT, 600*l.Rate.Time(packet)) }

// length returns the duration of a run.
func (l Link) length() vtime.Duration { return vtime.Duration(l.packets()) * l.Rate.Time(packet) }

// packets returns the number of packets that the line could carry in a run.
func (l Link) packets() int { return max(roundTrips*l.product(), fewest) }

// loss returns the loss line of the scenario: a process in the time of the line, so that all transports meet the same
// fades, however many packets they send.
func (l Link) loss(law Law) string {
	p, slot := float64(l.Loss), l.Rate.Time(packet)
	if p == 0 {
		return ""
	}
	if l.Burst == 1 {
		return fmt.Sprintf("loss random p=%g slot=%s", p, slot)
	}
	// The mean length of a good period is that of a bad one times (1-p)/p.
	n := float64(l.Burst)
	if law == Fixed {
		return fmt.Sprintf("loss burst p=%g len=%d slot=%s", p/(p+n*(1-p)), l.Burst, slot)
	}
	return fmt.Sprintf("loss gemodel p=%g r=%g slot=%s", p/(1-p)/n, 1/n, slot)
}

// scenario is the run of a transport over the link.
func (l Link) scenario(t *Transport, law Law) string {
	lines := []string{
		"impl " + t.Impl,
		fmt.Sprintf("link rate=%s delay=%s queue=%d", l.Rate, l.RTT/2, 4*l.window()+1024),
		l.loss(law),
		fmt.Sprintf("qp mtu=%d qd=%d rto=%s", mtu, l.window()*mtu/message+8, l.timer()),
		fmt.Sprintf("load write msg=%d", message),
		fmt.Sprintf("run for=%s", l.length()),
	}
	for _, p := range append(l.fitted(t.Impl), t.Params...) { // later params override earlier ones
		lines = append(lines, "param "+p)
	}
	return strings.Join(lines, "\n")
}

// fitted lists the parameters that a user of a transport would set for this path. Those of the selective schemes are as
// large as the path needs; the smaller sizes of their papers are limits of a chip, not of the scheme.
func (l Link) fitted(impl string) []string {
	switch impl {
	case "irn", "srnic":
		return []string{fmt.Sprintf("cap=%d rtt=%s", l.window(), l.RTT)}
	case "fasr":
		return []string{fmt.Sprintf("window=%d blocks=4096 units=255", l.window())}
	case "lowar", "lowar-gb1":
		const longest = 300 // packets, two blocks of the longest code of the paper
		given := max(10*vtime.Millisecond, longest*l.Rate.Time(packet))
		return []string{fmt.Sprintf("t_rob=%s", min(given, l.timer()/2))}
	}
	return nil
}

// validate returns an error for a link that no run can be made of.
func (l Link) validate() error {
	switch {
	case l.Rate < unit.Mbps || l.Rate > 400*unit.Gbps:
		return fmt.Errorf("rate %s: want 1M to 400G", l.Rate)
	case l.RTT < vtime.Microsecond || l.RTT > vtime.Second:
		return fmt.Errorf("RTT %s: want 1us to 1s", l.RTT)
	case !(l.Loss >= 0 && l.Loss <= 0.5):
		return fmt.Errorf("loss %s: want 0 to 50%%", l.Loss)
	case l.Burst < 1 || l.Burst > 1000:
		return fmt.Errorf("burst %d: want 1 to 1000 packets", l.Burst)
	case math.IsNaN(float64(l.Loss)):
		return fmt.Errorf("loss is no number")
	}
	return nil
}
