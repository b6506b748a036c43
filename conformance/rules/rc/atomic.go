package rc

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

var atomicReplay = rule.Rule{
	ID: "RC-READ-006", Level: rule.Must, Rests: validity.Sequence,
	Title: "A duplicate atomic is answered with the result of its only execution, or dropped",
	Source: rule.Source{Ref: "IBTA 9.7.5.1.3, 9.4.5", Requirement: "The responder does not execute a duplicate atomic " +
		"again: it returns the result that it saved, and silently drops a duplicate whose result it no longer has."},
	Needs: rule.Frames, Sees: rule.Requests | rule.Responses, Wakes: rule.Fetch, Dozes: true,
	Minds: rule.Fetch | rule.Late, Stimulus: "an atomic whose answer is lost", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check { return rule.Check{Sight: (&atomics{c: c}).sight} },
}

// atomics compares the answers to each atomic. All are of one execution, so any tap shows a violation. The port of the
// responder also shows the answers that are lost later, so the others are used only where it is not tapped.
type atomics struct {
	c    *rule.Context
	list []atomic // at most mostAtomics, oldest first; of several with one PSN the newest counts
}

// atomic is the latest atomic with a PSN, and its first answer.
type atomic struct {
	psn      psn.PSN
	opcode   roce.Opcode
	reth     roce.RETH
	operands roce.AtomicETH
	repeats  int    // copies that have come and have had no answer of their own
	altered  bool   // it has been repeated with other contents: RC-PSN-005 judges that, and the answer may be to either
	answered bool   // result is set
	result   uint64 // of the first answer

	// Since the first answer another connection between the same QPNs may have begun, with low or a later PSN. low is
	// the oldest PSN that has been repeated, low <= psn.
	renewed bool
	low     psn.PSN
}

// mostAtomics bounds the atomics that are remembered; it is far above what a responder keeps.
const mostAtomics = 1 << 10

func (a *atomics) sight(s *rule.Sight) {
	c, p := a.c, s.Pkt
	near := c.Offers(rule.TapResponder) && !c.Between
	switch {
	case !s.Intact() || c.Fatal || c.AtBox || p.Opcode.Class() != roce.ClassRC:
	case s.Point == trace.RequesterOut:
		a.repeated(s)
		if !near {
			a.request(s)
		}
	case s.Point == trace.ResponderIn && near && c.Addressed(s):
		a.repeated(s)
		a.request(s)
	case p.Opcode != roce.AtomicAck || !p.AETH.Syndrome.IsACK():
	case near && s.Point == trace.ResponderOut, !near && c.Maker(s) == rule.Sealed:
		a.answer(p)
	}
}

// find returns the newest atomic with PSN p; nil when none is remembered.
func (a *atomics) find(p psn.PSN) *atomic {
	for i := len(a.list) - 1; i >= 0; i-- {
		if a.list[i].psn == p {
			return &a.list[i]
		}
	}
	return nil
}

// isLate reports whether a request has a PSN that has been used before.
func isLate(s *rule.Sight) bool { return s.Relation == rule.Again || s.Relation == rule.Duplicate }

// repeated notes a request with an old PSN, because the first requests of another connection between the same QPNs may
// look like repetitions. Those that the requester's port shows to have no answer yet are repetitions.
func (a *atomics) repeated(s *rule.Sight) {
	c, p := a.c, s.Pkt.PSN
	tapped := c.Offers(rule.TapRequester) && !c.Between
	if !isLate(s) || c.Known || tapped && (s.Point != trace.RequesterOut || !p.Less(c.UNA)) {
		return
	}
	for i := range a.list {
		x := &a.list[i]
		if x.answered && p.LessEq(x.psn) {
			x.renewed = true
			if p.Less(x.low) {
				x.low = p
			}
		}
	}
}

// request remembers an atomic. One with a new PSN counts in place of the one that had the PSN before the wrap.
func (a *atomics) request(s *rule.Sight) {
	p := s.Pkt
	if !p.Opcode.IsAtomic() {
		return
	}
	is := atomic{psn: p.PSN, opcode: p.Opcode, reth: p.RETH, operands: p.Atomic, low: p.PSN}
	var x *atomic
	if isLate(s) {
		x = a.find(p.PSN)
	}
	switch {
	case x == nil:
		if len(a.list) == mostAtomics {
			a.list = slices.Delete(a.list, 0, mostAtomics/2) // seldom, as it moves the others
		}
		a.list = append(a.list, is)
	case x.opcode != is.opcode || x.reth != is.reth || x.operands != is.operands:
		x.altered = true
	default:
		x.repeats++
	}
}

// answer compares the result of an atomic with that of its first answer.
func (a *atomics) answer(p *roce.Packet) {
	c, x := a.c, a.find(p.PSN)
	switch {
	case x == nil || x.altered:
		return
	case !x.answered:
		x.answered, x.result = true, p.Result
	case x.result == p.Result:
		if x.repeats > 0 {
			x.repeats--
			c.Met()
		}
	// a connection that began at low has completed no more requests than PSNs
	case x.renewed && int(p.AETH.MSN) <= x.psn.Sub(x.low)+1:
		c.Doubt("the answers to " + c.Rel(p.PSN) + " have different results: another connection between the same QPNs " +
			"may have begun")
	default:
		c.Failf(rule.Responder, "%v %s has the result %#x, its first answer had %#x, which was to be saved", p.Opcode,
			c.Rel(p.PSN), p.Result, x.result)
	}
}
