package recording

import (
	"net/netip"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// reuse detects that the QPNs of a connection were reused for another one whose set-up was not captured. The PSNs of
// the other connection may begin anywhere, and its MTU and UDP source ports may differ. That both ends begin again, the
// requester with its PSNs and the responder with its MSN, distinguishes it from a faulty sender. So does another port
// from a PSN on that does not continue, unless packets with the former port follow.
type reuse struct {
	begun    bool
	answered bool    // an answer has passed
	first    psn.PSN // PSN of the first request
	newest   psn.PSN // PSN after the newest request
	mark     uint8   // of the first request
	ports    [2]port // of requests and answers
	again    bool    // a request had a PSN where another connection may begin, and no answer has passed since

	msn psn.MSN // MSN of the newest acknowledgement
	top psn.MSN // largest MSN of all answers
	// a request had a PSN far from the others, or the first PSN again, and no acknowledgement has passed since
	leapt bool
	// a request had a PSN far from the others, or the first PSN and asked for something else, and no answer to it or
	// a later one has passed
	restart moment
	since   psn.MSN // requests since then

	size    int  // payload of the latest packet that had to be full, bytes; 0 when a larger packet has passed since
	largest int  // largest payload since then, bytes
	resized bool // a packet showed another MTU, and no answer has passed since
	anew    bool // the QPNs were reused
}

// port is the UDP source port of a flow, or of its requests or answers.
type port struct {
	now, was uint16 // 0 for none
	moved    bool   // it changed where another connection may begin
	mixed    bool   // it changed within a connection
}

// farPSN is the distance from the other requests from which on a loss does not explain a PSN.
const farPSN = 64

// takes processes the port of a packet; begins is set where another connection may begin.
func (o *port) takes(p uint16, begins bool) {
	switch {
	case p == o.now:
	case o.now == 0:
		o.now = p
	default:
		o.mixed = o.mixed || !begins || p == o.was
		o.moved, o.was, o.now = true, o.now, p
	}
}

// renewed reports whether every change of the port may be that of a connection.
func (o *port) renewed() bool { return o.moved && !o.mixed }

// asks processes a request with the PSNs up to end.
func (l *reuse) asks(s *sighting, end psn.PSN) {
	if !s.sound || !s.headed {
		return
	}
	p := s.psn
	l.carries(s)
	if !l.begun {
		l.begun, l.first, l.newest, l.mark = true, p, end, s.mark
	}
	far, first := !p.In(l.first.Add(-farPSN), l.newest.Add(farPSN)), p == l.first && l.answered
	within := l.first.Less(p) && p.LessEq(l.newest)
	switch moved := s.port != l.ports[0].now && !within; {
	case far || first && s.mark != l.mark:
		l.restart, l.since = moment{p, s.at, true}, 0
		fallthrough
	case first || moved:
		l.again = true
	}
	l.leapt = l.leapt || far || first
	l.since++
	if l.ports[0].takes(s.port, !within || first); !far {
		l.newest = psn.Max(l.newest, end)
	}
}

// answers processes an answer.
func (l *reuse) answers(s *sighting) {
	if !l.begun {
		return
	}
	l.answered = true
	l.carries(s)
	l.counted(s)
	l.ports[1].takes(s.port, l.again)
	l.again = false
}

// carries processes the payload of a packet.
func (l *reuse) carries(s *sighting) {
	n := int(s.payload)
	switch full := !s.opcode.EndsMessage() && roce.IsPathMTU(n); {
	case !s.sound || !s.opcode.HasPayload():
	case full:
		l.resized = l.resized || l.size != 0 && n != l.size || n < l.largest
		l.size, l.largest = n, n
	case l.size != 0 && n > l.size:
		l.resized, l.size, l.largest = true, 0, n
	default:
		l.largest = max(l.largest, n)
	}
}

// counted processes the MSN of an answer. If the MSN begins again together with the PSNs or the MTU, the answer is of
// another connection. A repeated READ response may carry an old MSN, so it proves nothing when only PSNs leapt, unless
// it answers the request that leapt.
func (l *reuse) counted(s *sighting) {
	n, ack := s.msn, s.opcode == roce.Acknowledge
	if s.opcode.Layout()&roce.LayoutAETH == 0 {
		return
	}
	l.anew = l.anew || l.resized && (l.leapt || n < l.top) || ack && l.leapt && 2*n < l.msn
	if d := s.psn.Sub(l.restart.psn); l.restart.valid && d >= 0 && d < skipLimit {
		l.anew = l.anew || n <= l.since && n < l.top
		l.restart.valid = false
	}
	l.resized, l.top = false, max(l.top, n)
	if ack {
		l.leapt, l.msn = false, n
	}
}

// may reports whether the QPNs were, or may have been, reused: in the second case packets of another MTU have no
// answer yet, or the port changed and nothing tells whether the connection did.
func (l *reuse) may() bool {
	return l.anew || l.resized || l.ports[0].renewed() || l.ports[1].renewed()
}

// reusedDoubt is the doubt about connections of which each was set up with a QPN of another one.
var reusedDoubt = &trace.Doubt{Fails: validity.Capture, Why: "a QPN was used again, and its packets may be of either " +
	"connection"}

// overlay marks the connections that share the QPN of a host with another one: packets to it are of either.
func overlay(conns []trace.Conn) {
	type end struct {
		host netip.Addr
		qpn  uint32
	}
	users := map[end]int{}
	each := func(c *trace.Conn, f func(end)) {
		for i := range c.Ends {
			f(end{c.Ends[i].Addr, c.Ends[i].QP.QPN})
		}
	}
	for i := range conns {
		each(&conns[i], func(e end) { users[e]++ })
	}
	for i := range conns {
		c := &conns[i]
		each(c, func(e end) { c.Anew = c.Anew || users[e] > 1 })
		if c.Anew {
			c.Ends[0].QP.MTU, c.Ends[1].QP.MTU = 0, 0
			c.Doubts = [2]*trace.Doubt{reusedDoubt, reusedDoubt}
		}
	}
}
