package rule

import (
	"math"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Earned counts the responses that the requests which have arrived entitle a responder to send, and holds the newest
// PSN that it has acknowledged. Rules about the answer to a bad packet start from it.
type Earned struct {
	Acked   psn.PSN // newest PSN acknowledged
	Heard   bool    // Acked is valid
	inGap   bool    // a request ahead of the expected one has arrived since that was last received
	gaps    int16   // gaps whose NAKs may still leave, mostGaps at most
	NAKs    int32   // NAKs and selective acknowledgements that the responder may send
	Repeats int32   // repeated acknowledgements that the responder may send for duplicates
	Loads   int32   // placements in memory that the responder may still report
	since   uint32  // when the newest gap opened, in microseconds modulo 2^32, which is 71 minutes; valid when gaps > 0
}

// mostGaps bounds the gaps whose NAKs are awaited.
const mostGaps = math.MaxInt16 - 1

// micros returns a time in microseconds modulo 2^32: every half of a flow keeps one.
func micros(t vtime.Time) uint32 { return uint32(t / vtime.Time(vtime.Microsecond)) }

// since returns the time between two times by micros, of which from is the earlier.
func since(now, from uint32) vtime.Duration { return vtime.Duration(now-from) * vtime.Microsecond }

// Request adds the responses for a request that arrives d PSNs from the expected one at now. When a gap closes, one NAK
// of it may still leave, and those of earlier gaps for the time that an endpoint may take to answer, and then while the
// port has not paused.
func (e *Earned) Request(c *Conversation, d int, now vtime.Time) {
	open := since(micros(now), e.since) // the newest gap, if there is one
	if e.gaps > 0 && open > Patience && !c.PeerPort.Busy(now, now) {
		e.gaps = 0
	}
	switch {
	case d < 0:
		e.Repeats++
	// a packet before this one may still be refused, and then this one draws a selective acknowledgement
	case d > 0, c.Keeps():
		e.NAKs++
		if !e.inGap {
			e.inGap = true
			e.gaps, e.since = min(e.gaps+1, mostGaps), micros(now)
		}
	default:
		e.inGap = false
		e.NAKs = min(e.NAKs, max(1, int32(e.gaps)))
	}
}

// Acknowledge records a response that acknowledges last. A NAK adds a Repeat, because a delayed ACK of the requests
// that it acknowledges may follow.
func (e *Earned) Acknowledge(p *roce.Packet, last psn.PSN) {
	if Selective(p) || e.Heard && !e.Acked.Less(last) {
		return
	}
	e.Acked, e.Heard = last, true
	if p.Opcode == roce.Acknowledge && !p.AETH.Syndrome.IsACK() {
		e.Repeats++
	}
}

// Asked takes away a NAK or selective acknowledgement that leaves.
func (e *Earned) Asked() { e.NAKs, e.gaps = max(0, e.NAKs-1), max(0, e.gaps-1) }

// AsksAgain reports whether a response makes a requester retransmit: it is a sequence NAK or a selective
// acknowledgement.
func AsksAgain(p *roce.Packet) bool {
	return Selective(p) || IsNAK(p)
}

// Refusable reports whether the request with PSN p, which was sent or has arrived at a responder that keeps early
// requests, takes a receive, and so may draw an RNR NAK.
func Refusable(c *Conversation, p psn.PSN) bool {
	if t := c.Sent(p); t != nil {
		return t.Opcode.TakesReceive()
	}
	x := c.responder.keep.find(p)
	return x != nil && x.bth.Opcode.TakesReceive()
}

// follow updates e by a sight at the responder.
func (e *Earned) follow(c *Conversation, s *Sight) {
	if c.Fatal || c.Index < 0 {
		return
	}
	if s.Point == trace.ResponderIn && s.Relation != Unrelated {
		e.Request(c, s.Pkt.PSN.Sub(c.EPSN), s.At)
		if s.Pkt.Len > 0 && c.Memory.Takes(s.Pkt.Opcode) {
			e.Loads++
		}
	}
	if s.Point != trace.ResponderOut {
		return
	}
	p := s.Pkt
	last, ok := Acknowledged(p)
	plain := p.Opcode == roce.Acknowledge
	switch a := p.AETH.Syndrome; {
	case !ok:
		return
	case plain && (IsFatal(a) || a.IsRNR()):
	case AsksAgain(p):
		if !c.Keeps() || !Refusable(c, p.PSN) {
			e.Asked()
		}
	case plain && e.Heard && last == e.Acked:
		e.Repeats = max(0, e.Repeats-1)
	}
	e.Acknowledge(p, last)
}
