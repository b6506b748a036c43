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
// the receive pipeline of the endpoint, so the endpoint may process a packet long after it passed the tap.
const QueriesHost = "srn"

// Stalls reports whether the endpoint of a port has the feature QueriesHost, so that it may know of a packet long after
// its tap has seen it arrive: an Intake tells when at the latest.
func (p *Port) Stalls() bool { return p.queries }

// The defaults of the parameters of SRNIC: "the latency was as high as 1.4us", two queries per loss, "100Gbps".
const (
	defaultQuery   = 1400 * vtime.Nanosecond
	defaultQueries = 2
	defaultRate    = unit.Rate(100e9)
)

// Pipe holds the parameters of a receive pipeline.
type Pipe struct {
	Query   vtime.Duration // time of one query
	Queries int            // queries per retransmission at its receiver
	rate    unit.Rate
}

// PipeWith returns the Pipe that parameters of an engine describe.
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

// Stall returns how long a retransmission stalls its receiver.
func (p *Pipe) Stall() vtime.Duration { return vtime.Duration(p.Queries) * p.Query }

// Time returns how long the pipeline takes for a packet without queries.
func (p *Pipe) Time(pkt *roce.Packet) vtime.Duration {
	if p.rate == 0 {
		return 0
	}
	return p.rate.Time(pkt.WireLen(false))
}

// pipeline models the receive pipeline of an endpoint from the packets that its tap sees: requests and responses of all
// its QPs pass it in the order of arrival.
type pipeline struct {
	Pipe
	free vtime.Time // latest time at which it has processed every packet that arrived
}

// pipelineKey is the key of the pipeline that all checks of a rule share on a side.
type pipelineKey struct{ rule string }

// Intake models the receive pipelines' delay of the packets that arrive at both ends of a half-conversation.
type Intake struct {
	c    *Context
	ends [2]*pipeline // pipelines of the requester and of the responder

	requests, data         holes // holes below requests and READ data that arrived
	ofRequests, ofReadData holes // holes that acknowledgements report
}

// NewIntake returns the Intake of a check, which must see Arrivals.
func NewIntake(c *Context) Intake { return Intake{c: c} }

// Free returns the latest time at which the requester's pipeline has processed all packets that arrived; 0 for an
// endpoint that makes no queries.
func (i *Intake) Free() vtime.Time {
	if l := i.end(trace.RequesterIn); l != nil {
		return l.free
	}
	return 0
}

// Sight enters a packet that arrives, and returns the latest time at which the pipeline has processed it.
func (i *Intake) Sight(s *Sight) vtime.Time {
	l := i.end(s.Point)
	if l == nil || s.Out || !s.Intact() || !i.c.Addressed(s) {
		return s.At
	}
	l.free = max(l.free, s.At).Add(l.Time(s.Pkt) + i.queries(l, s))
	return l.free
}

// end returns the pipeline of the end at point; nil for an endpoint that makes no queries.
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

// queries returns the longest time for which the queries of a packet stall the pipeline: the queries for a
// retransmission that arrives, or the one query for a response that makes the end retransmit.
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
		stalls, each = i.requests.fills(s, int(i.c.Held)), l.Stall()
	}
	if !stalls {
		return 0
	}
	return each
}

// holes tracks whether a PSN space may have holes: those are below high, the newest packet that came early.
type holes struct {
	high psn.PSN
	any  bool
}

// early records a packet that came early, and reports whether it is the newest.
func (h *holes) early(p psn.PSN) bool {
	newest := !h.any || h.high.Less(p)
	if newest {
		h.high, h.any = p, true
	}
	return newest
}

// fills reports whether a receiver takes a packet for a retransmission: it is below a packet that the receiver holds.
func (h *holes) fills(s *Sight, held int) bool {
	h.any = h.any && held > 0
	if s.Relation == Ahead && h.early(s.Pkt.PSN) {
		return false
	}
	return h.any && s.Relation != Duplicate
}

// collects reports whether a response may make its receiver retransmit: it names a packet that came early, or
// acknowledges less than such a packet.
func (h *holes) collects(p *roce.Packet, expected psn.PSN) bool {
	if Selective(p) && !p.AETH.Syndrome.IsACK() {
		h.early(p.SACK.PSN)
		return true
	}
	h.any = h.any && expected.Less(h.high)
	return h.any
}
