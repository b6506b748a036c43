package evidence

import (
	"math"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// joint is how a packet follows the latest one of its kind.
type joint uint8

const (
	severed  joint = iota // not: another connection may begin with it
	abutting              // it has the next PSN, and need not be of the same message
	within                // it goes on with the message of that packet
)

// change tells whether a value that all packets of a connection have in common has changed, and whether another
// connection explains that.
type change struct {
	now     int32 // 0 for none
	changes uint8 // at most changesLimit
	mixed   bool  // it changed within a connection
	joins   bool  // it changed where the PSNs go on
}

// changesLimit bounds the count of changes. It is even, so that the count goes on to change.
const changesLimit = 254

// takes processes the value of a packet.
func (c *change) takes(v int, as joint) {
	if c.now != 0 && int32(v) != c.now {
		c.add(as)
	}
	c.now = int32(v)
}

// add adds a change. Another connection may by chance begin where the PSNs go on, but not twice.
func (c *change) add(as joint) {
	if c.changes++; c.changes > changesLimit {
		c.changes = 1
	}
	c.mixed = c.mixed || as == within || as == abutting && c.joins
	c.joins = c.joins || as == abutting
}

// renewed reports whether every change may be that of a connection.
func (c *change) renewed() bool { return c.changes > 0 && !c.mixed }

// thread is the requests, or the answers, of a flow in the order in which they passed. It finds the changes that show
// that the QPN of the flow may have been used again, whether or not its peer is known.
type thread struct {
	begun   bool // next is valid
	inside  bool // the latest packet was not the last one of its message
	next    psn.PSN
	ports   change // UDP source ports
	sizes   change // payloads of packets that must be full, bytes
	most    int32  // largest payload since the latest change of that size
	service change // see service
}

// takes processes a packet that stands for n PSNs; n is 0 when they are unknown.
func (t *thread) takes(o roce.Opcode, p psn.PSN, payload int, port uint16, n int) joint {
	as := severed
	switch {
	case !t.begun || p != t.next:
	case t.inside && !o.StartsMessage():
		as = within
	default:
		as = abutting
	}
	t.ports.takes(int(port), as)
	t.service.takes(service(o), as)
	if o.HasPayload() {
		t.carries(int32(payload), !o.EndsMessage() && roce.IsPathMTU(payload), as)
	}
	t.begun, t.inside, t.next = n > 0, !o.EndsMessage(), p.Add(n)
	return as
}

// service returns a number of the transport service of an opcode, not 0. The opcodes of selective schemes are used over
// reliable connections, beside those of these.
func service(o roce.Opcode) int {
	c := o.Class()
	if c == roce.ClassX || c == roce.ClassF {
		c = roce.ClassRC
	}
	return 1 + int(c)
}

// carries processes a payload, of a packet that must be full or of another one, which shows an MTU that is no smaller.
func (t *thread) carries(n int32, full bool, as joint) {
	size := &t.sizes
	if full && (n < t.most || size.now != 0 && n != size.now) || !full && size.now != 0 && n > size.now {
		size.add(as)
		size.now, t.most = 0, 0
	}
	if t.most = max(t.most, n); full {
		size.now = n
	}
}

// renewed reports whether another connection may have begun among the packets, by their ports, MTU or service.
func (t *thread) renewed() bool { return t.ports.renewed() || t.sizes.renewed() || t.service.renewed() }

// Threads are the requests and the answers of a flow.
type Threads [2]thread

// Takes processes a packet of a flow, which stands for n PSNs; n is 0 when they are unknown.
func (t *Threads) Takes(p *roce.Packet, port uint16, n int) {
	of := &t[0]
	switch o := p.Opcode; {
	case o == roce.CNP || o.NumberedApart():
		return
	case o == roce.LoWAR: // has no PSN, and is longer than the packets that it protects
		return
	case o.IsResponse():
		of = &t[1]
	}
	of.takes(p.Opcode, p.PSN, p.Len, port, n)
}

// Renewed reports whether another connection may have begun within the flow.
func (t *Threads) Renewed() bool { return t[0].renewed() || t[1].renewed() || t.Differ(t) }

// Differ reports whether the requests and the answers of a flow and of its peer each have an MTU or a payload of their
// own, and no MTU fits all: they may be of several connections whose QPNs were used again.
func (t *Threads) Differ(peer *Threads) bool {
	least, most := int32(math.MaxInt32), int32(0)
	for _, x := range []*thread{&t[0], &t[1], &peer[0], &peer[1]} {
		if x.sizes.changes > 0 {
			return false // which may be a fault, see reuse
		}
		if most = max(most, x.most); x.sizes.now > 0 {
			least = min(least, x.sizes.now)
		}
	}
	return most > least
}

// Refute reports whether the requests or the answers of a flow have another MTU throughout.
func (t *Threads) Refute(mtu int) bool {
	return slices.ContainsFunc(t[:], func(x thread) bool {
		n := int(x.sizes.now)
		return x.sizes.changes == 0 && (n > 0 && n != mtu || n == 0 && int(x.most) > mtu)
	})
}
