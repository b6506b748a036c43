// Package srn holds the rules of the SRNIC-like baseline: IRN's recovery on FaSR's wire, with bitmaps in host memory whose
// queries stall the receive pipeline (FaSR II-A, V).
//
// What a stall does is seen on the wire, where the answer to a retransmission is late, and in the variables that an engine
// reports: queries and stalls of either half of a QP, and the state on the chip.
package srn

import (
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Rules returns the family in the order of IDs.
func Rules() []rule.Rule {
	return []rule.Rule{throughputLoss(), placeable(), stateSize(), decisions(), stalls(), noStall()}
}

// define fills in what all rules of the family share.
func define(r rule.Rule) rule.Rule {
	r.Features, r.BlackBox = []string{"srn", rule.KeepsEarly}, "ENG"
	return r
}

// The defaults of the parameters: "the latency was as high as 1.4us", two queries per loss, "100Gbps".
const (
	defaultQuery   = 1400 * vtime.Nanosecond
	defaultQueries = 2
	defaultRate    = unit.Rate(100e9)
)

// pipe is the receive pipeline as the parameters describe it.
type pipe struct {
	query   vtime.Duration // what a query takes
	queries int            // queries that a retransmission costs its receiver
	rate    unit.Rate
}

// pipeOf returns that of the responder.
func pipeOf(c *rule.Context) pipe { return pipeWith(c.PeerAttr.Params) }

func pipeWith(params engine.Params) pipe {
	p := pipe{defaultQuery, defaultQueries, defaultRate}
	if d, err := vtime.ParseDuration(params["tq"]); err == nil {
		p.query = d
	}
	if n, err := strconv.Atoi(params["queries"]); err == nil {
		p.queries = n
	}
	switch r, err := unit.ParseRate(params["rate"]); {
	case params["rate"] == "0":
		p.rate = 0
	case err == nil:
		p.rate = r
	}
	return p
}

// stall is how long a retransmission stalls its receiver.
func (p *pipe) stall() vtime.Duration { return vtime.Duration(p.queries) * p.query }

// framing is the bytes of a packet on the line outside its transport headers and payload: preamble, Ethernet, IPv4, UDP,
// ICRC, FCS and gap.
const framing = 8 + 14 + 20 + 8 + 4 + 4 + 12

// time is how long a packet takes without queries.
func (p *pipe) time(pkt *roce.Packet) vtime.Duration {
	if p.rate == 0 {
		return 0
	}
	return p.rate.Time(pkt.TransportLen() + framing)
}
