// Package cm sets connections up and tears them down by messages of the communication manager (IBTA chapter 12), for
// one endpoint. It is sans-IO: the caller passes it messages and the time, and polls it for messages to send and for
// the next deadline. It posts no work; it tells the caller which connections may carry data.
package cm

import (
	"fmt"
	"net/netip"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Connector is one side of the set-up of all connections. A requests all of them, and ends them when its work is done,
// unless B has work too: then neither side knows when the other is done.
//
//	A                          B
//	REQ ------------------------>   lists A's QP, and the PSN at which B is to start
//	  <------------------------ REP lists B's QP, and the PSN at which A is to start
//	RTU ------------------------>
//	        … data …
//	DREQ ----------------------->
//	  <----------------------- DREP
//
// The attributes are those of the Spec, which both sides have; the messages only show them to an observer. A message
// without an answer is repeated, up to mostTries transmissions.
type Connector struct {
	on      bool
	side    trace.Side
	ends    bool // this side, which is A, ends the connections when its work is done
	spec    *scenario.Spec
	gids    [2]netip.Addr // addresses of this side and of the peer
	conns   []connection
	out     []outgoing
	wait    engine.LocalACKTimeout // time to wait for an answer
	sent    psn.PSN                // MADs sent so far: the PSN of the next on QP 1
	leaving bool                   // the DREQs have been sent
	waiting int                    // messages that wait for an answer
	// repetitions of these messages, and of some that have been answered; all wait equally long, so they are in order
	// of time
	due []repetition
}

// repetition is the time at which a message of a connection is repeated, unless it is answered before.
type repetition struct {
	conn int
	at   vtime.Time
}

// connection is the state of the set-up of one connection.
type connection struct {
	phase phase
	again vtime.Time // time at which the last message is repeated
	tries int
}

// phase is a state of the communication manager, of the active or of the passive side.
type phase uint8

const (
	closed      phase = iota
	asked             // REQ sent
	accepted          // REP sent
	established       // data may flow
	parting           // DREQ sent
	parted
)

// outgoing is a message that waits to be sent.
type outgoing struct {
	conn int
	tid  uint64
	m    roce.CMMessage
}

// mostTries bounds the transmissions of one message (IBTA 12.7.27, Max CM Retries).
const mostTries = 8

// New prepares the set-up of all connections of a Spec by messages between two addresses. With on false there are no
// messages, and all connections are open from the start.
func New(s *scenario.Spec, side trace.Side, on bool, own, peer netip.Addr) Connector {
	c := Connector{on: on, side: side, ends: side == trace.A && s.For == 0, spec: s,
		gids: [2]netip.Addr{own, peer}, wait: 14}
	for _, l := range s.Loads {
		c.ends = c.ends && l.From == side
	}
	for _, p := range s.Posts {
		c.ends = c.ends && (p.From == side || p.Receive)
	}
	for c.wait < 31 && c.wait.Duration() < 2*s.RTT() {
		c.wait++
	}
	if on {
		c.conns = make([]connection, s.QPs)
		for i := range c.conns {
			c.conns[i].again = vtime.Never
		}
	}
	return c
}

// Open reports whether connection i may carry data.
func (c *Connector) Open(i int) bool { return !c.on || c.conns[i].phase >= established }

// Waiting reports whether a message has yet to be answered.
func (c *Connector) Waiting() bool { return c.waiting > 0 }

// Pending reports whether a message waits to be sent.
func (c *Connector) Pending() bool { return len(c.out) > 0 }

// Deadline returns the time at which Wake has a message to repeat. Repetitions of answered messages are removed when
// they come first.
func (c *Connector) Deadline() vtime.Time {
	for len(c.due) > 0 {
		if r := c.due[0]; c.conns[r.conn].again == r.at {
			return r.at
		}
		c.due = c.due[1:]
	}
	return vtime.Never
}

// Start begins the set-up on the side that requests connections.
func (c *Connector) Start(now vtime.Time) {
	if c.side != trace.A {
		return
	}
	for i := range c.conns {
		c.ask(now, i)
	}
}

// Transmit fills p with the next message and returns its connection; ok is false when there is none.
func (c *Connector) Transmit(p *roce.Packet) (conn int, ok bool) {
	if len(c.out) == 0 {
		return 0, false
	}
	o := c.out[0]
	c.out = c.out[:copy(c.out, c.out[1:])]
	*p = roce.Packet{
		BTH:     roce.BTH{Opcode: roce.UDSendOnly, PKey: roce.DefaultPKey, DestQP: roce.CMQueuePair, PSN: c.sent},
		DETH:    roce.DETH{QKey: roce.CMQKey, SrcQP: roce.CMQueuePair},
		Payload: roce.AppendCM(nil, o.tid, o.m), Len: roce.CMLen,
	}
	c.sent = c.sent.Next()
	return o.conn, true
}

// Takes reports whether p is a message of the communication manager and connections are set up by messages.
func (c *Connector) Takes(p *roce.Packet) bool {
	return c.on && p.DestQP == roce.CMQueuePair && p.Opcode == roce.UDSendOnly && p.DETH.QKey == roce.CMQKey
}

// Receive processes a message for which Takes is true. If the message opens a connection, Receive returns it and true:
// it may carry data from now on.
func (c *Connector) Receive(now vtime.Time, p *roce.Packet) (conn int, opened bool) {
	h, m, err := roce.DecodeCM(p.Payload)
	i := int(uint32(h.TID)) - 1
	if err != nil || i < 0 || i >= len(c.conns) {
		return 0, false
	}
	return i, c.answer(now, i, m)
}

// answer processes a message about connection i and reports whether the message opened it. A repeated message is
// answered again, because its first answer was lost.
func (c *Connector) answer(now vtime.Time, i int, m roce.CMMessage) (opened bool) {
	at := &c.conns[i]
	switch m.(type) {
	case *roce.REQ:
		if c.side == trace.B && at.phase <= accepted {
			c.accept(now, i)
		}
	case *roce.REP:
		if c.side == trace.A && at.phase >= asked && at.phase <= established {
			c.say(i, at.phase, &roce.RTU{CommIDs: c.ids(i)}, vtime.Never)
			return c.establish(i)
		}
	case *roce.RTU:
		return c.establish(i)
	case *roce.DREQ:
		c.say(i, parted, &roce.DREP{CommIDs: c.ids(i)}, vtime.Never)
	case *roce.DREP:
		if at.phase == parting {
			at.phase = parted
			c.expect(i, vtime.Never)
		}
	}
	return false
}

// Data reports data on connection i, which may have overtaken the RTU. On the passive side it opens the connection; the
// result is whether it did.
func (c *Connector) Data(i int) (opened bool) { return c.side == trace.B && c.establish(i) }

// establish opens connection i for data: on the active side after the REP, on the passive side after the RTU.
func (c *Connector) establish(i int) bool {
	at := &c.conns[i]
	if at.phase >= established || at.phase == closed {
		return false
	}
	at.phase, at.tries = established, 0
	c.expect(i, vtime.Never)
	return true
}

// Ends reports whether this side has yet to end the connections when its work is done.
func (c *Connector) Ends() bool { return c.on && c.ends && !c.leaving }

// Leave ends the connections.
func (c *Connector) Leave(now vtime.Time) {
	c.leaving = true
	for i := range c.conns {
		if c.conns[i].phase == established {
			c.part(now, i)
		}
	}
}

// Wake repeats the messages that have not been answered in time.
func (c *Connector) Wake(now vtime.Time) {
	for c.Deadline() <= now {
		i := c.due[0].conn
		at := &c.conns[i]
		if at.tries++; at.tries >= mostTries {
			c.expect(i, vtime.Never)
			continue
		}
		switch at.phase {
		case asked:
			c.ask(now, i)
		case accepted:
			c.accept(now, i)
		case parting:
			c.part(now, i)
		default:
			c.expect(i, vtime.Never) // the phase no longer waits for an answer
		}
	}
}

// Shortfall names a connection that was never set up; "" when there is none.
func (c *Connector) Shortfall() string {
	for i := range c.conns {
		if c.conns[i].phase < established {
			return fmt.Sprintf("connection %d of %s was never set up: no answer to %d messages", i, c.side, mostTries)
		}
	}
	return ""
}

// ask sends the REQ of connection i.
func (c *Connector) ask(now vtime.Time, i int) {
	q := c.spec.Ends(i)[c.side]
	m := &roce.REQ{
		LocalCommID: commID(c.side, i), QPN: q.QPN, StartingPSN: q.RecvPSN, PKey: q.PKey, PathMTU: mtuCode(q.MTU),
		ResponderResources: uint8(q.MaxDestRd), InitiatorDepth: uint8(q.MaxRdAtomic), RetryCount: q.RetryCount,
		RNRRetryCount: q.RNRRetry, ACKTimeout: uint8(q.Timeout), RemoteCMTimeout: uint8(c.wait),
		LocalCMTimeout: uint8(c.wait), MaxCMRetries: mostTries - 1, SubnetLocal: true, HopLimit: 64,
	}
	m.LocalGID, m.RemoteGID = c.gids[0].As16(), c.gids[1].As16()
	c.say(i, asked, m, c.patience(now))
}

// accept sends the REP of connection i.
func (c *Connector) accept(now vtime.Time, i int) {
	q := c.spec.Ends(i)[c.side]
	c.say(i, accepted, &roce.REP{CommIDs: c.ids(i), QPN: q.QPN, StartingPSN: q.RecvPSN,
		ResponderResources: uint8(q.MaxDestRd),
		InitiatorDepth:     uint8(q.MaxRdAtomic), RNRRetryCount: q.RNRRetry}, c.patience(now))
}

// part sends the DREQ of connection i.
func (c *Connector) part(now vtime.Time, i int) {
	q := c.spec.Ends(i)[c.side]
	c.say(i, parting, &roce.DREQ{CommIDs: c.ids(i), RemoteQPN: q.DestQPN}, c.patience(now))
}

// patience returns the time until which an answer to a message sent now is awaited.
func (c *Connector) patience(now vtime.Time) vtime.Time { return now.Add(c.wait.Duration()) }

// say queues a message, and sets the time of its repetition: vtime.Never when it needs no answer.
func (c *Connector) say(i int, p phase, m roce.CMMessage, again vtime.Time) {
	tid := uint64(i) + 1
	if a := m.Attribute(); a == roce.CMDREQ || a == roce.CMDREP {
		tid |= 1 << 32
	}
	c.out = append(c.out, outgoing{i, tid, m})
	c.conns[i].phase = p
	c.expect(i, again)
}

// expect sets the time at which the last message of connection i is repeated.
func (c *Connector) expect(i int, at vtime.Time) {
	was := &c.conns[i].again
	if *was != vtime.Never {
		c.waiting--
	}
	if *was = at; at != vtime.Never {
		c.waiting++
		c.due = append(c.due, repetition{i, at})
	}
}

// ids returns the communication IDs of connection i.
func (c *Connector) ids(i int) roce.CommIDs {
	return roce.CommIDs{Local: commID(c.side, i), Remote: commID(c.side.Other(), i)}
}

// commID returns the communication ID that a side gives connection i.
func commID(side trace.Side, i int) uint32 { return uint32(i)<<1 | uint32(side) + 0x100 }

// mtuCode returns the code of a path MTU: 1 for 256 bytes.
func mtuCode(mtu int) (code uint8) {
	for code = 1; 128<<code < mtu; code++ {
	}
	return code
}
