package rule

import (
	"slices"
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// KeepsEarly is the feature of transports whose responders keep requests that come before their turn, and execute
// them when what was missing has come. Those of a transport that does not declare it discard them (IBTA 9.7.5.2).
const KeepsEarly = "sr"

// KeepsNewest is the feature of those whose responders keep such a request only when it is newer than all that they
// hold: "a packet with a PSN smaller than sack-high and larger than RCV-NXT [...] will be discarded" (FaSR III-D).
const KeepsNewest = "sr-newest"

// PlacesEarly is the feature of those whose responders write such a request to memory when it comes, and not in its
// turn: the retransmission of an older WRITE may then land on a younger one's bytes, and applications that write to
// the same bytes twice have to wait in between (IRN 5.3.4).
const PlacesEarly = "direct"

// reachParams are the parameters by which such transports bound what they keep, PSNs from the expected one on: the
// reorder buffer of Go-Back-ONE, and the cap of IRN, which is the length of its bitmap.
var reachParams = [...]string{"max_ooo_psn", "cap"}

// directReach is the cap of one that places early and is told none.
const directReach = 500

// keepLimit bounds the PSNs that are followed behind a gap.
const keepLimit = 1 << 22

// keepBehind is how many PSNs behind the expected one are remembered at least, for an RNR NAK that refuses one of
// them.
const keepBehind = 64

// keep is what a responder holds beyond the expected PSN, as a ring that grows with the widest gap.
type keep struct {
	rising bool // it is kept only when it is newer than all that are held
	direct bool // it is written to memory when it comes
	reach  int  // an early request is kept when it is less than so many PSNs ahead; 0 when the responder discards
	slots  []kept
	high   psn.PSN // newest PSN held

	// Of one that keeps the newest.
	newest  psn.PSN // PSN that came early
	fallen  bool    // it goes back N until the expected PSN has passed newest: nothing more is kept
	assumed bool    // the expected PSN lies behind requests of which only their arrival tells that they were kept
}

// kept is one request that arrived, with all of it that a check may ask for when its turn comes, and the state before
// it was accepted, for an RNR NAK that refuses it.
type kept struct {
	set, waits bool // waits: it is ahead of the expected PSN
	// it is ahead, and was homeless or met no room: what the responder says later shows whether it was kept
	doubt   bool
	told    bool // a SACK has named it
	assumed bool // it was accepted because it was taken for kept, or what is before it was
	msn     psn.MSN
	pos     position
	below   bool // when it came, something newer was held already
	index   uint64
	at      vtime.Time
	sum     uint32
	len     int
	imm     uint32
	bth     roce.BTH
	reth    roce.RETH
	so      roce.SOETH
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
	if c.Known && slices.Contains(features, PlacesEarly) {
		return directReach
	}
	return keepLimit
}

// Keeps reports whether the responder keeps what comes before its turn.
func (c *Conversation) Keeps() bool { return c.responder.keep.reach > 0 }

// Homeless reports a request that names its receive, of which a responder that places early has not so many: a SEND,
// or a WRITE with immediate. In its turn it draws an RNR NAK; ahead of it, it is dropped (IRN 5.3). It is false when
// receives are not reported.
func (c *Conversation) Homeless(p *roce.Packet) bool {
	if !c.responder.tells || !c.namesReceive(p.Opcode) {
		return false
	}
	return psn.PSN(c.responder.receives & psn.Mask).LessEq(psn.PSN(p.SO.SN))
}

// mayDrop reports a request that a responder drops ahead of its turn, or may drop.
func (c *Conversation) mayDrop(p *roce.Packet) bool { return c.Homeless(p) || c.Untold(p) }

// Untold reports a request that names its receive, of which nobody knows whether there is one: receives are not
// reported. Ahead of its turn it is kept or dropped, which the answers tell later.
func (c *Conversation) Untold(p *roce.Packet) bool {
	return !c.responder.tells && c.namesReceive(p.Opcode)
}

// namesReceive reports whether a request says which receive it is for, to a responder that places early.
func (c *Conversation) namesReceive(o roce.Opcode) bool {
	return c.Direct() && o.Layout()&roce.LayoutSOETH != 0 && (o.IsSend() || o.IsWrite())
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
	k.slots[int(p.PSN)&(len(k.slots)-1)] = kept{set: true, waits: waits, index: s.Index, at: s.At,
		sum: s.Sum, len: p.Len,
		imm: p.Imm, bth: p.BTH, reth: p.RETH, so: p.SO}
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

// doubted takes a request ahead of the expected PSN that had no receive when it passed the tap, or met no room. The
// responder looks at it later than that, and there may be a receive or room by then.
func (c *Conversation) doubted(s *Sight) {
	k := &c.responder.keep
	if ahead := s.Pkt.PSN.Sub(c.EPSN); ahead < k.reach && !k.holds(s.Pkt.PSN) {
		k.put(s, ahead, false)
		k.find(s.Pkt.PSN).doubt = true
	}
}

// attests reports what a response says of requests that are in doubt: that the one which it names has been kept, and
// all that it acknowledges. It reports whether some are in no doubt any more.
func (c *Conversation) attests(p *roce.Packet) bool {
	if !c.Direct() && !c.responder.keep.rising {
		return false
	}
	named := Selective(p) && p.Opcode != roce.FNACK && c.trust(p.SACK.PSN)
	last, ok := Acknowledged(p)
	return ok && c.trustUpTo(last) || named
}

// completes is attests for a receive that a responder completes.
func (c *Conversation) completes(e *trace.Event) bool {
	return c.Direct() && e.Kind == trace.Recv && !c.Mine(e) && e.Body.Status == engine.StatusSuccess &&
		c.trustUpTo(e.Body.PSN)
}

// trustUpTo trusts what is in doubt from the expected PSN to last, as far as all of it has arrived.
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

// trust takes a request that is in doubt for kept; false when it is not in doubt.
func (c *Conversation) trust(p psn.PSN) bool {
	x := c.responder.keep.find(p)
	if x == nil || !x.doubt || p.Less(c.EPSN) {
		return false
	}
	c.await(x)
	return true
}

// release turns s into the next request whose turn has come because what it waited for has arrived; false when there
// is none. Its packet lives in c until the next call.
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
	if c.responder.released == nil {
		c.responder.released = &roce.Packet{}
	}
	p := c.responder.released
	*p = roce.Packet{BTH: x.bth, RETH: x.reth, SO: x.so, Imm: x.imm, Len: x.len}
	s.Pkt, s.Sum, s.Raw, s.Index = p, x.sum, nil, x.index
	s.Relation, s.Arrived = Released, x.at
	s.Reason = c.responder.pos.fault(p, p.Opcode, c.MTU)
	s.Legal, s.Kept = s.Reason == "", false
	return true
}

// forget drops what came early with p, because an FNACK says that the responder did not keep it. An FNACK of what was
// the newest when it came is about a later copy.
func (c *Conversation) forget(p psn.PSN) {
	if x := c.responder.keep.find(p); x != nil && x.waits && x.below {
		x.waits = false
		c.Held--
	}
}

// names notes what a response of a responder that keeps the newest says of one request that came early, and what it
// acknowledges.
func (c *Conversation) names(p *roce.Packet) {
	k := &c.responder.keep
	if x := k.find(p.SACK.PSN); x != nil && Selective(p) && p.Opcode != roce.FNACK {
		x.told = true
	}
	if last, ok := Acknowledged(p); ok && c.EPSN.LessEq(last.Next()) {
		k.assumed = false
	}
}

// falls follows a sequence NAK of a responder that keeps the newest: it has no room to keep more, and goes back N
// until the expected PSN has passed all that it saw (FaSR III-D). What came early and no SACK has named was dropped.
// The NAK names the expected PSN, so that what was accepted from there on, because it seemed to be kept, was not.
func (c *Conversation) falls(p *roce.Packet) {
	k := &c.responder.keep
	if !k.rising || !IsNAK(p) {
		return
	}
	if x := k.find(p.PSN); x != nil && x.assumed && !x.told && p.PSN.Less(c.EPSN) {
		k.newest = psn.Max(k.newest, c.EPSN.Prev())
		c.EPSN, c.MSN, c.responder.pos, c.responder.lost = p.PSN, x.msn, x.pos, false
		c.GapOpen, k.assumed = true, false
	}
	for q := c.EPSN; q.LessEq(k.newest) && q.Sub(c.EPSN) < len(k.slots); q = q.Next() {
		switch x := k.find(q); {
		case x == nil || x.doubt:
		case x.told && !x.waits:
			c.await(x)
		case !x.told:
			if x.waits {
				c.Held--
			}
			x.waits, x.doubt = false, true
		}
	}
	k.fallen = c.EPSN.LessEq(k.newest)
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
		k.assumed = k.assumed || s.Relation == Released && !x.told
		x.msn, x.pos, x.assumed = c.MSN, c.responder.pos, k.assumed
	}
	k.fallen = k.fallen && s.Pkt.PSN.Less(k.newest)
}

// takeBack undoes the acceptance of the request with PSN p, which an RNR NAK refuses: what was accepted after it
// waits once more, or was never kept when it names a receive, of which there was none left.
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
		switch x := k.find(q); {
		case x == nil || x.waits:
		case c.namesReceive(x.bth.Opcode):
			x.doubt = true
		default:
			c.await(x)
		}
	}
}

// await makes a request that arrived wait for its turn.
func (c *Conversation) await(x *kept) {
	k := &c.responder.keep
	x.waits, x.doubt = true, false
	if c.Held == 0 || k.high.Less(x.bth.PSN) {
		k.high = x.bth.PSN
	}
	c.Held++
}
