package rule

import (
	"slices"
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// KeepsEarly is the feature of transports whose responders keep requests received out of order, and execute them when
// the missing requests have arrived. Responders of a transport without the feature discard them (IBTA 9.7.5.2).
const KeepsEarly = "sr"

// KeepsNewest is the feature of transports whose responders keep such a request only when it is newer than all that
// they hold: "a packet with a PSN smaller than sack-high and larger than RCV-NXT [...] will be discarded" (FaSR III-D).
const KeepsNewest = "sr-newest"

// PlacesEarly is the feature of transports whose responders write such a request to memory when it arrives, not in its
// turn. The retransmission of an older WRITE may then overwrite the bytes of a newer one, so applications that write
// the same bytes twice must wait in between (IRN 5.3.4).
const PlacesEarly = "direct"

// reachParams are the parameters by which such transports bound how far ahead of the expected PSN they keep requests,
// in PSNs: the reorder buffer of Go-Back-ONE, and the cap of IRN, which is the length of its bitmap.
var reachParams = [...]string{"max_ooo_psn", "cap"}

// directReach is the default cap of transports that place early.
const directReach = 500

// keepLimit bounds how far ahead of the expected PSN requests are tracked, in PSNs.
const keepLimit = 1 << 22

// keepBehind is the least number of PSNs before the expected one that are remembered, for an RNR NAK that refuses one
// of them.
const keepBehind = 64

// keep holds the requests that a responder keeps ahead of the expected PSN, in a ring that grows with the widest gap.
type keep struct {
	rising bool // the responder has the feature KeepsNewest
	direct bool // the responder has the feature PlacesEarly

	// For KeepsNewest only.
	fallen bool    // the responder goes back N, and keeps no requests, until the expected PSN has passed newest
	newest psn.PSN // newest PSN that came early

	reach int32   // an early request is kept when it is fewer than reach PSNs ahead; 0 when early ones are discarded
	high  psn.PSN // newest PSN held; valid while requests are held
	*ring
}

// ring holds the requests by PSN.
type ring struct {
	slots    []kept
	released roce.Packet // the packet of the Released sight
	assumed  assumption  // requests that may have been dropped
}

// noRing is of the responders that have received nothing ahead; it stays empty.
var noRing ring

// kept is a request that arrived: the fields that a check may read when its turn comes, and the state before it was
// accepted, for an RNR NAK that refuses it.
type kept struct {
	set, waits bool // set: the slot is in use; waits: the request is held ahead of the expected PSN
	// it is ahead, and lacked a receive or room on arrival: later answers show whether it was kept
	doubt   bool
	told    bool // a selective answer has named it
	assumed bool // it was accepted because it had arrived early, although no SACK had named it, see assumption
	msn     psn.MSN
	pos     position
	below   bool // a newer request was held when it arrived
	index   uint64
	sum     uint32
	len     int
	imm     uint32
	bth     roce.BTH
	reth    roce.RETH
	so      roce.SOETH
}

// keepReach returns the reach of the responder of c, see keep.
func keepReach(c *Conversation, features []string) int32 {
	if !slices.Contains(features, KeepsEarly) {
		return 0
	}
	for _, name := range reachParams {
		if n, err := strconv.Atoi(c.PeerAttr.Params[name]); err == nil && n >= 0 && n < keepLimit {
			return int32(n)
		}
	}
	if c.Known && slices.Contains(features, PlacesEarly) {
		return directReach
	}
	return keepLimit
}

// Keeps reports whether the responder keeps requests received out of order.
func (c *Conversation) Keeps() bool { return c.responder.keep.reach > 0 }

// Homeless reports whether a request names a receive that the responder, which places early, has not posted yet: it is
// a SEND, or a WRITE with immediate. In its turn such a request draws an RNR NAK; ahead of its turn it is dropped (IRN
// 5.3). It is false when receives are not reported.
func (c *Conversation) Homeless(p *roce.Packet) bool {
	if !c.responder.tells || !c.namesReceive(p.Opcode) {
		return false
	}
	return psn.PSN(c.responder.receives & psn.Mask).LessEq(psn.PSN(p.SO.SN))
}

// mayDrop reports whether a responder drops, or may drop, a request that arrives ahead of its turn.
func (c *Conversation) mayDrop(p *roce.Packet) bool { return c.Homeless(p) || c.Untold(p) }

// Untold reports whether a request names a receive and it is unknown whether the receive is posted, because receives
// are not reported. Such a request is kept or dropped ahead of its turn; later answers show which.
func (c *Conversation) Untold(p *roce.Packet) bool {
	return !c.responder.tells && c.namesReceive(p.Opcode)
}

// namesReceive reports whether a request names its receive, and the responder places early.
func (c *Conversation) namesReceive(o roce.Opcode) bool {
	return c.Direct() && o.Layout()&roce.LayoutSOETH != 0 && (o.IsSend() || o.IsWrite())
}

// Direct reports whether the responder writes requests received out of order to memory on arrival.
func (c *Conversation) Direct() bool { return c.responder.keep.direct }

// Holds reports whether the transport of the responder, or the shim below it, holds request p until its turn.
func (c *Conversation) Holds(p psn.PSN) bool {
	if d := c.Decoders[0]; d != nil && d.Has(p) {
		return true
	}
	return c.responder.keep.holds(p)
}

// find returns the request that arrived with PSN p; nil when the ring no longer holds it.
func (k *keep) find(p psn.PSN) *kept {
	if len(k.slots) == 0 {
		return nil
	}
	x := &k.slots[int(p)&(len(k.slots)-1)]
	if !x.set || x.bth.PSN != p {
		return nil
	}
	return x
}

// holds reports whether request p arrived ahead of its turn and is held.
func (k *keep) holds(p psn.PSN) bool {
	x := k.find(p)
	return x != nil && x.waits
}

// put stores the request of s; waits tells whether its turn is still to come.
func (k *keep) put(s *Sight, ahead int, waits bool) {
	if need := ahead + keepBehind + 1; need > len(k.slots) {
		k.grow(need)
	}
	p := s.Pkt
	k.slots[int(p.PSN)&(len(k.slots)-1)] = kept{set: true, waits: waits, index: s.Index, sum: s.Sum, len: p.Len,
		imm: p.Imm, bth: p.BTH, reth: p.RETH, so: p.SO}
}

func (k *keep) grow(need int) {
	size := max(64, len(k.slots))
	for size < need {
		size *= 2
	}
	old := k.slots
	if k.ring == &noRing {
		k.ring = new(ring)
	}
	k.slots = make([]kept, size)
	for i := range old {
		if old[i].set {
			k.slots[int(old[i].bth.PSN)&(size-1)] = old[i]
		}
	}
}

// early stores a request ahead of the expected PSN that the responder keeps.
func (c *Conversation) early(s *Sight) {
	k := &c.responder.keep
	p := s.Pkt.PSN
	below := c.Held > 0 && p.Less(k.high)
	if !below {
		k.high = p
	}
	k.put(s, p.Sub(c.EPSN), true)
	k.find(p).below = below
	c.Held++
}

// doubted stores a request ahead of the expected PSN that lacked a receive or room when it passed the tap. The
// responder processes it later, when there may be a receive or room.
func (c *Conversation) doubted(s *Sight) {
	k := &c.responder.keep
	if ahead := s.Pkt.PSN.Sub(c.EPSN); ahead < int(k.reach) && !k.holds(s.Pkt.PSN) {
		k.put(s, ahead, false)
		k.find(s.Pkt.PSN).doubt = true
	}
}

// attests marks requests in doubt as kept by a response: the request that it names selectively, and all that it
// acknowledges. It reports whether it marked any.
func (c *Conversation) attests(p *roce.Packet) bool {
	if !c.Direct() && !c.responder.keep.rising {
		return false
	}
	named := Selective(p) && p.Opcode != roce.FNACK && c.trust(p.SACK.PSN)
	last, ok := Acknowledged(p)
	return ok && c.trustUpTo(last) || named
}

// completes is attests for a receive completion at the responder.
func (c *Conversation) completes(e *trace.Event) bool {
	if e.Kind != trace.Recv || c.Mine(e) || e.Body.Status != engine.StatusSuccess {
		return false
	}
	c.responder.keep.received(e.Body.PSN, c.EPSN)
	return c.Direct() && c.trustUpTo(e.Body.PSN)
}

// trustUpTo marks requests in doubt as kept, from the expected PSN to last or to the first PSN that is neither in doubt
// nor held.
func (c *Conversation) trustUpTo(last psn.PSN) (any bool) {
	k := &c.responder.keep
	for p := c.EPSN; p.LessEq(last); p = p.Next() {
		if c.trust(p) {
			any = true
		} else if !k.holds(p) {
			break
		}
	}
	return any
}

// trust marks a request in doubt as kept; it returns false when the request is not in doubt.
func (c *Conversation) trust(p psn.PSN) bool {
	x := c.responder.keep.find(p)
	if x == nil || !x.doubt || p.Less(c.EPSN) {
		return false
	}
	c.await(x)
	return true
}

// release sets s to the next held request whose turn has come; it returns false when there is none. The packet of s is
// valid until the next call.
func (c *Conversation) release(s *Sight) bool {
	k := &c.responder.keep
	if c.Held == 0 || c.Fatal {
		return false
	}
	x := k.find(c.EPSN)
	if x == nil || !x.waits {
		return false
	}
	x.waits = false
	c.Held--
	p := &k.released
	*p = roce.Packet{BTH: x.bth, RETH: x.reth, SO: x.so, Imm: x.imm, Len: x.len}
	s.Pkt, s.Sum, s.Raw, s.Index = p, x.sum, nil, x.index
	s.Relation = Released
	s.Reason = c.responder.pos.fault(p, p.Opcode, c.MTU)
	s.Legal, s.Kept = s.Reason == "", false
	return true
}

// accepting stores the state before the request of s is accepted.
func (c *Conversation) accepting(s *Sight) {
	k := &c.responder.keep
	if k.reach == 0 {
		return
	}
	if s.Relation == InOrder {
		k.put(s, 0, false)
	}
	if x := k.find(s.Pkt.PSN); x != nil {
		x.msn, x.pos, x.assumed = c.MSN, c.responder.pos, (k.rising || !c.Known) && s.Relation == Released && !x.told
		k.assumed.accept(x)
	}
	k.fallen = k.fallen && s.Pkt.PSN.Less(k.newest)
}

// takeBack undoes the acceptance of request p, which an RNR NAK refuses. The requests accepted after it wait again,
// except those that name a receive: no receive was left for them, so they are in doubt.
func (c *Conversation) takeBack(p psn.PSN) {
	k := &c.responder.keep
	x := k.find(p)
	if x == nil || x.waits || !p.Less(c.EPSN) || !x.bth.Opcode.TakesReceive() {
		return
	}
	end := c.EPSN
	c.EPSN, c.MSN, c.responder.pos, c.responder.lost = p, x.msn, x.pos, false
	c.GapOpen = c.Held > 0
	for q := p.Next(); q.Less(end) && q.Sub(p) < len(k.slots); q = q.Next() {
		switch x := k.find(q); {
		case x == nil || x.waits:
		case c.namesReceive(x.bth.Opcode):
			x.doubt = true
		default:
			c.await(x)
		}
	}
}

// await marks a request that arrived as held until its turn.
func (c *Conversation) await(x *kept) {
	k := &c.responder.keep
	x.waits, x.doubt = true, false
	if c.Held == 0 || k.high.Less(x.bth.PSN) {
		k.high = x.bth.PSN
	}
	c.Held++
}
