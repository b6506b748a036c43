package rule

import (
	"slices"
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// KeepsEarly is the feature of transports whose responders keep requests that come before their turn, and execute them
// when what was missing has come. Those of a transport that does not declare it discard them (IBTA 9.7.5.2).
const KeepsEarly = "sr"

// KeepsNewest is the feature of those whose responders keep such a request only when it is newer than all that they hold:
// "a packet with a PSN smaller than sack-high and larger than RCV-NXT [...] will be discarded" (FaSR III-D).
const KeepsNewest = "sr-newest"

// PlacesEarly is the feature of those whose responders write such a request to memory when it comes, and not in its turn: the
// retransmission of an older WRITE may then land on a younger one's bytes, and applications that write to the same bytes
// twice have to wait in between (IRN 5.3.4).
const PlacesEarly = "direct"

// reachParams are the parameters by which such transports bound what they keep, PSNs from the expected one on: the reorder
// buffer of Go-Back-ONE, and the cap of IRN, which is the length of its bitmap.
var reachParams = [...]string{"max_ooo_psn", "cap"}

// keepLimit bounds the PSNs that are followed behind a gap.
const keepLimit = 1 << 22

// keepBehind is how many PSNs behind the expected one are remembered at least, for an RNR NAK that refuses one of them.
const keepBehind = 64

// keep is what a responder holds beyond the expected PSN, as a ring that grows with the widest gap.
type keep struct {
	rising bool // it is kept only when it is newer than all that are held
	direct bool // it is written to memory when it comes
	reach  int  // an early request is kept when it is less than so many PSNs ahead; 0 when the responder discards
	slots  []kept
	high   psn.PSN // newest PSN held
}

// kept is one request that arrived, with all of it that a check may ask for when its turn comes, and the state before it
// was accepted, for an RNR NAK that refuses it.
type kept struct {
	set, waits bool // waits: it is ahead of the expected PSN
	msn        psn.MSN
	pos        position
	below      bool // when it came, something newer was held already
	index      uint64
	at         vtime.Time
	sum        uint32
	len        int
	imm        uint32
	bth        roce.BTH
	reth       roce.RETH
}

// keepReach returns how far ahead of the expected PSN the responder of c keeps requests.
func keepReach(c *Conversation, features []string) int {
	if !slices.Contains(features, KeepsEarly) {
		return 0
	}
	for _, name := range reachParams {
		if n, err := strconv.Atoi(c.PeerAttr.Params[name]); err == nil && n >= 0 && n < keepLimit {
			return n
		}
	}
	return keepLimit
}

// Keeps reports whether the responder keeps what comes before its turn.
func (c *Conversation) Keeps() bool { return c.responder.keep.reach > 0 }

// Homeless reports a request that names its receive, of which a responder that places early has not so many: a SEND, or a
// WRITE with immediate. In its turn it draws an RNR NAK; ahead of it, it is dropped (IRN 5.3). It is false when receives are
// not reported.
func (c *Conversation) Homeless(p *roce.Packet) bool {
	o := p.Opcode
	if !c.responder.tells || !c.Direct() || o.Layout()&roce.LayoutSOETH == 0 || !o.IsSend() && !o.IsWrite() {
		return false
	}
	return psn.PSN(c.responder.receives & psn.Mask).LessEq(psn.PSN(p.SO.SN))
}

// Direct reports whether the responder writes to memory what comes before its turn.
func (c *Conversation) Direct() bool { return c.responder.keep.direct }

// Holds reports whether the responder has got p and keeps it until its turn: the transport, or the shim below it.
func (c *Conversation) Holds(p psn.PSN) bool {
	if d := c.Decoders[0]; d != nil && d.has(p) {
		return true
	}
	return c.responder.keep.holds(p)
}

// find returns what arrived with p; nil when that is not known any more.
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

// holds reports whether p came early and is kept.
func (k *keep) holds(p psn.PSN) bool {
	x := k.find(p)
	return x != nil && x.waits
}

// put remembers the request of s; waits tells whether its turn is still to come.
func (k *keep) put(s *Sight, ahead int, waits bool) {
	if need := ahead + keepBehind + 1; need > len(k.slots) {
		k.grow(need)
	}
	p := s.Pkt
	k.slots[int(p.PSN)&(len(k.slots)-1)] = kept{set: true, waits: waits, index: s.Index, at: s.At, sum: s.Sum, len: p.Len,
		imm: p.Imm, bth: p.BTH, reth: p.RETH}
}

func (k *keep) grow(need int) {
	size := max(64, len(k.slots))
	for size < need {
		size *= 2
	}
	old := k.slots
	k.slots = make([]kept, size)
	for i := range old {
		if old[i].set {
			k.slots[int(old[i].bth.PSN)&(size-1)] = old[i]
		}
	}
}

// early takes a request ahead of the expected PSN that the responder keeps.
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

// release turns s into the next request whose turn has come because what it waited for has arrived; false when there is
// none. Its packet lives in c until the next call.
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
	p := &c.responder.released
	*p = roce.Packet{BTH: x.bth, RETH: x.reth, Imm: x.imm, Len: x.len}
	s.Pkt, s.Sum, s.Raw, s.Index = p, x.sum, nil, x.index
	s.Relation, s.Arrived = Released, x.at
	s.Reason = c.responder.pos.fault(p, p.Opcode, c.MTU)
	s.Legal, s.Kept = s.Reason == "", false
	return true
}

// forget drops what came early with p, because an FNACK says that the responder did not keep it. An FNACK of what was the
// newest when it came is about a later copy.
func (c *Conversation) forget(p psn.PSN) {
	if x := c.responder.keep.find(p); x != nil && x.waits && x.below {
		x.waits = false
		c.Held--
	}
}

// accepting notes the state before the request of s is accepted.
func (c *Conversation) accepting(s *Sight) {
	k := &c.responder.keep
	if k.reach == 0 {
		return
	}
	if s.Relation == InOrder {
		k.put(s, 0, false)
	}
	if x := k.find(s.Pkt.PSN); x != nil {
		x.msn, x.pos = c.MSN, c.responder.pos
	}
}

// takeBack undoes the acceptance of the request with PSN p, which an RNR NAK refuses: what was accepted after it waits once
// more.
func (c *Conversation) takeBack(p psn.PSN) {
	k := &c.responder.keep
	x := k.find(p)
	if x == nil || x.waits || !p.Less(c.EPSN) || !TakesReceive(x.bth.Opcode) {
		return
	}
	end := c.EPSN
	c.EPSN, c.MSN, c.responder.pos, c.responder.lost = p, x.msn, x.pos, false
	c.GapOpen = c.Held > 0
	for q := p.Next(); q.Less(end) && q.Sub(p) < len(k.slots); q = q.Next() {
		if x := k.find(q); x != nil && !x.waits {
			x.waits = true
			if c.Held == 0 || k.high.Less(q) {
				k.high = q
			}
			c.Held++
		}
	}
}
