package irn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/selective"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// isRead reports whether the responses of a request are numbered apart: it is a READ or an atomic.
func isRead(o roce.Opcode) bool { return o.IsRead() || o.IsAtomic() }

var readNumbering = define(rule.Rule{
	ID: "IRN-RD-001", Level: rule.Must,
	Title: "A READ request takes one PSN of the requests, and its responses are numbered apart, without a gap",
	Source: rule.Source{Ref: transport + ", 5.4",
		Requirement: "IRN splits the PSN space into two different ones: sPSN to track the request packets sent by " +
			"the requester, and rPSN to track the response packets received by the requester."},
	Needs: rule.Both, Sees: rule.RequestOut | rule.ResponseOut, Stimulus: "READs of several packets",
	New: func(c *rule.Context) rule.Check {
		n := numbering{c: c, sent: map[psn.PSN]roce.SOETH{}}
		return rule.Check{Sight: n.sight}
	},
})

// numbering tracks the PSNs of requests after READs, and holds the place of every rPSN in its READ.
type numbering struct {
	c    *rule.Context
	read bool                   // the latest request was a READ
	sent map[psn.PSN]roce.SOETH // by rPSN
}

func (n *numbering) sight(s *rule.Sight) {
	c, p := n.c, s.Pkt
	switch {
	case s.Point == trace.RequesterOut && s.Relation == rule.First:
		if n.read && p.PSN != c.MAX {
			c.Failf(rule.Requester, "%s follows a READ request, %s was next", c.Rel(p.PSN), c.Rel(c.MAX))
		}
		n.read = isRead(p.Opcode)
	case s.Point != trace.ResponderOut || !p.Opcode.IsReadResponse() || s.Defect() != "":
	case !p.Opcode.NumberedApart():
		c.Failf(rule.Responder, "%v %s is numbered as a request; the numbers of responses expected", p.Opcode, c.Rel(p.PSN))
	case s.Relation == rule.First:
		n.first(p)
	case n.sent[p.PSN] != p.SO && !p.PSN.Less(c.Reads.UNA):
		c.Failf(rule.Responder, "rPSN %s is that of READ %d at %d, and is given to READ %d at %d too",
			c.Rel(p.PSN), n.sent[p.PSN].SN,
			n.sent[p.PSN].Offset, p.SO.SN, p.SO.Offset)
	}
}

func (n *numbering) first(p *roce.Packet) {
	c := n.c
	if c.Reads.Started && p.PSN != c.Reads.MAX {
		c.Failf(rule.Responder, "rPSN %s follows, %s was next", c.Rel(p.PSN), c.Rel(c.Reads.MAX))
	} else if p.Opcode.IsLast() {
		c.Met()
	}
	if len(n.sent) > longest {
		clear(n.sent)
	}
	n.sent[p.PSN] = p.SO
}

var readAcknowledged = define(rule.Rule{
	ID: "IRN-RD-002", Level: rule.Must,
	Title: "The requester answers READ responses with READ_(N)ACKs; each out-of-order response is named",
	Source: rule.Source{Ref: transport, Requirement: "IRN introduces packets for read (N)ACKs that are sent by a " +
		"requester for each Read response packet."},
	Needs: rule.TapRequester, Sees: rule.ResponseIn | rule.ReadAckOut, Stimulus: "a READ, and a lost response",
	New: func(c *rule.Context) rule.Check {
		r := selective.OfData(c, func(s *rule.Sight) (selective.Kind, cause) {
			switch {
			case s.Rec.Fate == trace.Injected:
				return selective.Unknown, plain // packets that the harness makes answer no READ
			case s.Relation == rule.Ahead:
				return selective.Name, ahead
			}
			return selective.ACK, ordered
		})
		r.Match = func(want *answer, sent *rule.Sight) { dataAnswered(c, want, sent) }
		return rule.Check{End: r.End, Sight: func(s *rule.Sight) {
			p, fits := s.Pkt, r.Sight(s)
			switch pure := p.SACK.PSN == p.PSN; {
			case !p.Opcode.IsReadAck() || r.Blind:
			case pure && c.Reads.EPSN.Less(p.PSN):
				c.Failf(rule.Requester, "READ_ACK of %s, %s is expected next", c.Rel(p.PSN), c.Rel(c.Reads.EPSN))
			case !pure && !fits:
				c.Failf(rule.Requester, "a READ_(N)ACK of %s, expecting %s, answers no response", c.Rel(p.SACK.PSN), c.Rel(p.PSN))
			}
		}}
	},
})

// dataAnswered judges the answer to a READ response.
func dataAnswered(c *rule.Context, want *answer, sent *rule.Sight) {
	switch name := want.Named(); {
	case sent == nil, sent.Pkt.SACK.PSN == sent.Pkt.PSN && want.Kind == selective.Name:
		c.FailAt(want.At, want.Index, rule.Requester, "the READ response "+c.Rel(name)+" is not answered")
	case want.Kind != selective.Name:
	case sent.Pkt.PSN != want.Next:
		c.Failf(rule.Requester, "the READ_(N)ACK of %s expects %s; %s is expected next", c.Rel(name),
			c.Rel(sent.Pkt.PSN), c.Rel(want.Next))
	default:
		c.Met()
	}
}

var readRetransmits = define(rule.Rule{
	ID: "IRN-RD-003", Level: rule.Must,
	Title: "The responder sends only the missing READ responses again, and on its own timer when no READ_(N)ACK comes",
	Source: rule.Source{Ref: transport, Requirement: "IRN also requires the Read responder (which is the data " +
		"source) to implement timeouts; it retransmits responses that read (N)ACKs show to be missing, as a requester."},
	Needs: answersTap | rule.Completions, Sees: rule.RequestIn | rule.ResponseOut | rule.ReadAckIn,
	Stimulus: "a lost READ response, and a READ whose acknowledgements are all lost",
	New: func(c *rule.Context) rule.Check {
		r := data{c: c, Sender: selective.NewSender(c, rule.Responder, rule.Handed)}
		r.Judges(selective.FirstIsHead, selective.OnlyHoles, selective.HoleOnce, selective.Partial,
			selective.TimeoutHead, selective.TimeoutHoles, selective.FromNothing)
		return rule.Check{Sight: r.sight, Event: r.event, End: r.end}
	},
})

// data runs the reference sender over the READ responses. Where variables are reported, timeouts are read from the
// variable rd_timeouts.
type data struct {
	*selective.Sender
	c      *rule.Context
	ends   []readEnd  // of the READs whose data have left and are not acknowledged, oldest first
	begun  bool       // a response has left
	latest vtime.Time // the latest response or READ_ACK
	index  uint64     // of the latest response
}

// readEnd is the end of the data of a READ or an atomic.
type readEnd struct {
	sn  psn.PSN // its read_WQE_SN
	end psn.PSN // rPSN after its last response
}

// left records the end of the data of a READ when its last response leaves.
func (d *data) left(s *rule.Sight) {
	for len(d.ends) > 0 && d.ends[0].end.LessEq(d.UNA) {
		d.ends = d.ends[1:]
	}
	if s.Relation == rule.First && s.Pkt.Opcode.EndsMessage() && len(d.ends) < longest {
		d.ends = append(d.ends, readEnd{psn.PSN(s.Pkt.SO.SN), s.Pkt.PSN.Next()})
	}
}

// asked processes a READ request or an atomic. No more of them are outstanding than agreed, so it shows that its sender
// has the data of an earlier one, even if the READ_ACKs of those were lost.
func (d *data) asked(p *roce.Packet) {
	depth := max(1, d.c.PeerAttr.MaxDestRd)
	if n := d.c.Attr.MaxRdAtomic; n > 0 {
		depth = min(depth, n)
	}
	has := psn.PSN(p.SO.SN).Add(-depth)
	for len(d.ends) > 0 && d.ends[0].sn.LessEq(has) {
		d.Implies(d.ends[0].end)
		d.ends = d.ends[1:]
	}
}

func (d *data) sight(s *rule.Sight) {
	p := s.Pkt
	switch {
	case s.Point == trace.ResponderOut && p.Opcode.NumberedApart():
		if !d.begun {
			d.begun = true
			d.Start(p.PSN)
		}
		if (p.PSN == d.UNA || p.PSN == d.Implied) && s.Relation == rule.Again && d.Idle() && !d.c.Offers(rule.Probes) {
			d.Timeout(d.c.Began(s)) // without reports a retransmission that nothing asked for is a timeout
		}
		d.latest, d.index = s.At, s.Index
		d.Leaves(s)
		d.left(s)
	case s.Point != trace.ResponderIn || !d.begun || !s.Intact() || !d.c.Addressed(s):
	case p.Opcode.IsReadAck():
		d.latest = s.At
		d.Heard(s, s.At, p.PSN, p.SACK.PSN)
	case isRead(p.Opcode):
		if d.asked(p); s.Relation == rule.Duplicate {
			d.Hush() // it may be answered again
		}
	}
}

// event processes the timeouts of READ responses, which are counted: a Timeout event is the requester's.
func (d *data) event(e *trace.Event) {
	if e.Kind == trace.Probe && e.Name == "rd_timeouts" && !d.c.Mine(e) && d.UNA != d.Next {
		d.Timeout(e.At)
	}
}

func (d *data) end(at vtime.Time) {
	d.Sender.End(at)
	period := d.c.PeerAttr.TransportTimer()
	if high, ok := duration(d.c, "rto_high"); ok {
		period = max(period, high)
	}
	if d.Implied != d.Next && !d.Quiet && !d.c.Fatal && !d.c.Failed && d.c.Late(rule.Responder,
		d.latest.Add(rule.TimerSlow*period), rule.Patience, at) && d.c.PeerAttr.TransportTimer() != 0 {
		d.c.FailAt(d.latest, d.index, rule.Responder, "the READ response "+d.c.Rel(d.UNA)+
			" is not acknowledged and not sent again; its retransmission expected")
	}
}
