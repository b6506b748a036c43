// Package wire connects the emulated link, which knows no RoCE, with RoCEv2 frames: it identifies the packet in a frame
// for fault scripts, applies a channel's changes to the bytes, and builds crafted frames.
package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// Classifier identifies packets as fault scripts address them. PSNs count from the start of the half-conversation: for
// A's requests and the responses to them, from A's first PSN.
type Classifier struct {
	first [2]uint32  // QPN of connection 0 at each side
	start [2]psn.PSN // start PSN of the requests of each side
	qps   int
	frame roce.Frame
	parts [2]struct { // the datagram of which each side sent the first fragment last
		id   uint16
		conn int
	}
}

// ReadClassifier returns the classifier of a run whose configuration is a string in JSON: the text of its Spec, which
// determines its connections.
func ReadClassifier(config json.RawMessage) (*Classifier, error) {
	var text string
	if err := json.Unmarshal(config, &text); err != nil {
		return nil, fmt.Errorf("relay: dialect: %w", err)
	}
	s, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("relay: spec line %w", err)
	}
	return NewClassifier(s), nil
}

// NewClassifier returns the classifier of a run.
func NewClassifier(s *scenario.Spec) *Classifier {
	ends := s.Ends(0)
	return &Classifier{
		first: [2]uint32{ends[0].QPN, ends[1].QPN},
		start: [2]psn.PSN{ends[0].SendPSN, ends[1].SendPSN},
		qps:   s.QPs,
	}
}

// Conn returns the connection to which a packet sent by from belongs, -1 when no QP has its DestQP.
func (c *Classifier) Conn(from trace.Side, p *roce.Packet) int {
	return c.ConnOf(from.Other(), p.DestQP)
}

// FrameConn is Conn for a whole frame. For set-up messages, and packets to an unknown QP, the UDP source port
// identifies the connection.
func (c *Classifier) FrameConn(from trace.Side, f *roce.Frame) int {
	if f.Packet.DestQP != roce.CMQueuePair {
		if i := c.Conn(from, &f.Packet); i >= 0 {
			return i
		}
	}
	if i := drive.PortConn(f.SrcPort); i >= 0 && i < c.qps {
		return i
	}
	return -1
}

// ConnOf returns the connection whose QP at a side has this number, -1 when none has.
func (c *Classifier) ConnOf(side trace.Side, qpn uint32) int {
	i := int64(qpn) - int64(c.first[side])
	if i < 0 || i >= int64(c.qps) {
		return -1
	}
	return int(i)
}

// Packet identifies a decoded packet.
func (c *Classifier) Packet(from trace.Side, p *roce.Packet) fault.Identity {
	if p.Opcode.OverIP() {
		return c.overIP(from, p)
	}
	requester, n := from, p.Number()
	if p.ToRequester() {
		requester = from.Other()
	}
	if p.DestQP == roce.CMQueuePair { // numbered for itself: no fault of a connection means it by its PSN
		return fault.Identity{QP: -1, PSN: uint32(p.PSN), Offset: math.MinInt, Type: p.Opcode.String(), Class: class(p)}
	}
	return fault.Identity{QP: c.Conn(from, p), PSN: uint32(n), Offset: n.Sub(c.start[requester]),
		Type: p.Name(), Class: class(p)}
}

// Classify identifies a frame; ok is false for a frame that a kernel sends on its own account. A frame that is neither
// RoCEv2 nor iWARP, or a malformed one, crosses the link like any other and belongs to no connection.
func (c *Classifier) Classify(from fault.Side, frame []byte) (fault.Identity, bool) {
	if c.frame.DecodeAny(frame) == nil {
		return c.Packet(sideOf(from), &c.frame.Packet), true
	}
	return fault.Identity{QP: -1, Offset: math.MinInt, Type: malformed}, !roce.OfKernel(frame)
}

// malformed is the type of a frame that does not decode, in the log of a link and in fault scripts.
const malformed = "MALFORMED"

// Fingerprint identifies the bytes of a frame.
func (c *Classifier) Fingerprint(frame []byte) uint64 { return roce.Fingerprint(frame) }

// overIP identifies a packet without BTH. Its number is that of its IP packet, counted from 0; the fragments of one
// datagram have the same number and different types: that of the segment for the first, FRAGMENT for the others.
func (c *Classifier) overIP(from trace.Side, p *roce.Packet) fault.Identity {
	last := &c.parts[from&1]
	conn := -1
	switch {
	case p.IP.Fragment.First() && len(p.Payload) >= 4:
		be := binary.BigEndian
		port, senders := iwarp.PeerPort(be.Uint16(p.Payload), be.Uint16(p.Payload[2:]))
		owner := from
		if !senders {
			owner = from.Other()
		}
		if n := int(port-iwarp.PortOf(c.first[owner])) & 0x3FFF; n < c.qps {
			conn = n
		}
		last.id, last.conn = p.IP.ID, conn
	case p.IP.ID == last.id:
		conn = last.conn
	}
	class := fault.Data
	if p.Opcode == roce.TCP && !iwarp.CarriesData(p.Payload) {
		class = fault.ACK
	}
	return fault.Identity{QP: conn, PSN: uint32(p.IP.ID), Offset: int(p.IP.ID), Type: iwarp.Kind(p), Class: class}
}

// sideOf is the inverse of FaultSide.
func sideOf(s fault.Side) trace.Side {
	if s == fault.B {
		return trace.B
	}
	return trace.A
}

// FaultSide spells a side as fault scripts do.
func FaultSide(s trace.Side) fault.Side {
	if s == trace.B {
		return fault.B
	}
	return fault.A
}

// class groups a packet by its role.
func class(p *roce.Packet) fault.Class {
	op := p.Opcode
	reply := op.IsResponse() || op.IsReadAck()
	switch {
	case op.IsReadResponse() || op == roce.AtomicAck:
		return fault.ReadResponse
	case reply && p.AETH.Syndrome.IsRNR():
		return fault.RNR
	case reply && p.AETH.Syndrome.IsNAK():
		return fault.NAK
	case reply:
		return fault.ACK
	case op.IsRequest() && op.Class() == roce.ClassRC:
		return fault.Data
	case op.IsRequest() && p.DestQP == 1:
		return fault.CM
	case op == roce.LoWAR:
		return fault.FEC
	}
	return fault.Data
}
