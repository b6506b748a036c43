package neg

import (
	"bytes"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// silence judges packets that a responder must drop without an answer. Until the next legal request the responder may
// send only the responses that earlier packets explain. Until a legal packet with the PSN of the bad one arrives, the
// responder must not count the bad one as received: by an acknowledgement, by a NAK for a later PSN, or by placing its
// payload.
type silence struct {
	c    *rule.Context
	what string                                    // name of the bad packet in findings
	bad  func(c *rule.Context, s *rule.Sight) bool // reports whether a packet that arrives is bad
	// allow is a fatal NAK that may name the bad packet.
	allow roce.Syndrome
	// answered: a bad packet draws the newest acknowledgement again, as a duplicate does.
	answered bool
	// recovery: the rule is met only when a legal packet replaces the bad one.
	recovery bool
	// counter is the error counter that must count the bad packets; "" for none.
	counter string

	rule.Earned           // responses that legal packets explain
	open        []suspect // bad packets whose PSNs no legal packet has brought since
	window      bool      // no legal request has arrived since the latest bad packet
	size        int       // payload of the latest bad packet, in bytes
	owed        int64     // bad packets that counter must have counted
	counted     int64     // latest value of counter
	counts      bool      // counter was reported
}

// suspect is a bad packet.
type suspect struct {
	psn   psn.PSN
	known bool // psn could be read
	fresh bool // psn was not received before
}

// suspectLimit bounds the bad packets remembered; the oldest is forgotten.
const suspectLimit = 64

// silently makes the check for bad packets that must be dropped.
func silently(what string, bad func(*rule.Context, *rule.Sight) bool) func(*rule.Context) rule.Check {
	return func(c *rule.Context) rule.Check { return (&silence{c: c, what: what, bad: bad}).check() }
}

func (j *silence) check() rule.Check {
	wake := func() { j.Earned = j.c.Earned }
	wake()
	return rule.Check{Sight: j.sight, Event: j.event, End: j.end, Wake: wake}
}

func (j *silence) sight(s *rule.Sight) {
	switch {
	case j.c.Index < 0 || j.c.Fatal: // the packet is of no connection, or the QP answers nothing
	case s.Point == trace.ResponderOut:
		j.response(s.Pkt, s.At)
	case s.Point != trace.ResponderIn:
	case j.bad(j.c, s):
		j.stimulus(s)
	case s.Relation != rule.Unrelated:
		j.legal(s)
	}
}

// expected returns the expected PSN of the responder: the tracker's, unless a bad packet advanced that.
func (j *silence) expected() psn.PSN {
	e := j.c.EPSN
	for _, x := range j.open {
		if x.fresh && x.psn.Less(e) {
			e = x.psn
		}
	}
	return e
}

func (j *silence) stimulus(s *rule.Sight) {
	if !j.recovery {
		j.c.Met()
	}
	p, known := j.sentPSN(s)
	x := suspect{p, known, known && !p.Less(j.expected()) && !j.c.Holds(p)}
	if len(j.open) == suspectLimit {
		j.open = slices.Delete(j.open, 0, 1)
	}
	j.open = append(j.open, x)
	j.window, j.size = true, s.Pkt.Len
	if j.answered {
		j.Repeats++
	}
	if sameAddresses(s) {
		j.owed++
	}
}

// sentPSN returns the PSN of a bad request: the PSN sent if the link damaged the request, else the PSN that can be
// read.
func (j *silence) sentPSN(s *rule.Sight) (p psn.PSN, known bool) {
	sent := &s.Rec.Packet
	if !j.c.Started || s.Pkt.Opcode.IsResponse() {
		return 0, false
	}
	if s.Rec.Changed != nil && s.Rec.Defect == "" {
		return sent.PSN, true
	}
	if s.Defect() == "" {
		return s.Pkt.PSN, true
	}
	off, n, ok := roce.FieldSpan(s.Raw, "psn")
	if !ok || n != 3 {
		return 0, false
	}
	b := s.Raw[off:]
	return psn.New(uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])), true
}

// sameAddresses reports whether the headers below UDP arrived as sent. Otherwise the packet may have failed an earlier
// check, and advanced another counter.
func sameAddresses(s *rule.Sight) bool {
	const network = 34
	sent := s.Rec.Raw
	return s.Rec.Changed == nil || len(sent) > network && len(s.Raw) > network &&
		bytes.Equal(sent[:network], s.Raw[:network])
}

// legal records the responses that a legal request allows.
func (j *silence) legal(s *rule.Sight) {
	p, e := s.Pkt, j.expected()
	j.window = false
	if p.Len > 0 && j.c.Memory.Takes(p.Opcode) {
		j.Loads++
	}
	if len(j.open) > 0 {
		j.replace(p)
	}
	j.Request(j.c.Conversation, p.PSN.Sub(e), s.At)
}

// replace removes the bad packets whose PSNs a legal request brings.
func (j *silence) replace(p *roce.Packet) {
	span := j.c.Span(p)
	kept := j.open[:0]
	for _, x := range j.open {
		if x.known && span > 0 && !x.psn.In(p.PSN, p.PSN.Add(min(span, psn.Half-1))) {
			kept = append(kept, x)
		} else if j.recovery {
			j.c.Met()
		}
	}
	j.open = kept
}

// response compares a response with those that legal requests explain.
func (j *silence) response(p *roce.Packet, at vtime.Time) {
	last, ok := rule.Acknowledged(p)
	if !ok {
		return
	}
	if why := j.accuse(p, last, at); why != "" {
		j.c.Failf(rule.Responder, "%s: %s", j.what, why)
		j.window = false
		if !last.Less(j.expected()) {
			j.open = j.open[:0] // reported once
		}
	}
	j.Acknowledge(p, last)
}

// accuse returns how a response shows that a bad packet caused it; "" when it need not.
func (j *silence) accuse(p *roce.Packet, last psn.PSN, at vtime.Time) string {
	a := p.AETH.Syndrome
	plain := p.Opcode == roce.Acknowledge
	switch {
	case plain && (rule.IsFatal(a) || a.IsRNR()):
		if a != j.allow && j.names(p.PSN) {
			return "answered with a NAK that names " + j.c.Rel(p.PSN)
		}
	case rule.AsksAgain(p) && j.c.Keeps() && rule.Refusable(j.c.Conversation, p.PSN):
		// The packet that it asks for may have arrived and been refused for want of a receive.
	case rule.AsksAgain(p):
		if j.NAKs == 0 && j.window {
			return "answered with a NAK for " + j.c.Rel(p.PSN)
		}
		j.Asked()
		if rule.Selective(p) && p.Opcode != roce.FNACK && j.isFresh(p.SACK.PSN) { // an FNACK names a dropped packet
			return "selectively acknowledged"
		}
	case plain && j.Heard && last == j.Acked:
		if j.Repeats == 0 && j.window && !rule.Unsettled(j.c, at) {
			return "answered by repeating the ACK of " + j.c.Rel(last)
		}
		j.Repeats = max(j.Repeats-1, 0)
	}
	if e := j.expected(); !last.Less(e) && j.isFresh(e) {
		return "counted as received: " + j.c.Rel(last) + " is acknowledged"
	}
	return ""
}

// isFresh reports whether p is the PSN of a bad packet that was not received before.
func (j *silence) isFresh(p psn.PSN) bool {
	return slices.ContainsFunc(j.open, func(x suspect) bool { return x.fresh && x.psn == p })
}

// names reports whether a NAK for p can only mean a bad packet: only bad packets had PSN p, or p had been acknowledged.
func (j *silence) names(p psn.PSN) bool {
	return slices.ContainsFunc(j.open, func(x suspect) bool {
		return x.known && x.psn == p && (x.fresh || j.Heard && !j.Acked.Less(p)) || !x.known && j.window &&
			!p.Less(j.expected())
	})
}

// event judges the placements of the responder, and reads its error counter.
func (j *silence) event(e *trace.Event) {
	switch {
	case j.c.Mine(e):
	case e.Kind == trace.Count && e.Name == j.counter:
		j.counted, j.counts = e.Value, true
	case e.Kind == trace.Store && j.c.Memory.Gets(e.VA):
		if j.Loads--; j.Loads < 0 && j.window && int(e.Len) == j.size {
			j.c.Failf(rule.Responder, "%s: its %d bytes are placed at %#x; none expected", j.what, e.Len, e.VA)
		}
		j.Loads = max(j.Loads, 0)
	}
}

// end judges the counter. An endpoint has one for all its QPs and reports it with the first of them.
func (j *silence) end(vtime.Time) {
	reported := j.counts || j.c.Index == 0 && j.c.Offers(rule.Probes)
	if j.counter != "" && reported && j.counted < j.owed {
		j.c.Failf(rule.Responder, "%s: %d arrived, counter %s is %d", j.what, j.owed, j.counter, j.counted)
	}
}
