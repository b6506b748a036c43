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

// silence judges packets that a responder drops without an answer. Until the next legal request it may say only what
// earlier packets have earned; and as long as no legal packet with the same PSN has come, it must not count the bad one
// as received, whether by an acknowledgement, by a NAK for a later PSN or by placing its payload.
type silence struct {
	c    *rule.Context
	what string // the bad packet, as findings name it
	bad  func(c *rule.Context, s *rule.Sight) bool
	// allow is a fatal NAK that may name the bad packet all the same.
	allow roce.Syndrome
	// answered says that a bad packet earns the newest acknowledgement once more, as a duplicate does.
	answered bool
	// recovery says that the rule has been met only when a legal packet has taken the place of the bad one.
	recovery bool
	// counter is the error counter that has to count the bad packets; "" when none does.
	counter string

	rule.Earned           // by legal packets
	open        []suspect // bad packets whose PSN no legal one has brought since
	window      bool      // no legal request has arrived since the last bad one
	size        int       // payload of the last bad packet
	owed        int64     // bad packets that the counter must have counted
	counted     int64     // its latest value
	counts      bool      // it has been reported
}

// suspect is a bad packet. Of some the PSN cannot be read.
type suspect struct {
	psn   psn.PSN
	known bool
	fresh bool // not a PSN that had been received before
}

// suspectLimit bounds the bad packets remembered; the oldest is forgotten.
const suspectLimit = 64

// silently makes the check for bad packets that are dropped.
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
	case j.c.Index < 0 || j.c.Fatal: // nobody's packet; a QP that answers nothing anyway
	case s.Point == trace.ResponderOut:
		j.response(s.Pkt)
	case s.Point != trace.ResponderIn:
	case j.bad(j.c, s):
		j.stimulus(s)
	case s.Relation != rule.Unrelated:
		j.legal(s)
	}
}

// expected is the next PSN that the responder can have in order: the tracker's, unless what brought it there was bad.
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

// sentPSN returns the PSN of a bad request: as it was sent, when the link damaged it, else as far as it can be read.
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

// sameAddresses reports whether the headers below UDP arrived as they were sent: otherwise the packet may have failed
// a check, and advanced a counter, that comes before the one in question.
func sameAddresses(s *rule.Sight) bool {
	const network = 34
	sent := s.Rec.Raw
	return s.Rec.Changed == nil || len(sent) > network && len(s.Raw) > network &&
		bytes.Equal(sent[:network], s.Raw[:network])
}

// legal notes the answers that a legal request entitles the responder to send.
func (j *silence) legal(s *rule.Sight) {
	p, e := s.Pkt, j.expected()
	j.window = false
	if p.Len > 0 && j.c.Memory.Takes(p.Opcode) {
		j.Loads++
	}
	if len(j.open) > 0 {
		j.replace(p)
	}
	j.Request(p.PSN.Sub(e), j.c.Keeps())
}

// replace takes the bad packets off whose PSNs a legal request has brought.
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

// response compares a response with the answers that legal requests have earned.
func (j *silence) response(p *roce.Packet) {
	last, ok := rule.Acknowledged(p)
	if !ok {
		return
	}
	if why := j.accuse(p, last); why != "" {
		j.c.Failf(rule.Responder, "%s: %s", j.what, why)
		j.window = false
		if !last.Less(j.expected()) {
			j.open = j.open[:0] // said once
		}
	}
	j.Acknowledge(p, last)
}

// accuse says why a response can only be the doing of a bad packet; "" when it need not be.
func (j *silence) accuse(p *roce.Packet, last psn.PSN) string {
	a := p.AETH.Syndrome
	plain := p.Opcode == roce.Acknowledge
	switch {
	case plain && (rule.IsFatal(a) || a.IsRNR()):
		if a != j.allow && j.names(p.PSN) {
			return "answered with a NAK that names " + j.c.Rel(p.PSN)
		}
	case rule.AsksAgain(p) && j.c.Keeps() && rule.Refusable(j.c.Conversation, p.PSN):
		// What it says is missing may have come and been refused for want of a receive.
	case rule.AsksAgain(p):
		if j.NAKs == 0 && j.window {
			return "answered with a NAK for " + j.c.Rel(p.PSN)
		}
		j.NAKs = max(j.NAKs-1, 0)
		if rule.Selective(p) && p.Opcode != roce.FNACK && j.isFresh(p.SACK.PSN) { // an FNACK names what is dropped
			return "selectively acknowledged"
		}
	case plain && j.Heard && last == j.Acked:
		if j.Repeats == 0 && j.window {
			return "answered by repeating the ACK of " + j.c.Rel(last)
		}
		j.Repeats = max(j.Repeats-1, 0)
	}
	if e := j.expected(); !last.Less(e) && j.isFresh(e) {
		return "counted as received: " + j.c.Rel(last) + " is acknowledged"
	}
	return ""
}

// isFresh reports whether p is the PSN of a bad packet that brought something new.
func (j *silence) isFresh(p psn.PSN) bool {
	return slices.ContainsFunc(j.open, func(x suspect) bool { return x.fresh && x.psn == p })
}

// names reports whether a NAK for p can only mean a bad packet: p came with none but bad ones, or had been
// acknowledged.
func (j *silence) names(p psn.PSN) bool {
	return slices.ContainsFunc(j.open, func(x suspect) bool {
		return x.known && x.psn == p && (x.fresh || j.Heard && !j.Acked.Less(p)) || !x.known && j.window &&
			!p.Less(j.expected())
	})
}

// event watches placements and the error counter of the responder.
func (j *silence) event(e *trace.Event) {
	switch {
	case j.c.Mine(e):
	case e.Kind == trace.Count && e.Name == j.counter:
		j.counted, j.counts = e.Value, true
	case e.Kind == trace.Store && j.c.Memory.Gets(e.VA):
		if j.Loads--; j.Loads < 0 && j.window && int(e.Len) == j.size {
			j.c.Failf(rule.Responder, "%s: its %d bytes are placed at %#x; none expected to be", j.what, e.Len, e.VA)
		}
		j.Loads = max(j.Loads, 0)
	}
}

// end compares the counter. An endpoint has one for all its QPs and reports it with the first of them.
func (j *silence) end(vtime.Time) {
	reported := j.counts || j.c.Index == 0 && j.c.Offers(rule.Probes)
	if j.counter != "" && reported && j.counted < j.owed {
		j.c.Failf(rule.Responder, "%s: %d arrived, counter %s is %d", j.what, j.owed, j.counter, j.counted)
	}
}
