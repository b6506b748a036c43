package srn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// pipeline is the receive pipeline of an endpoint as its tap shows it: what arrives for any of its QPs, requests and answers alike,
// passes it in turn.
type pipeline struct {
	pipe
	free vtime.Time // when it has taken everything, at the latest
}

// pipelineKey is the key of the pipeline that all checks of a side share.
type pipelineKey struct{}

// intake leads what arrives at either end of a half-conversation through the pipeline of that end.
type intake struct {
	c    *rule.Context
	ends [2]*pipeline // the requester's, the responder's

	requests, data         holes // what has arrived
	ofRequests, ofReadData holes // what the answers say has arrived
}

// sight takes what arrives, and returns when the pipeline has taken it at the latest.
func (i *intake) sight(s *rule.Sight) vtime.Time {
	if s.Out || !s.Intact() || !i.c.Addressed(s) {
		return s.At
	}
	l := i.end(s.Point)
	l.free = max(l.free, s.At).Add(l.time(s.Pkt) + i.queries(l, s))
	return l.free
}

// end returns the pipeline of the end where something arrives.
func (i *intake) end(point trace.Point) *pipeline {
	n, port, qp := 0, i.c.Port, &i.c.Attr
	if !point.AtRequester() {
		n, port, qp = 1, i.c.PeerPort, &i.c.PeerAttr
	}
	if i.ends[n] == nil {
		i.ends[n] = port.Shared(pipelineKey{}, func() any { return &pipeline{pipe: pipeWith(qp.Params)} }).(*pipeline)
	}
	return i.ends[n]
}

// queries is how long the queries of a packet stall the pipeline, at most: those of a retransmission that arrives, or the one by which
// an answer tells what to send again.
func (i *intake) queries(l *pipeline, s *rule.Sight) vtime.Duration {
	p := s.Pkt
	o := p.Opcode
	last, _ := rule.Acknowledged(p)
	stalls, each := false, l.query
	switch {
	case o.IsReadAck():
		stalls = i.ofReadData.collects(p, p.PSN)
	case o.IsReadResponse():
		stalls, each = i.data.fills(s, i.c.Reads.Held), l.stall()
	case s.Point == trace.RequesterIn:
		stalls = i.ofRequests.collects(p, last.Next())
	default:
		stalls, each = i.requests.fills(s, i.c.Held), l.stall()
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
func (h *holes) fills(s *rule.Sight, held int) bool {
	h.any = h.any && held > 0
	if s.Relation == rule.Ahead && h.early(s.Pkt.PSN) {
		return false
	}
	return h.any && s.Relation != rule.Duplicate
}

// collects reports an answer that may tell what to send again: it names a packet that came early, or shows less than such a one.
func (h *holes) collects(p *roce.Packet, expected psn.PSN) bool {
	if rule.Selective(p) && !p.AETH.Syndrome.IsACK() {
		h.early(p.SACK.PSN)
		return true
	}
	h.any = h.any && expected.Less(h.high)
	return h.any
}
