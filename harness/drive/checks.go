package drive

import (
	"errors"
	"net/netip"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// cause is why a packet was dropped below the transport, or a post was refused. All drops are silent (IBTA 9.6): they
// show in a counter and nowhere else.
type cause int

const (
	malformed cause = iota
	badOpcode
	badVersion
	unknownQP
	wrongClass
	wrongSource
	badPKey
	badQKey
	badICRC
	badChecksum
	notJoined
	refusedPost
	causes
)

var causeNames = [causes]string{"malformed", "opcode", "tver", "qpn", "class", "source", "pkey", "qkey", "icrc", "checksum", "fragments", "refused_post"}

// classRC is the transport class of the reliable connection, the top three bits of the opcode.
const classRC = 0

// checks is what is known for judging a packet before any QP sees it, and how often each check failed.
type checks struct {
	firstQPN uint32
	pkey     uint16 // of all QPs
	peer     netip.Addr
	accepts  func(roce.Opcode) bool
	qkey     uint32 // of datagrams, when any are accepted
	counts   [causes]int64
}

// init takes what the checks compare with from the Spec: both sides know it, as if a connection manager had told them.
func (c *checks) init(s *scenario.Spec, side trace.Side, impl *engine.Implementation) {
	first := s.Ends(0)[side]
	c.firstQPN, c.pkey = first.QPN, first.PKey
	c.peer = Addr(side.Other())
	c.accepts, c.qkey = impl.Accepts, impl.QKey
}

// admit runs the receive checks in the order of soft-RoCE (opcode, version, QPN, class, P_Key, Q_Key) and returns the
// connection that the packet is for.
func (e *Endpoint) admit(now vtime.Time, p *roce.Packet) (conn int, ok bool) {
	e.now = now
	c := &e.checks
	i := int64(p.DestQP) - int64(c.firstQPN)
	known := i >= 0 && i < int64(len(e.qps))
	why := causes
	switch {
	case !p.Opcode.Known():
		why = badOpcode
	case p.TVer != 0:
		why = badVersion
	case !known:
		why = unknownQP
	case p.Opcode == roce.CNP && e.qps[i].paced:
	case p.Opcode>>5 != classRC && (c.accepts == nil || !c.accepts(p.Opcode)),
		p.Opcode == roce.LoWAR && (c.accepts == nil || !c.accepts(roce.LoWAR)),
		!p.Opcode.IsRequest() && !p.Opcode.IsResponse() && !p.Opcode.IsReadAck() && p.Opcode != roce.LoWAR:
		why = wrongClass
	case p.Layout()&roce.LayoutBTH != 0 && !pkeysMatch(p.PKey, c.pkey):
		why = badPKey
	case p.Opcode.Class() == roce.ClassUD && p.DETH.QKey != c.qkey:
		why = badQKey
	}
	if why != causes {
		e.count(max(0, int(i)), why)
		return 0, false
	}
	return int(i), true
}

// pkeysMatch compares two partition keys: the same partition, which is not the invalid one, and a full member, which the
// top bit marks, on one side at least (IBTA 10.9.1.2, 10.9.3).
func pkeysMatch(a, b uint16) bool {
	const partition, full = 0x7FFF, 0x8000
	return a&partition == b&partition && a&partition != 0 && (a|b)&full != 0
}

// ReceiveFrame decodes a frame and hands its packet on; frames that are not RoCEv2 are none of the endpoint's business.
func (e *Endpoint) ReceiveFrame(now vtime.Time, b []byte) {
	e.now = now
	if e.frameIn != nil {
		b = e.frameIn(b)
	}
	f := &e.frame
	if e.ip.on {
		e.receiveAny(now, b)
		return
	}
	err := f.Decode(b)
	switch {
	case errors.Is(err, roce.ErrNotRoCE):
	case errors.Is(err, roce.ErrUnknownOpcode):
		e.count(0, badOpcode)
	case err != nil:
		e.count(0, malformed)
	case f.Src != e.checks.peer:
		e.count(0, wrongSource)
	case !f.ICRCOK(b):
		e.count(0, badICRC)
	default:
		e.marked = f.TOS&congested == congested
		e.Receive(now, &f.Packet)
		e.marked = false
	}
}

// congested is the ECN codepoint of a packet that met congestion: CE (RFC 3168, 5).
const congested = 3

// receiveAny is ReceiveFrame for an implementation that is no RoCEv2.
func (e *Endpoint) receiveAny(now vtime.Time, b []byte) {
	f := &e.frame
	err := f.DecodeAny(b)
	switch {
	case errors.Is(err, roce.ErrNotRoCE):
	case err != nil:
		e.count(0, malformed)
	case !f.Packet.Opcode.OverIP():
		e.count(0, wrongClass)
	case f.Src != e.checks.peer:
		e.count(0, wrongSource)
	default:
		e.receiveIP(now, b, &f.Packet)
	}
}

// count notes one drop, and reports it when the Spec asks for detail.
func (e *Endpoint) count(i int, why cause) {
	e.checks.counts[why]++
	if e.spec.Reads.Detail {
		e.event = trace.Event{Name: causeNames[why], Value: e.checks.counts[why]}
		e.send(min(i, len(e.qps)-1), trace.Count)
	}
}

// Counters returns how many packets each check dropped, by its name, without those that are zero.
func (e *Endpoint) Counters() map[string]int64 {
	out := map[string]int64{}
	for i, n := range e.checks.counts {
		if n != 0 {
			out[causeNames[i]] = n
		}
	}
	return out
}
