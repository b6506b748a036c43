package rc

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var readReissue = rule.Rule{
	ID: "RC-READ-002", Level: rule.Must,
	Title: "A READ is re-issued from the first missing byte, with PSN, address and length all moved to it",
	Source: rule.Source{Ref: "IBTA 9.7.5.1.1", Requirement: "A retried RDMA READ asks only for data that were not " +
		"answered: its PSN, virtual address and DMA length are those of the first response packet that is missing."},
	Needs: rule.TapRequester, Sees: rule.RequestOut | rule.ResponseIn, Minds: rule.Fetch, Wakes: rule.Fetch,
	Stimulus: "a lost READ response", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		var arrived vtime.Time // arrival of the latest READ response
		return rule.Check{Sight: func(s *rule.Sight) {
			p := s.Pkt
			if s.Point == trace.RequesterIn {
				if p.Opcode.IsReadResponse() && s.Intact() {
					arrived = s.At
				}
				return
			}
			if !p.Opcode.IsRead() || s.Relation != rule.Again || s.Sent == nil || !s.Sent.Opcode.IsRead() {
				return
			}
			first, next, end, ok := c.OldestRead()
			inOldest := ok && p.PSN.In(first, end)
			switch {
			case p.RETH.VA != s.Sent.VA:
				c.Failf(rule.Requester, "READ %s asks for address %#x, its data are at %#x", c.Rel(p.PSN), p.RETH.VA, s.Sent.VA)
			case int(p.RETH.DMALen) != s.Sent.Len:
				c.Failf(rule.Requester, "READ %s asks for %d bytes, %d are left", c.Rel(p.PSN), p.RETH.DMALen, s.Sent.Len)
			case inOldest && next.Less(p.PSN):
				c.Failf(rule.Requester, "READ is re-issued from %s, %s is missing", c.Rel(p.PSN), c.Rel(next))
			// a re-issue from before the first missing response; for a relayed READ the client may have lost the
			// responses
			case inOldest && p.PSN.Less(next) && !c.InPort(s, arrived) && !c.Relayed(s):
				c.Failf(rule.Requester, "READ is re-issued from %s, the first missing is %s", c.Rel(p.PSN), c.Rel(next))
			default:
				c.Met()
			}
		}}
	},
}

var readReplay = rule.Rule{
	ID: "RC-READ-003", Level: rule.Must,
	Title: "A duplicate READ that a remembered one covers is replayed; another is dropped silently",
	Source: rule.Source{Ref: "IBTA 9.7.5.1.3, 9.4.4", Requirement: "The responder re-executes a duplicate RDMA READ, or " +
		"the part of it that is asked for; a duplicate that it does not remember is silently dropped."},
	Needs: rule.TapResponder, Sees: rule.Accepts | rule.ResponseOut,
	Minds: rule.Fetch | rule.Answer, Wakes: rule.Fetch,
	Stimulus: "a duplicate READ, a subset, a superset", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		r := replays{c: c, replay: c.Owes(rule.Responder, "no replay of READ %s")}
		// at a box: the end that replays is behind it, and the path to there loses some of the data
		r.replay.Unless = func(rule.Debt) bool { return c.AtBox }
		return rule.Check{Sight: r.sight, End: r.end}
	},
}

// replays holds the READs and atomics that the responder must remember, and the duplicates that wait for an answer.
type replays struct {
	c       *rule.Context
	kept    []readRequest    // at most MaxDestRd, oldest first
	started psn.PSN          // newest PSN with which a response run began
	any     bool             // started is set
	replay  *rule.Obligation // of covered duplicates, by PSN
	coming  []repeat         // covered duplicates whose responses have not left, oldest first
	left    vtime.Time       // when the latest response left
	barred  []psn.PSN        // PSNs of duplicates that must not be answered
}

// repeat is a duplicate that a remembered READ covers.
type repeat struct {
	psn psn.PSN
	at  vtime.Time
}

// replayLimit bounds barred and coming.
const replayLimit = 256

func (r *replays) sight(s *rule.Sight) {
	c, p := r.c, s.Pkt
	switch {
	case s.Point == trace.ResponderOut:
		r.response(s)
	case c.Fatal || !p.Opcode.IsRead() && !p.Opcode.IsAtomic() || p.Opcode.Class() != roce.ClassRC:
	case s.Legal:
		if len(r.kept) >= max(1, c.PeerAttr.MaxDestRd) {
			r.forget(r.kept[0])
			r.kept = r.kept[:copy(r.kept, r.kept[1:])]
		}
		r.kept = append(r.kept, readRequest{p.PSN, p.RETH, c.Span(p), p.Opcode})
	case s.Relation == rule.Duplicate && p.Opcode.IsRead():
		r.duplicate(s)
	}
}

func (r *replays) duplicate(s *rule.Sight) {
	p := s.Pkt
	// The requester starts over at p, so it repeats the later READs. What it repeats because no answer came is still owed.
	r.replay.Excuse(func(d rule.Debt) bool { return p.PSN.Less(d.PSN) })
	if k, ok := r.covered(p); ok {
		r.replay.Excuse(func(d rule.Debt) bool { return d.PSN != p.PSN && k.holds(d.PSN) }) // one replay per remembered READ
		r.replay.Arise(s, p.PSN)
		if len(r.coming) == replayLimit {
			r.coming = r.coming[:copy(r.coming, r.coming[1:])]
		}
		r.coming = append(r.coming, repeat{p.PSN, s.At})
		return
	}
	// A responder may remember more READs than it must. While the original is being answered, its response could be
	// taken for an answer to the duplicate.
	older := len(r.kept) == 0 || p.PSN.Less(r.kept[0].psn)
	if !older && r.any && p.PSN.LessEq(r.started) && len(r.barred) < replayLimit {
		r.barred = append(r.barred, p.PSN)
	}
}

// forget excuses the replays of a remembered READ: another READ takes its place.
func (r *replays) forget(k readRequest) {
	r.replay.Excuse(func(d rule.Debt) bool { return k.holds(d.PSN) })
}

// covered returns the remembered READ that p asks for a part of.
func (r *replays) covered(p *roce.Packet) (k readRequest, ok bool) {
	for _, k = range r.kept {
		off := p.PSN.Sub(k.psn)
		bytes := off * r.c.MTU
		if off >= 0 && off < k.n && p.RETH.RKey == k.reth.RKey && p.RETH.VA == k.reth.VA+uint64(bytes) &&
			int(p.RETH.DMALen) <= int(k.reth.DMALen)-bytes {
			return k, true
		}
	}
	return readRequest{}, false
}

// comes reports whether a response may answer a covered duplicate that has no answer yet. The answer may have waited
// for the data that left before, while a newer READ took its place among those remembered.
func (r *replays) comes(s *rule.Sight) bool {
	wait := max(rule.Patience, r.c.PeerPort.Wait())
	r.coming = slices.DeleteFunc(r.coming, func(d repeat) bool { return s.At.Sub(max(d.at, r.left)) > wait })
	i := slices.IndexFunc(r.coming, func(d repeat) bool { return d.psn == s.Pkt.PSN })
	if i < 0 {
		return false
	}
	r.coming = slices.Delete(r.coming, i, i+1)
	return true
}

func (r *replays) response(s *rule.Sight) {
	p := s.Pkt
	nak := rule.IsFatalNAK(p)
	if p.Opcode.NumberedApart() || !nak && !p.Opcode.IsReadResponse() {
		return
	}
	begins := nak || p.Opcode.StartsMessage()
	comes := begins && r.comes(s)
	if r.left = s.At; !begins {
		return
	}
	for i, b := range r.barred {
		if b == p.PSN && !comes {
			r.c.Failf(rule.Responder, "%v answers a duplicate READ %s that no remembered one covers; no data expected",
				p.Opcode, r.c.Rel(p.PSN))
			r.barred = append(r.barred[:i], r.barred[i+1:]...)
			return
		}
	}
	if !r.any || r.started.Less(p.PSN) {
		r.any, r.started = true, p.PSN
	}
	r.replay.Discharge(func(d rule.Debt) bool { return d.PSN == p.PSN && !nak })
}

func (r *replays) end(vtime.Time) {
	if len(r.barred) > 0 && !r.c.Fatal {
		r.c.Met()
	}
}

// readRequest is a READ or atomic.
type readRequest struct {
	psn    psn.PSN
	reth   roce.RETH
	n      int // PSNs; 0 when not known
	opcode roce.Opcode
}

// holds reports whether a PSN is one of r.
func (r *readRequest) holds(p psn.PSN) bool { return p.In(r.psn, r.psn.Add(r.n)) }
