package drive

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// connector sets connections up and tears them down by messages of the communication manager (IBTA chapter 12). A asks
// for all of them, and ends them when its work is done, unless B has work too: then neither knows when the other is done.
//
//	A                          B
//	REQ ------------------------>   lists A's QP, and the PSN at which B is to start
//	  <------------------------ REP lists B's QP, and the PSN at which A is to start
//	RTU ------------------------>
//	        … data …
//	DREQ ----------------------->
//	  <----------------------- DREP
//
// The attributes are those of the Spec, which both sides have; the messages are for whoever watches them. A message
// without an answer is repeated, a few times.
type connector struct {
	on      bool
	side    trace.Side
	ends    bool // A is to end the connections
	conns   []connection
	out     []outgoing
	wait    engine.LocalACKTimeout // for an answer
	sent    psn.PSN                // MADs that were sent, the PSN of QP 1
	leaving bool                   // the DREQs have been sent
	waiting int                    // messages without an answer
	due     []repetition           // of these, and of some that have been answered; they all wait as long, so they are in order
}

// repetition is when a message of a connection is repeated, unless it is answered before.
type repetition struct {
	conn int
	at   vtime.Time
}

// connection is where the set-up of one connection stands.
type connection struct {
	phase phase
	again vtime.Time // when the last message is repeated
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

// outgoing is a message that waits for the line.
type outgoing struct {
	conn int
	tid  uint64
	m    roce.CMMessage
}

// mostTries bounds the transmissions of one message (IBTA 12.7.27, Max CM Retries).
const mostTries = 8

// init prepares the set-up of all connections, if they have one.
func (c *connector) init(s *scenario.Spec, side trace.Side, on bool) {
	*c = connector{on: on, side: side, ends: side == trace.A && s.For == 0, wait: 14}
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
}

// open reports whether connection i may carry data.
func (c *connector) open(i int) bool { return !c.on || c.conns[i].phase >= established }

// next returns when a message has to be repeated. What has been answered is forgotten when it comes to the front.
func (c *connector) next() vtime.Time {
	for len(c.due) > 0 {
		if r := c.due[0]; c.conns[r.conn].again == r.at {
			return r.at
		}
		c.due = c.due[1:]
	}
	return vtime.Never
}

// commID is the name that a side gives connection i.
func commID(side trace.Side, i int) uint32 { return uint32(i)<<1 | uint32(side) + 0x100 }

// say queues a message and, when it wants an answer, the time of its repetition.
func (e *Endpoint) say(i int, p phase, m roce.CMMessage, answered bool) {
	c := &e.connect
	tid := uint64(i) + 1
	if a := m.Attribute(); a == roce.CMDREQ || a == roce.CMDREP {
		tid |= 1 << 32
	}
	c.out = append(c.out, outgoing{i, tid, m})
	c.conns[i].phase = p
	if answered {
		c.expect(i, e.now.Add(c.wait.Duration()))
	} else {
		c.expect(i, vtime.Never)
	}
}

// expect sets when the last message of connection i is repeated.
func (c *connector) expect(i int, at vtime.Time) {
	was := &c.conns[i].again
	if *was != vtime.Never {
		c.waiting--
	}
	if *was = at; at != vtime.Never {
		c.waiting++
		c.due = append(c.due, repetition{i, at})
	}
}

// connectAll begins the set-up.
func (e *Endpoint) connectAll() {
	for i := range e.connect.conns {
		if e.side == trace.A {
			e.say(i, asked, e.req(i), true)
		}
	}
}

// req asks for connection i.
func (e *Endpoint) req(i int) *roce.REQ {
	q := &e.qps[i].attr
	m := &roce.REQ{
		LocalCommID: commID(e.side, i), QPN: q.QPN, StartingPSN: q.RecvPSN, PKey: q.PKey, PathMTU: mtuCode(q.MTU),
		ResponderResources: uint8(q.MaxDestRd), InitiatorDepth: uint8(q.MaxRdAtomic), RetryCount: q.RetryCount,
		RNRRetryCount: q.RNRRetry, ACKTimeout: uint8(q.Timeout), RemoteCMTimeout: uint8(e.connect.wait),
		LocalCMTimeout: uint8(e.connect.wait), MaxCMRetries: mostTries - 1, SubnetLocal: true, HopLimit: 64,
	}
	m.LocalGID, m.RemoteGID = Addr(e.side).As16(), Addr(e.side.Other()).As16()
	return m
}

// mtuCode is the code of a path MTU: 1 for 256 bytes.
func mtuCode(mtu int) (code uint8) {
	for code = 1; 128<<code < mtu; code++ {
	}
	return code
}

// rep accepts connection i.
func (e *Endpoint) rep(i int) *roce.REP {
	q := &e.qps[i].attr
	return &roce.REP{CommIDs: e.ids(i), QPN: q.QPN, StartingPSN: q.RecvPSN, ResponderResources: uint8(q.MaxDestRd),
		InitiatorDepth: uint8(q.MaxRdAtomic), RNRRetryCount: q.RNRRetry}
}

func (e *Endpoint) ids(i int) roce.CommIDs {
	return roce.CommIDs{Local: commID(e.side, i), Remote: commID(e.side.Other(), i)}
}

// mad fills p with the next message.
func (e *Endpoint) mad(p *roce.Packet) (conn int, ok bool) {
	c := &e.connect
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

// manage takes a message, if p is one and connections are set up by them.
func (e *Endpoint) manage(p *roce.Packet) bool {
	if !e.connect.on || p.DestQP != roce.CMQueuePair || p.Opcode != roce.UDSendOnly || p.DETH.QKey != roce.CMQKey {
		return false
	}
	h, m, err := roce.DecodeCM(p.Payload)
	i := int(uint32(h.TID)) - 1
	if err != nil || i < 0 || i >= len(e.qps) {
		return true
	}
	e.answer(i, m)
	return true
}

// answer acts on a message about connection i. One that comes twice is answered twice: the first answer was lost.
func (e *Endpoint) answer(i int, m roce.CMMessage) {
	c := &e.connect.conns[i]
	switch m.(type) {
	case *roce.REQ:
		if e.side == trace.B && c.phase <= accepted {
			e.say(i, accepted, e.rep(i), true)
		}
	case *roce.REP:
		if e.side == trace.A && c.phase >= asked && c.phase <= established {
			e.say(i, c.phase, &roce.RTU{CommIDs: e.ids(i)}, false)
			e.established(i)
		}
	case *roce.RTU:
		e.established(i)
	case *roce.DREQ:
		e.say(i, parted, &roce.DREP{CommIDs: e.ids(i)}, false)
	case *roce.DREP:
		if c.phase == parting {
			c.phase = parted
			e.connect.expect(i, vtime.Never)
		}
	}
}

// established lets connection i carry data: for the active side with the REP, for the passive one with the RTU, or with
// data that overtook it.
func (e *Endpoint) established(i int) {
	c := &e.connect.conns[i]
	if c.phase >= established || c.phase == closed {
		return
	}
	c.phase, c.tries = established, 0
	e.connect.expect(i, vtime.Never)
	e.begin(i)
}

// disconnectAll ends the connections when A's work is done.
func (e *Endpoint) disconnectAll() {
	c := &e.connect
	if !c.on || !c.ends || c.leaving || !e.Idle() || e.Share() < 1 && !e.allFailed() {
		return
	}
	c.leaving = true
	for i := range c.conns {
		if c.conns[i].phase == established {
			e.say(i, parting, &roce.DREQ{CommIDs: e.ids(i), RemoteQPN: e.qps[i].attr.DestQPN}, true)
		}
	}
}

func (e *Endpoint) allFailed() bool {
	for i := range e.qps {
		if !e.qps[i].failed {
			return false
		}
	}
	return true
}

// repeat sends again what has had no answer.
func (e *Endpoint) repeat() {
	for e.connect.next() <= e.now {
		i := e.connect.due[0].conn
		c := &e.connect.conns[i]
		if c.tries++; c.tries >= mostTries {
			e.connect.expect(i, vtime.Never)
			continue
		}
		switch c.phase {
		case asked:
			e.say(i, asked, e.req(i), true)
		case accepted:
			e.say(i, accepted, e.rep(i), true)
		case parting:
			e.say(i, parting, &roce.DREQ{CommIDs: e.ids(i), RemoteQPN: e.qps[i].attr.DestQPN}, true)
		default:
			e.connect.expect(i, vtime.Never) // an answer is no longer wanted
		}
	}
}

// unconnected says which connection was never set up, "" when all were.
func (e *Endpoint) unconnected() string {
	for i := range e.connect.conns {
		if e.connect.conns[i].phase < established {
			return fmt.Sprintf("connection %d of %s was never set up: no answer to %d messages", i, e.side, mostTries)
		}
	}
	return ""
}
