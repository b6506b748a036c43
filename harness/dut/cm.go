package dut

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// CM is the communication manager of this end. It sets up and ends connections with the one of the device's kernel, by
// MADs between QP 1 of both (IBTA chapter 12; annex A11 for the additions of RDMA CM):
//
//	who connects                who listens
//	REQ ------------------------>   its QP, and the PSN at which the other is to send
//	  <------------------------ MRA wait a little
//	  <------------------------ REP likewise
//	RTU ------------------------>
//	        … data …
//	DREQ ----------------------->   either of them
//	  <----------------------- DREP
//
// A message without an answer is repeated. The reader of packets from the device passes each packet to Receive.
type CM struct {
	mine, theirs netip.Addr
	send         func(*roce.Packet) error

	mu      sync.Mutex
	calls   []*call
	port    uint16 // port on which this end listens; zero is none
	sent    psn.PSN
	channel *channel      // of the exchange that is in progress; nil without one
	early   []roce.Packet // packets for the channel that arrived before it was opened
	err     error         // the error that ended all calls
	news    chan struct{} // signalled when the state of a call or the channel has changed
}

// NewCM returns the manager of an end, which sends packets with the function send.
func NewCM(mine, theirs netip.Addr, send func(*roce.Packet) error) *CM {
	return &CM{mine: mine, theirs: theirs, send: send, news: make(chan struct{}, 1)}
}

// End holds this end's parameters of a connection.
type End struct {
	QPN     uint32
	PSN     psn.PSN // starting PSN of the other end
	MTU     int     // path MTU, chosen by the end that connects; bytes
	Timeout engine.LocalACKTimeout
	Reads   int // outstanding READs and atomics, in each direction

	Retries, RNRRetries uint8 // retry counts for the other end; Retries has an effect only where this end connects
}

// call is one connection.
type call struct {
	cm     *CM
	ids    roce.CommIDs
	tid    uint64 // transaction ID of the REQ and of all messages that follow it
	state  callState
	said   roce.CMMessage // last message sent; repeated when the message that it answers is repeated
	req    *roce.REQ      // REQ of the end that connected
	rep    *roce.REP      // REP of the end that listened
	refuse error          // reason why the other end rejected the connection
}

// callState is the state of the set-up of a connection.
type callState uint8

const (
	calling   callState = iota // REQ sent
	called                     // REQ received
	accepting                  // REP sent
	connected
	parting // DREQ sent
	parted
)

// peer returns the QP number of the other end, and the starting PSN of this end.
func (c *call) peer() (qpn uint32, starts psn.PSN) {
	if c.rep != nil {
		return c.rep.QPN, c.rep.StartingPSN
	}
	return c.req.QPN, c.req.StartingPSN
}

// introduce fills a Meeting with the parameters of the device, and rejects those that this end cannot serve.
func (c *call) introduce(m *Meeting, t *Tool, mine Identity) error {
	c.cm.mu.Lock()
	defer c.cm.mu.Unlock()
	m.Peer.Addr, m.Peer.PSN, m.Timeout = c.cm.theirs, mine.Expects, t.Timeout
	m.Peer.QPN, m.Wants = c.peer()
	switch q := c.req; {
	case m.Peer.QPN == 0:
		return errors.New("its QP has the number 0")
	case q == nil:
	case q.Service != 0:
		return fmt.Errorf("it asks for transport service %d; want 0, RC", q.Service)
	case q.MTU() != t.MTU:
		return fmt.Errorf("it asks for a path MTU of %d bytes (code %d); want %d", q.MTU(), q.PathMTU, t.MTU)
	default:
		m.Timeout = engine.LocalACKTimeout(q.ACKTimeout)
	}
	return nil
}

// Intervals and numbers of repetitions. The answers of a kernel take milliseconds, more in a guest.
const (
	askAgain   = 500 * time.Millisecond
	partMost   = time.Second
	cmTimeout  = 20 // 4.096 µs · 2^20, 4.3 s
	mraTimeout = 24 // 69 s: longer than the measurement of a link takes
	cmRetries  = 15
	mostCalls  = 8 // connections that a device may request; a tool requests two
)

// The reasons of a REJ that reveal something about the device (IBTA table 108).
const (
	rejNoService = 8
	rejConsumer  = 28
)

// Connect connects to the listener on a port. It retries while nothing listens there.
func (m *CM) Connect(port uint16, e End) (*call, error) {
	for deadline := time.Now().Add(patience); ; time.Sleep(askAgain / 10) {
		c := m.call(port, e)
		err := m.until("REQ", patience, func() bool { return c.state == connected || c.refuse != nil }, c.again)
		if err == nil {
			err = c.refused()
		}
		if err == nil || !errors.Is(err, errNoService) || time.Now().After(deadline) {
			return c, err
		}
	}
}

// errNoService is the error of a port without a listener.
var errNoService = errors.New("no listener on the port")

// call sends a REQ.
func (m *CM) call(port uint16, e End) *call {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.newCall(calling)
	q := &roce.REQ{LocalCommID: c.ids.Local, ServiceID: roce.IPService(port), LocalCAGUID: 1, QPN: e.QPN,
		StartingPSN: e.PSN,
		PKey:        roce.DefaultPKey, PathMTU: uint8(mtuCode(e.MTU)), ResponderResources: uint8(e.Reads),
		InitiatorDepth: uint8(e.Reads),
		RetryCount:     e.Retries, RNRRetryCount: e.RNRRetries, ACKTimeout: uint8(e.Timeout),
		RemoteCMTimeout: cmTimeout,
		LocalCMTimeout:  cmTimeout, MaxCMRetries: cmRetries, LocalLID: 0xFFFF, RemoteLID: 0xFFFF, HopLimit: 64,
		LocalGID: m.mine.As16(), RemoteGID: m.theirs.As16()}
	q.SetIP(roce.IPInfo{SourcePort: 0xC000 | uint16(c.ids.Local), Source: m.mine, Dest: m.theirs})
	c.say(q)
	return c
}

// newCall adds a call, with a communication ID that no other call has.
func (m *CM) newCall(s callState) *call {
	name := uint32(0x7E57_0000 + len(m.calls))
	c := &call{cm: m, state: s, ids: roce.CommIDs{Local: name}, tid: uint64(name)}
	m.calls = append(m.calls, c)
	return c
}

// Listen lets the device connect to a port.
func (m *CM) Listen(port uint16) {
	m.mu.Lock()
	m.port = port
	m.mu.Unlock()
}

// Called waits until the device has requested its n-th connection. An MRA has told the device to wait for the answer.
func (m *CM) Called(n int) (c *call, err error) {
	err = m.until("RDMA CM", patience, func() bool {
		seen := 0
		for _, c = range m.calls {
			if c.req != nil {
				if seen++; seen == n {
					return true
				}
			}
		}
		return false
	}, func() {})
	return c, err
}

// accept answers the device's REQ with a REP, and waits until the device has confirmed or rejected it.
func (c *call) accept(e End) error {
	c.cm.mu.Lock()
	c.state = accepting
	c.say(&roce.REP{CommIDs: c.ids, QPN: e.QPN, StartingPSN: e.PSN, ResponderResources: uint8(e.Reads),
		InitiatorDepth: uint8(e.Reads),
		RNRRetryCount:  e.RNRRetries, LocalCAGUID: 1})
	c.cm.mu.Unlock()
	err := c.cm.until("REP", patience, func() bool { return c.state != accepting || c.refuse != nil }, c.again)
	if err == nil {
		err = c.refused()
	}
	return err
}

// refused returns an error when the other end has rejected the connection, else nil.
func (c *call) refused() error {
	c.cm.mu.Lock()
	defer c.cm.mu.Unlock()
	if c.refuse == nil {
		return nil
	}
	return fmt.Errorf("it refuses the connection: %w", c.refuse)
}

// Close ends all connections. It does not wait for ever for one that does not answer.
func (m *CM) Close() error {
	m.mu.Lock()
	m.port = 0
	var open []*call
	for _, c := range m.calls {
		if c.state == connected {
			qpn, _ := c.peer()
			c.state = parting
			c.say(&roce.DREQ{CommIDs: c.ids, RemoteQPN: qpn})
			open = append(open, c)
		}
	}
	m.mu.Unlock()
	for _, c := range open {
		// the connection ends even without an answer
		_ = m.until("DREQ", partMost, func() bool { return c.state == parted }, c.again)
	}
	return nil
}

// until waits until done returns true, and calls again at intervals meanwhile. asked names the message for the error.
func (m *CM) until(asked string, most time.Duration, done func() bool, again func()) error {
	repeat, limit := time.NewTicker(askAgain), time.NewTimer(most)
	defer repeat.Stop()
	defer limit.Stop()
	for {
		m.mu.Lock()
		ok, err := done(), m.err
		m.mu.Unlock()
		if ok || err != nil {
			return err
		}
		select {
		case <-m.news:
		case <-repeat.C:
			again()
		case <-limit.C:
			return fmt.Errorf("%s: no answer from %s within %s", asked, m.theirs, most)
		}
	}
}

// again repeats the last message of the call.
func (c *call) again() {
	c.cm.mu.Lock()
	defer c.cm.mu.Unlock()
	c.say(c.said)
}

// say sends a message of the call.
func (c *call) say(msg roce.CMMessage) {
	c.said = msg
	c.cm.put(c.tid, msg)
}

// put sends a MAD.
func (m *CM) put(tid uint64, msg roce.CMMessage) {
	p := &roce.Packet{
		BTH:     roce.BTH{Opcode: roce.UDSendOnly, PKey: roce.DefaultPKey, DestQP: roce.CMQueuePair, PSN: m.sent},
		DETH:    roce.DETH{QKey: roce.CMQKey, SrcQP: roce.CMQueuePair},
		Payload: roce.AppendCM(nil, tid, msg), Len: roce.CMLen,
	}
	m.sent = m.sent.Next()
	if err := m.send(p); err != nil {
		m.fail(err)
	}
}

// fail ends all waiting, with err.
func (m *CM) fail(err error) {
	if m.err == nil {
		m.err = err
	}
	m.tell()
}

func (m *CM) tell() {
	select {
	case m.news <- struct{}{}:
	default:
	}
}

// Receive processes a packet from the device and reports whether it was for the manager. A malformed or unexpected
// message of the communication manager becomes the error of the waiting call.
func (m *CM) Receive(p *roce.Packet) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.tell()
	if p.DestQP == channelQPN {
		m.heard(p)
		return true
	}
	if p.DestQP != roce.CMQueuePair {
		return false
	}
	if p.Opcode != roce.UDSendOnly || p.DETH.QKey != roce.CMQKey {
		m.fail(fmt.Errorf("%s with Q_Key %#x came to QP 1; want UD_SEND_ONLY with %#x", p.Opcode,
			p.DETH.QKey, roce.CMQKey))
		return true
	}
	h, msg, err := roce.DecodeCM(p.Payload)
	if err != nil {
		m.fail(fmt.Errorf("malformed message to QP 1: %w", err))
		return true
	}
	m.take(h.TID, msg)
	return true
}

// heard processes a packet for the channel. A packet that arrives before the channel is open is kept: if the tool had
// to retransmit it, it would wait for its timer several times.
func (m *CM) heard(p *roce.Packet) {
	switch {
	case m.channel != nil:
		m.channel.take(p)
	case len(m.early) < mostUnread:
		kept := *p
		kept.Payload = slices.Clone(p.Payload)
		m.early = append(m.early, kept)
	}
}

// take processes a message. A repeated message is answered again, because its first answer was lost.
func (m *CM) take(tid uint64, msg roce.CMMessage) {
	switch msg := msg.(type) {
	case *roce.REQ:
		m.taken(tid, msg)
	case *roce.REP:
		if c := m.find(msg.Remote); c != nil && c.state <= connected && c.req == nil {
			c.ids.Remote, c.rep, c.state = msg.Local, msg, connected
			c.say(&roce.RTU{CommIDs: c.ids})
		}
	case *roce.RTU:
		if c := m.find(msg.Remote); c != nil && c.state == accepting {
			c.state = connected
		}
	case *roce.REJ:
		if c := m.find(msg.Remote); c != nil {
			c.refuse = refusal(msg.Reason)
		}
	case *roce.DREQ:
		m.put(tid, &roce.DREP{CommIDs: roce.CommIDs{Local: msg.Remote, Remote: msg.Local}})
		if c := m.find(msg.Remote); c != nil {
			c.state = parted
		}
	case *roce.DREP:
		if c := m.find(msg.Remote); c != nil {
			c.state = parted
		}
	}
}

// taken processes a REQ, and answers it at once with an MRA, because the REP takes longer.
func (m *CM) taken(tid uint64, q *roce.REQ) {
	came := 0
	for _, c := range m.calls {
		if c.req != nil {
			came++
		}
		if c.req != nil && c.ids.Remote == q.LocalCommID {
			c.say(c.said)
			return
		}
	}
	info, err := q.IP()
	switch {
	case err != nil:
		m.fail(err)
		return
	case came == mostCalls, m.port == 0 || q.ServiceID != roce.IPService(m.port):
		m.put(tid, &roce.REJ{CommIDs: roce.CommIDs{Remote: q.LocalCommID}, Reason: rejNoService})
		return
	case info.Source != m.theirs || info.Dest != m.mine || q.QPN == 0:
		m.fail(fmt.Errorf("REQ from %s to %s for QP %#x; want %s to %s", info.Source, info.Dest, q.QPN,
			m.theirs, m.mine))
		return
	}
	c := m.newCall(called)
	c.req, c.ids.Remote, c.tid = q, q.LocalCommID, tid
	c.say(&roce.MRA{CommIDs: c.ids, ServiceTimeout: mraTimeout})
}

// find returns the call with a communication ID of this end, nil when there is none.
func (m *CM) find(local uint32) *call {
	for _, c := range m.calls {
		if c.ids.Local == local {
			return c
		}
	}
	return nil
}

// refusal returns the error for the reason code of a REJ.
func refusal(reason uint16) error {
	switch reason {
	case rejNoService:
		return errNoService
	case rejConsumer:
		return errors.New("the tool says no (REJ reason 28)")
	}
	return fmt.Errorf("REJ reason %d, see IBTA 12.6.7.2", reason)
}
