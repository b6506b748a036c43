package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/param"
)

// config holds the parsed parameters of the scheme.
type config struct {
	pool     Pool
	window   int            // maximum packets in flight; a receiver accepts PSNs below RCV-NXT+window
	rtt      vtime.Duration // round-trip time of the path; 0 if unknown
	rate     unit.Rate      // line rate; 0 if unknown
	credit   bool           // the sender decreases lost-cnt on ACKs (lostcnt_credit)
	lc1Exact bool           // the sender retransmits UNACK only, on a first SACK with a lost-cnt of 1 (lc1_exact)
	ackDelay vtime.Duration // longest delay of a coalesced ACK
}

// params returns the parameters with their defaults. The defaults of the pool are those of the paper's analysis
// (III-D), for a BDP of 500 packets and two per cent of loss.
func params() []engine.Param {
	return []engine.Param{
		{Name: "ack_delay", Default: "4us",
			Meaning: "how long a coalesced ACK may wait for more packets"},
		{Name: "block_bits", Default: "10",
			Meaning: "packets that a bitmap block records, 1 to 64; the paper analyses 10 and builds 16"},
		{Name: "blocks", Default: "70",
			Meaning: "bitmap blocks that all QPs of an endpoint share, 0 to 4096"},
		{Name: "lc1_exact", Default: "false",
			Meaning: "true retransmits UNACK alone when the first SACK has a lost-cnt of 1; false all up to " +
				"the SACK, as the paper"},
		{Name: "lostcnt_credit", Default: "false",
			Meaning: "true lets the sender take off lost-cnt what an ACK shows to be repaired; " +
				"false never, as the paper"},
		{Name: "rate", Default: "0",
			Meaning: "line rate such as 100G, for the default RTO; 0 leaves serialisation out of it"},
		{Name: "rtt", Default: "0",
			Meaning: "round-trip time of the path; makes the RTO max(3 rtt, rtt + half a window at rate) when the " +
				"QP has none of its own"},
		{Name: "units", Default: "20",
			Meaning: "SR state units that all QPs of an endpoint share, 0 to 255"},
		{Name: "window", Default: "500",
			Meaning: "packets in flight at most per direction of a QP, 1 to 65536"},
	}
}

// maxWindow bounds the window: a quarter of the span that PSN arithmetic allows would do, and memory bounds it before.
const maxWindow = 1 << 16

// parse reads the parameters over their defaults.
func parse(given engine.Params) (config, error) {
	var cfg config
	if err := given.Read("fasr", params(), cfg.set); err != nil {
		return config{}, err
	}
	return cfg, nil
}

// set sets the parameter name.
func (c *config) set(name, value string) (err error) {
	switch name {
	case "ack_delay":
		c.ackDelay, err = param.Duration(value)
	case "block_bits":
		c.pool.BlockBits, err = param.Number(value, 1, maxBlockBits)
	case "blocks":
		c.pool.Blocks, err = param.Number(value, 0, maxBlocks)
	case "lc1_exact":
		c.lc1Exact, err = param.Bool(value)
	case "lostcnt_credit":
		c.credit, err = param.Bool(value)
	case "rate":
		if value != "0" {
			c.rate, err = unit.ParseRate(value)
		}
	case "rtt":
		c.rtt, err = param.Duration(value)
	case "units":
		c.pool.Units, err = param.Number(value, 0, maxUnits)
	case "window":
		c.window, err = param.Number(value, 1, maxWindow)
	}
	return err
}

// rto returns the retransmission timeout of a QP. The paper gives no value. The RTO attribute of the QP has precedence;
// else, if the RTT is known, the timeout is max(3 RTT, RTT + half a window at line rate), because a retransmission may
// have to wait for packets in flight; else it is the QP's transport timer.
func (c *config) rto(qp *engine.QP) vtime.Duration {
	if qp.RTO != 0 || c.rtt == 0 {
		return qp.TransportTimer()
	}
	var half vtime.Duration
	if c.rate > 0 {
		half = c.rate.Time(c.window / 2 * (qp.MTU + middleBytes))
	}
	return max(3*c.rtt, c.rtt+half)
}
