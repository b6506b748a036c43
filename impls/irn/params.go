package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/param"
)

// Config holds the parsed parameters of the scheme.
type Config struct {
	Cap             int            // BDP cap: maximum number of packets in flight, and minimum size of a bitmap in bits
	RTOLow, RTOHigh vtime.Duration // low and high timeout; 0 selects the default, see timeouts
	RTT             vtime.Duration // round-trip time of the path; 0 if unknown
	RTON            int            // maximum number of packets in flight for which the low timeout applies

	rto rto // stopped timer with the timeouts of the QP; set by New
}

// maxCap bounds the cap: a quarter of the span that PSN arithmetic allows would do, and memory bounds it before.
const maxCap = 1 << 16

// Params returns the parameters with their defaults.
//
// The paper's network has 40 Gb/s and a longest round trip of 24 us: a cap of about 110 packets, timeouts of 100 and
// 320 us. These values fit no other network, so the defaults differ: the cap is that of the FaSR paper, and the timeout
// is the QP's transport timer. A cap of one BDP leaves the link idle for a round trip after each loss, because packets
// that a NACK has named count as in flight until the hole is filled; two BDPs keep the link busy.
func Params() []engine.Param {
	return []engine.Param{
		{Name: "cap", Default: "500",
			Meaning: "packets in flight at most per direction of a QP (BDP-FC), 1 to 65536; one BDP in the " +
				"paper, two for throughput"},
		{Name: "rto_high", Default: "0",
			Meaning: "timeout with more than rto_n packets in flight; 0 is the QP's timer, or 3 rtt when " +
				"it has none of its own"},
		{Name: "rto_low", Default: "0",
			Meaning: "timeout with rto_n packets in flight or fewer; 0 is 1.25 rtt, and without rtt the other timeout"},
		{Name: "rto_n", Default: "3",
			Meaning: "packets in flight up to which rto_low counts, 0 to 65536"},
		{Name: "rtt", Default: "0",
			Meaning: "round-trip time of the path, for the timeouts; 0 when not told"},
	}
}

// Set sets the parameter name; known is false if the scheme has no parameter of that name.
func (c *Config) Set(name, value string) (known bool, err error) {
	switch name {
	case "cap":
		c.Cap, err = param.Number(value, 1, maxCap)
	case "rto_high":
		c.RTOHigh, err = param.Duration(value)
	case "rto_low":
		c.RTOLow, err = param.Duration(value)
	case "rto_n":
		c.RTON, err = param.Number(value, 0, maxCap)
	case "rtt":
		c.RTT, err = param.Duration(value)
	default:
		return false, nil
	}
	return true, err
}

// timeouts returns the two timeouts of a QP. A given parameter has precedence. The high timeout defaults to 3 RTT if
// the RTT is known and the QP has no RTO, else to the QP's transport timer. The low timeout defaults to 1.25 RTT if the
// RTT is known, else to the high timeout, and never exceeds the high timeout.
func (c *Config) timeouts(qp *engine.QP) rto {
	t := rto{low: c.RTOLow, high: c.RTOHigh, n: c.RTON}
	if t.high == 0 {
		if t.high = qp.TransportTimer(); qp.RTO == 0 && c.RTT > 0 {
			t.high = 3 * c.RTT
		}
	}
	if t.low == 0 {
		if t.low = t.high; c.RTT > 0 {
			t.low = c.RTT + c.RTT/4
		}
	}
	t.low = min(t.low, t.high)
	return t
}
