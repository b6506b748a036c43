// Package evidence derives from the packets that passed the taps of a foreign capture where a tap stands, what the
// capture lacks, and whether QPNs were used again. It sees the fields of a packet as Sightings, and sets the doubts of
// the connections in a header.
package evidence

import (
	"fmt"
	"net/netip"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// Vantage derives the place of the only tap of a capture whose connections are known.
type Vantage struct {
	header  *trace.Header
	courses [][2]*course // by connection and requester; nil before the first packet
	hosts   map[netip.Addr]*host
	order   []*host          // as they appear in the connections
	damaged map[passage]bool // frames of a host on a connection passed with a wrong ICRC
	apart   map[passage]*apart
}

// apart is the READ responses of a host in a PSN space of their own that have passed.
type apart struct {
	round
	asked psn.PSN // the one that the requester asked for last; valid if any
	any   bool
}

// passage identifies the frames that a host sends on a connection.
type passage struct {
	conn int32
	from netip.Addr
}

// NewVantage returns the Vantage of a capture of the connections of a header.
func NewVantage(h *trace.Header) *Vantage {
	v := &Vantage{header: h, courses: make([][2]*course, len(h.Conns)), hosts: map[netip.Addr]*host{},
		apart: map[passage]*apart{}}
	for i := range h.Conns {
		for s := range h.Conns[i].Ends {
			v.host(h.Conns[i].Ends[s].Addr)
		}
	}
	return v
}

// host returns the host of an address.
func (v *Vantage) host(a netip.Addr) *host {
	h := v.hosts[a]
	if h == nil {
		h = &host{addr: a}
		v.hosts[a] = h
		v.order = append(v.order, h)
	}
	return h
}

// course returns the course of a half-conversation.
func (v *Vantage) course(conn int32, requester trace.Side) *course {
	c := v.courses[conn][requester]
	if c == nil {
		ends := &v.header.Conns[conn].Ends
		c = &course{requester: v.host(ends[requester].Addr), responder: v.host(ends[requester.Other()].Addr)}
		v.courses[conn][requester] = c
	}
	return c
}

// Follow processes a frame.
func (v *Vantage) Follow(s *Sighting, e End) {
	conn := &v.header.Conns[e.Conn]
	switch s.Way {
	case capture.Outward:
		v.host(conn.Ends[e.From].Addr).flagged++
	case capture.Inward:
		v.host(conn.Ends[e.From.Other()].Addr).flagged++
	}
	if !s.Sound {
		if v.damaged == nil {
			v.damaged = map[passage]bool{}
		}
		v.damaged[passage{e.Conn, conn.Ends[e.From].Addr}] = true
	}
	request := s.Opcode.IsRequest()
	switch {
	case conn.Doubts[0] != nil: // the peer of the flow is a guess, or its packets are of several connections
	case s.Opcode.NumberedApart(): // not in the PSN space of the requests
		v.numberedApart(s, e)
	case request && !s.Headed:
		v.course(e.Conn, e.From).request(s, 1, false)
	case request && !s.Sound:
		v.course(e.Conn, e.From).spoilt(s)
	case request:
		n, exact := span(v.header, s, e)
		v.course(e.Conn, e.From).request(s, n, exact)
	case s.Headed && s.Sound && s.Opcode.IsResponse():
		v.course(e.Conn, e.From.Other()).response(s)
	case s.Opcode == roce.LoWAR:
		v.course(e.Conn, e.From).repair(s)
	}
}

// numberedApart processes a READ response in a PSN space of its own, or an acknowledgement of one. A response that has
// passed before one that the requester has, and that it asks for, was lost behind the tap.
func (v *Vantage) numberedApart(s *Sighting, e End) {
	from, acks := e.From, s.Opcode.IsReadAck()
	if acks {
		from = from.Other()
	}
	key := passage{e.Conn, v.header.Conns[e.Conn].Ends[from].Addr}
	a := v.apart[key]
	switch {
	case !s.Headed || !s.Sound:
	case !acks:
		if a == nil {
			a = new(apart)
			v.apart[key] = a
		}
		a.passes(s.PSN, s.PSN.Next())
	case a != nil && s.Syndrome == roce.SyndromePSNSeqErr && a.passed(s.PSN) && a.passed(s.SACK) &&
		!(a.any && a.asked == s.PSN):
		a.asked, a.any = s.PSN, true
		v.host(v.header.Conns[e.Conn].Ends[e.From].Addr).seen++
	}
}

// Reasons to doubt the requests that a tap saw.
var (
	// the order of requests at the tap is not that in which they were taken
	swappedWhy = fmt.Sprintf("requests passed the tap out of order within %v, and were taken in order: the capture, or "+
		"the path behind the tap, may have changed their order", swapTime)
	// requests are sent again although they are answered
	deafWhy = "requests were sent again long after all that they ask for had passed the tap: their sender may not have " +
		"heard the answers, if the tap is not at its port"
	// a request was lost between the tap of a host and its port, or by the capture
	beforeWhy = "a request passed the tap of its sender for the first time when its sender went back to it: it was " +
		"lost before the tap, or the capture lacks it"
	behindWhy = "a request passed the tap of its receiver, was asked for, and sent again before any was acknowledged: " +
		"it may have been lost behind the tap"
)

// damagedDoubt is the doubt about connections on which frames that pass first at a tap are damaged: what they said is
// unknown, unless that tap is known to be at the port of their sender.
var damagedDoubt = &trace.Doubt{Fails: validity.Capture, Why: "frames were damaged where they first passed a tap: so " +
	"sent, or damaged before the tap"}

// Reasons to doubt what did not pass a tap whose place was inferred.
const (
	// a sender that skips a PSN, and a request lost before the tap that its sender had no time to send again, look alike
	skippedWhy = "a request did not pass before later ones: not sent, or lost before the tap, whose place was inferred; " +
		"--tap states it"
	// most gaps to the same host drew a NAK
	muteWhy = "a few gaps drew no NAK: not sent, or lost before the tap, whose place was inferred; --tap states it"
)

// DoubtPlace sets the doubts that remain because the place of the only tap, at the port of a host, was inferred: about
// damaged frames of the host, and its requests and NAKs that did not pass.
func (v *Vantage) DoubtPlace(at netip.Addr) {
	v.suspect(func(p passage) bool { return p.from == at })
	for i := range v.courses {
		for from, c := range v.courses[i] {
			if c == nil {
				continue
			}
			d := &v.header.Conns[i].Doubts[from]
			if c.requester.addr == at && c.jump.valid {
				*d = joined(*d, lacking(skippedWhy))
			}
			if c.responder.addr == at && c.quiet() {
				*d = joined(*d, lacking(muteWhy))
			}
		}
	}
}

// suspect sets the doubts about connections on which damaged frames passed that the tap may have damaged.
func (v *Vantage) suspect(damaged func(passage) bool) {
	for p := range v.damaged {
		if damaged(p) {
			for s := range v.header.Conns[p.conn].Doubts {
				d := &v.header.Conns[p.conn].Doubts[s]
				*d = joined(*d, damagedDoubt)
			}
		}
	}
}

// AddDoubts sets the doubts that the tap at one of two ports gives about the requests from there and to there; inferred
// is set if the places of the taps are, and told if the user states that they are at the ports.
func (v *Vantage) AddDoubts(tap trace.Side, inferred, told bool) {
	if inferred {
		v.suspect(func(p passage) bool { return p.from == v.header.Conns[p.conn].Ends[tap].Addr })
	}
	unsettled := v.Unsettled(tap)
	for i := range v.courses {
		for from, c := range v.courses[i] {
			if c == nil {
				continue
			}
			here, why := trace.Side(from) == tap, ""
			switch {
			case !here && c.swaps && !c.responder.keeps:
				why = swappedWhy
			case !here && c.behind && !told:
				why = behindWhy
			case !here && unsettled && c.quiet() && !told:
				why = muteWhy
			case here && c.before:
				why = beforeWhy
			case here && c.deaf && !v.near(c.requester) && !told:
				why = deafWhy
			}
			if of := lacking(why); of != nil {
				of.At[tap&1] = true
				d := &v.header.Conns[i].Doubts[from]
				*d = joined(*d, of)
			}
		}
	}
}

// Missing returns the number of packets that the capture lacks by the frames it has: requests that were answered and
// never passed the tap, though it is at the port of their sender, or though it is at the port of their receiver and the
// answer has data; and packets that passed the port of their sender after later ones, or never, although that host goes
// back to them as packets that it has sent.
func (v *Vantage) Missing(h *trace.Header) (n uint64) {
	counted := map[*host]bool{}
	for i := range h.Conns {
		for s, tapped := range h.Taps {
			if x := v.host(h.Conns[i].Ends[s].Addr); tapped && !counted[x] {
				counted[x] = true
				n += x.missing + x.unserved + uint64(x.gaps)
			}
		}
	}
	return n
}

// MarkAnew marks the connections whose QPNs were reused, as one tap shows.
func (v *Vantage) MarkAnew(h *trace.Header) {
	for i := range v.courses {
		for _, c := range v.courses[i] {
			if c != nil && c.reuse.may() {
				MarkAnew(&h.Conns[i])
			}
		}
	}
}
