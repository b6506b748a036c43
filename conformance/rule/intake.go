package rule

import (
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// QueriesHost is the feature of transports whose receivers keep their bitmaps in host memory: SRNIC. Each query stalls
// the receive pipeline of the endpoint, so that what passes its tap may be heard much later.
const QueriesHost = "srn"

// The defaults of the parameters: "the latency was as high as 1.4us", two queries per loss, "100Gbps".
const (
	defaultQuery   = 1400 * vtime.Nanosecond
	defaultQueries = 2
	defaultRate    = unit.Rate(100e9)
)

// Pipe is the receive pipeline as the parameters describe it.
type Pipe struct {
	Query   vtime.Duration // what a query takes
	Queries int            // queries that a retransmission costs its receiver
	rate    unit.Rate
}

// PipeWith returns the pipeline with these parameters.
func PipeWith(params engine.Params) Pipe {
	p := Pipe{defaultQuery, defaultQueries, defaultRate}
	if d, err := vtime.ParseDuration(params["tq"]); err == nil {
		p.Query = d
	}
	if n, err := strconv.Atoi(params["queries"]); err == nil {
		p.Queries = n
	}
	switch r, err := unit.ParseRate(params["rate"]); {
	case params["rate"] == "0":
		p.rate = 0
	case err == nil:
		p.rate = r
	}
	return p
}

// Stall is how long a retransmission stalls its receiver.
func (p *Pipe) Stall() vtime.Duration { return vtime.Duration(p.Queries) * p.Query }

// Time is how long a packet takes without queries.
func (p *Pipe) Time(pkt *roce.Packet) vtime.Duration {
	if p.rate == 0 {
		return 0
	}
	return p.rate.Time(pkt.WireLen(false))
}

// pipeline is the receive pipeline of an endpoint as its tap shows it: what arrives for any of its QPs, requests and
// answers alike, passes it in turn.
type pipeline struct {
	Pipe
	free vtime.Time // when it has taken everything, at the latest
}

// pipelineKey is the key of the pipeline that all checks of a rule share at a side.
type pipelineKey struct{ rule string }

// Intake leads what arrives at either end of a half-conversation through the pipeline of that end.
type Intake struct {
	c    *Context
	ends [2]*pipeline // the requester's, the responder's

	requests, data         holes // what has arrived
	ofRequests, ofReadData holes // what the answers say has arrived
}

// NewIntake returns that of a check, which has to see Arrivals.
func NewIntake(c *Context) Intake { return Intake{c: c} }

// Free returns when the requester's pipeline has taken all that has arrived, at the latest; zero where no query stalls
// it.
func (i *Intake) Free() vtime.Time {
	if l := i.end(trace.RequesterIn); l != nil {
		return l.free
	}
	return 0
}

// Sight takes what arrives, and returns when the pipeline has taken it at the latest.
func (i *Intake) Sight(s *Sight) vtime.Time {
	l := i.end(s.Point)
	if l == nil || s.Out || !s.Intact() || !i.c.Addressed(s) {
		return s.At
	}
	l.free = max(l.free, s.At).Add(l.Time(s.Pkt) + i.queries(l, s))
	return l.free
}

// end returns the pipeline of the end where something arrives; nil where no query stalls it.
func (i *Intake) end(point trace.Point) *pipeline {
	n, port, qp := 0, i.c.Port, i.c.Attr
	if !point.AtRequester() {
		n, port, qp = 1, i.c.PeerPort, i.c.PeerAttr
	}
	if i.ends[n] == nil && port.queries {
		i.ends[n] = port.Shared(pipelineKey{i.c.rule.ID}, func() any {
			return &pipeline{Pipe: PipeWith(qp.Params)}
		}).(*pipeline)
	}
	return i.ends[n]
}

// queries is how long the queries of a packet stall the pipeline, at most: those of a retransmission that arrives, or
// the one by which an answer tells what to send again.
func (i *Intake) queries(l *pipeline, s *Sight) vtime.Duration {
	p := s.Pkt
	o := p.Opcode
	last, _ := Acknowledged(p)
	stalls, each := false, l.Query
	switch {
	case o.IsReadAck():
		stalls = i.ofReadData.collects(p, p.PSN)
	case o.IsReadResponse():
		stalls, each = i.data.fills(s, i.c.Reads.Held), l.Stall()
	case s.Point == trace.RequesterIn:
		stalls = i.ofRequests.collects(p, last.Next())
	default:
		stalls, each = i.requests.fills(s, i.c.Held), l.Stall()
	}
	if !stalls {
		return 0
	}
	return each
}

// holes tells where holes may be in a sequence space: below the newest packet that came early.
type holes struct {
	high psn.PSN
	any  bool
}

// early notes a packet that came early, and reports whether it is the newest.
func (h *holes) early(p psn.PSN) bool {
	newest := !h.any || h.high.Less(p)
	if newest {
		h.high, h.any = p, true
	}
	return newest
}

// fills reports a packet that a receiver takes for a retransmission: it comes below one that is held.
func (h *holes) fills(s *Sight, held int) bool {
	h.any = h.any && held > 0
	if s.Relation == Ahead && h.early(s.Pkt.PSN) {
		return false
	}
	return h.any && s.Relation != Duplicate
}

// collects reports an answer that may tell what to send again: it names a packet that came early, or shows less than
// such a one.
func (h *holes) collects(p *roce.Packet, expected psn.PSN) bool {
	if Selective(p) && !p.AETH.Syndrome.IsACK() {
		h.early(p.SACK.PSN)
		return true
	}
	h.any = h.any && expected.Less(h.high)
	return h.any
}
