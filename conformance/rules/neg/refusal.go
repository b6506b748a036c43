package neg

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// refusal judges requests that a responder must answer with a fatal NAK, after which its QP is in error and sends
// nothing more (IBTA 9.9.3). Only requests in order are judged, because other checks come first for the rest.
type refusal struct {
	c    *rule.Context
	what string        // name of the request in findings
	code roce.Syndrome // the expected NAK
	// bad returns how many PSNs, from that of the request on, the NAK may name; 0 when the request is not at fault.
	bad func(s *rule.Sight) int
	// untouched: memory must not change
	untouched bool

	owed    *rule.Obligation // the NAK for the oldest such request
	refused bool             // the NAK was sent
	psn     psn.PSN          // of the request
	span    int              // number of PSNs that the NAK may name, from psn on
	loads   int              // placements that legal packets explain
}

// invalid makes the check for requests that must draw NAK 0x61.
func invalid(what string, bad func(*rule.Sight) bool) func(*rule.Context) rule.Check {
	return func(c *rule.Context) rule.Check {
		return (&refusal{c: c, what: what, code: roce.SyndromeInvalidReq, bad: func(s *rule.Sight) int {
			if bad(s) {
				return 1
			}
			return 0
		}}).check()
	}
}

func (j *refusal) check() rule.Check {
	j.owed = j.c.Owes(rule.Responder, j.what+" is never refused")
	return rule.Check{Sight: j.sight, Event: j.event}
}

func (j *refusal) sight(s *rule.Sight) {
	switch {
	case s.Point == trace.ResponderOut:
		j.response(s.Pkt)
	case s.Due() && !j.owed.Owed() && !j.c.Fatal && j.bad(s) > 0:
		j.psn, j.span = s.Pkt.PSN, j.bad(s)
		j.owed.Arise(s, j.psn)
	case s.Relation != rule.Unrelated && s.Relation != rule.Released && s.Pkt.Len > 0 && j.c.Memory.Takes(s.Pkt.Opcode):
		// Once for each packet that arrives.
		j.loads++
	}
}

// response judges the answer to the request.
func (j *refusal) response(p *roce.Packet) {
	last, ok := rule.Acknowledged(p)
	switch {
	case j.refused:
		j.refused = false
		j.c.Failf(rule.Responder, "%s: %v after the fatal NAK; silence expected", j.what, p.Opcode)
	case !j.owed.Owed() || !ok:
	case rule.IsFatalNAK(p):
		j.refused = true
		j.owed.Excuse(nil)
		j.named(p)
	case rule.IsRNR(p) && p.PSN == j.psn:
		j.owed.Excuse(nil) // the missing receive is found before the fault
	case !last.Less(j.psn.Add(j.span - 1)):
		j.owed.Excuse(nil)
		j.c.Failf(rule.Responder, "%s at %s is acknowledged; NAK %#02x expected", j.what, j.c.Rel(j.psn), uint8(j.code))
	}
}

// named judges the code and the PSN of the NAK.
func (j *refusal) named(p *roce.Packet) {
	switch {
	case !p.PSN.In(j.psn, j.psn.Add(j.span)):
		j.c.Failf(rule.Responder, "%s at %s: the NAK names %s", j.what, j.c.Rel(j.psn), j.c.Rel(p.PSN))
	case p.AETH.Syndrome != j.code:
		j.c.Failf(rule.Responder, "%s at %s: NAK %#02x, must be %#02x", j.what, j.c.Rel(j.psn),
			uint8(p.AETH.Syndrome), uint8(j.code))
	default:
		j.c.Met()
	}
}

func (j *refusal) event(e *trace.Event) {
	switch {
	case j.c.Mine(e):
	case e.Kind == trace.Store && j.c.Memory.Gets(e.VA):
		if j.loads--; j.loads < 0 && j.untouched && (j.owed.Owed() || j.refused) && j.span == 1 {
			j.c.Failf(rule.Responder, "%s at %s: %d bytes are placed at %#x; none expected", j.what, j.c.Rel(j.psn), e.Len, e.VA)
		}
		j.loads = max(j.loads, 0)
	}
}
