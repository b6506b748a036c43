package rate

import (
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// dctcpGain is the weight of a new measurement in alpha (Alizadeh et al., SIGCOMM 2010, 3.4: "g = 1/16").
const dctcpGain = 1.0 / 16

// dctcp is the sender of DCTCP with a rate in the place of its window, cwnd = rate x RTT, because a queue pair has no
// congestion window and starts at line rate. Once in a round trip:
//
//	"alpha = (1-g) alpha + g F" (equation 1), F the share of acknowledgements that echo a mark,
//	"cwnd = cwnd (1 - alpha/2)" (equation 2) if there was one, else one packet more.
//
// The receiver echoes marks in the BECN bit of acknowledgements, which no RC packet uses otherwise.
type dctcp struct {
	pacer
	path   Path
	rate   float64
	alpha  float64
	all    int // acknowledgements of this round
	marked int
	round  vtime.Time // end of the round
}

func newDCTCP(p Path) *dctcp { return &dctcp{path: p, rate: float64(p.Line), alpha: 1} }

// Sent implements Control.
func (d *dctcp) Sent(now vtime.Time, n int) vtime.Time { return d.sent(now, unit.Rate(d.rate), n) }

// Notified implements Control; DCTCP has no notification packets.
func (d *dctcp) Notified(vtime.Time) {}

// Acknowledged implements Control.
func (d *dctcp) Acknowledged(now vtime.Time, marked bool) {
	d.all++
	if marked {
		d.marked++
	}
	if now < d.round {
		return
	}
	d.round = now.Add(max(d.path.RTT, vtime.Microsecond))
	d.alpha = (1-dctcpGain)*d.alpha + dctcpGain*float64(d.marked)/float64(d.all)
	if d.marked > 0 {
		d.rate *= 1 - d.alpha/2
	} else {
		d.rate += d.packetPerRound()
	}
	d.rate = min(max(d.rate, float64(d.path.Line)/slowest), float64(d.path.Line))
	d.all, d.marked = 0, 0
}

// packetPerRound is the rate of one packet in a round trip, by which a window of one packet more is faster.
func (d *dctcp) packetPerRound() float64 {
	return float64(d.path.Frame) * 8 / (float64(max(d.path.RTT, vtime.Microsecond)) / float64(vtime.Second))
}

// Rate implements Control.
func (d *dctcp) Rate(vtime.Time) unit.Rate { return unit.Rate(d.rate) }
