package evidence

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// Unit returns what stands in the place of Length in the Sighting of a repair packet: the requests that it is the sum
// of. It is 0 for other packets, and for a repair packet of READ responses.
func Unit(p *roce.Packet) uint32 {
	if r := &p.Repair; p.Opcode == roce.LoWAR && r.Type == roce.RepairData && !r.Responses {
		return uint32(r.N)<<16 | uint32(r.C)<<8 | uint32(r.ISN)
	}
	return 0
}

// round is the packets of one PSN space that have passed since their sender went back last: requests, or READ responses
// that are numbered apart. A block of a coding scheme lies within a round. From a repair packet a receiver at the place
// of the tap has the one request that has not passed; or it asks for that, if it has no room for the block.
type round struct {
	begun    bool
	from, to psn.PSN   // the first packet, and the PSN after the latest
	gaps     []stretch // between them, oldest first
}

// passes processes a packet with the PSNs [p, end).
func (r *round) passes(p, end psn.PSN) {
	switch {
	case !r.begun, p.Less(r.to):
		r.begun, r.from, r.gaps = true, p, r.gaps[:0]
	case r.to.Less(p):
		if len(r.gaps) == holeLimit {
			r.gaps = slices.Delete(r.gaps, 0, 1)
		}
		r.gaps = append(r.gaps, stretch{r.to, p})
	}
	r.to = end
}

// repairs processes a repair packet: it returns the request that it repairs and the PSN after its block; ok is false
// when all requests have passed, or more than one has not.
func (r *round) repairs(s *Sighting) (p, end psn.PSN, ok bool) {
	n, step := int(s.Length>>16), max(1, int(s.Length>>8&0xFF))
	end = s.PSN.Add(n)
	if !s.Headed || !s.Sound || !r.begun || r.to.Sub(s.PSN) >= SkipLimit {
		return p, end, false
	}
	for at := int(s.Length & 0xFF); at < n; at += step {
		switch q := s.PSN.Add(at); {
		case r.passed(q):
		case ok:
			return p, end, false
		default:
			p, ok = q, true
		}
	}
	if ok {
		r.repaired(p)
	}
	return p, end, ok
}

// passed reports whether packet p has passed in the round.
func (r *round) passed(p psn.PSN) bool {
	return p.In(r.from, r.to) && !slices.ContainsFunc(r.gaps, func(x stretch) bool { return x.has(p) })
}

// repaired notes that a request need not pass any more.
func (r *round) repaired(p psn.PSN) {
	if !p.Less(r.to) {
		r.passes(p, p.Next())
		return
	}
	var left []stretch
	for _, x := range r.gaps {
		before, after := x.without(p, p.Next())
		left = append(left, before, after)
	}
	r.gaps = slices.DeleteFunc(left, stretch.empty)
}

// next returns the first PSN from p on that has not passed in the round.
func (r *round) next(p psn.PSN) psn.PSN {
	for _, x := range r.gaps {
		if p.Less(x.to) {
			return psn.Max(p, x.from)
		}
	}
	return psn.Max(p, r.to)
}

// repair processes a repair packet. Its sender has sent the request that it repairs, which was lost before the tap if
// it has not passed.
func (c *course) repair(s *Sighting) {
	p, _, ok := c.round.repairs(s)
	if !ok || !c.begun || p.Less(c.first) || p.Sub(c.newest) >= farPSN {
		return
	}
	if p.Less(c.newest) {
		c.unsighted()
	} else { // perhaps a repair packet with a wrong PSN
		c.coded = moment{p, s.At, true}
	}
	c.holes.leave(c.newest, p)
	c.holes.fill(p, p.Next())
	c.newest = psn.Max(c.newest, p.Next())
	c.overdue.add(p)
	if c.expected == p {
		c.expected, c.ahead = c.round.next(p.Next()), false
	}
	c.jump.valid = c.jump.valid && c.jump.psn != p
}

// goesOn processes a request at p for the repaired request that comes next: it was sent, if a later one passes first.
func (c *course) goesOn(p psn.PSN) {
	if !c.coded.valid || p.Less(c.coded.psn) {
		return
	}
	if c.coded.psn.Less(p) {
		c.unsighted()
	}
	c.coded.valid = false
}

// repair processes a repair packet. The request that it repairs draws an answer, and so may one that had come before.
func (l *lack) repair(s *Sighting) {
	l.duplicates.left++
	l.twice(&l.requests, s)
	p, end, ok := l.round.repairs(s)
	if !ok || !l.begun || p.Less(l.start) || p.Sub(l.newest) >= SkipLimit {
		return
	}
	if !p.Less(l.newest) {
		l.request(p, p.Next())
	}
	l.fill(p, p.Next())
	l.comes(p, end)
}
