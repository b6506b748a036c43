package drive

import (
	"net/netip"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// cause is the reason why a packet was dropped below the transport, or a post was refused. Dropped packets are not
// answered (IBTA 9.6); only a counter shows them.
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

var causeNames = [causes]string{"malformed", "opcode", "tver", "qpn", "class", "source", "pkey", "qkey", "icrc",
	"checksum", "fragments", "refused_post"}

// classRC is the transport class of the reliable connection, the top three bits of the opcode.
const classRC = 0

// checks performs the checks of a packet before it reaches a QP, and counts the failures.
type checks struct {
	qps     int                    // number of connections
	first   [2]uint32              // QPN of connection 0 at this end and at the peer
	pkey    uint16                 // P_Key of all QPs
	peer    netip.Addr             // address of the peer
	accepts func(roce.Opcode) bool // Implementation.Accepts; may be nil
	qkey    uint32                 // Q_Key of datagrams, if any are accepted
	cnps    bool                   // the QPs are rate controlled, and process congestion notifications
	counts  [causes]int64          // packets dropped and posts refused, by cause
	out     *reports
}

// init sets the expected values from the Spec, which both sides know, as from a connection manager.
func (c *checks) init(s *scenario.Spec, side trace.Side, impl *engine.Implementation, out *reports) {
	ends := s.Ends(0)
	own, peer := &ends[side], &ends[side.Other()]
	*c = checks{qps: s.QPs, first: [2]uint32{own.QPN, peer.QPN}, pkey: own.PKey, peer: Addr(side.Other()),
		accepts: impl.Accepts, qkey: impl.QKey, out: out}
}

// admit runs the receive checks in the order of soft-RoCE (opcode, version, QPN, class, P_Key, Q_Key) and returns the
// connection that the packet is for.
func (c *checks) admit(p *roce.Packet) (conn int, ok bool) {
	i := int64(p.DestQP) - int64(c.first[0])
	known := i >= 0 && i < int64(c.qps)
	why := causes
	switch {
	case !p.Opcode.Known():
		why = badOpcode
	case p.TVer != 0:
		why = badVersion
	case !known:
		why = unknownQP
	case p.Opcode == roce.CNP && c.cnps:
	case p.Opcode>>5 != classRC && !c.takes(p.Opcode),
		p.Opcode == roce.LoWAR && !c.takes(roce.LoWAR),
		!p.Opcode.IsRequest() && !p.Opcode.IsResponse() && !p.Opcode.IsReadAck() && p.Opcode != roce.LoWAR:
		why = wrongClass
	case p.Layout()&roce.LayoutBTH != 0 && !pkeysMatch(p.PKey, c.pkey):
		why = badPKey
	case p.Opcode.Class() == roce.ClassUD && p.DETH.QKey != c.qkey:
		why = badQKey
	}
	if why != causes {
		c.count(max(0, int(i)), why)
		return 0, false
	}
	return int(i), true
}

// takes reports whether the implementation accepts op, an opcode outside the RC class.
func (c *checks) takes(op roce.Opcode) bool { return c.accepts != nil && c.accepts(op) }

// connOf returns the connection of a packet without BTH, from the port of the peer or of this end.
func (c *checks) connOf(src, dst uint16) (conn int, ok bool) {
	port, senders := iwarp.PeerPort(src, dst)
	first := c.first[0]
	if senders {
		first = c.first[1]
	}
	conn = int(port-iwarp.PortOf(first)) & 0x3FFF
	return conn, port >= iwarp.PortOf(0) && conn < c.qps
}

// pkeysMatch compares two partition keys: the same partition, which is not the invalid one, and a full member, which
// the top bit marks, on one side at least (IBTA 10.9.1.2, 10.9.3).
func pkeysMatch(a, b uint16) bool {
	const partition, full = 0x7FFF, 0x8000
	return a&partition == b&partition && a&partition != 0 && (a|b)&full != 0
}

// count counts one drop, and reports it if the Spec asks for detail.
func (c *checks) count(i int, why cause) {
	c.counts[why]++
	if c.out.detail {
		c.out.count(min(i, c.qps-1), causeNames[why], c.counts[why])
	}
}

// counters returns how many packets each check dropped, by its name, without those that are zero.
func (c *checks) counters() map[string]int64 {
	out := map[string]int64{}
	for i, n := range c.counts {
		if n != 0 {
			out[causeNames[i]] = n
		}
	}
	return out
}
