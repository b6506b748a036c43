// Package wire joins the emulated link, which knows no RoCE, to RoCEv2 frames: it tells the fault script which packet a
// frame is, applies what a channel decided to the bytes, and builds crafted frames.
package wire

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// Classifier names packets as fault scripts address them. PSNs count from the start of the half-conversation: those of
// A's requests and of the responses to them from A's first PSN.
type Classifier struct {
	first [2]uint32  // QPN of connection 0 at each side
	start [2]psn.PSN // of the requests of each side
	qps   int
	frame roce.Frame
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

// Conn returns the connection that a packet sent by from belongs to, -1 when its DestQP is nobody's.
func (c *Classifier) Conn(from trace.Side, p *roce.Packet) int {
	i := int64(p.DestQP) - int64(c.first[from.Other()])
	if i < 0 || i >= int64(c.qps) {
		return -1
	}
	return int(i)
}

// Packet identifies a decoded packet.
func (c *Classifier) Packet(from trace.Side, p *roce.Packet) fault.Identity {
	requester := from
	if p.Opcode.IsResponse() {
		requester = from.Other()
	}
	return fault.Identity{QP: c.Conn(from, p), PSN: uint32(p.PSN), Offset: p.PSN.Sub(c.start[requester]),
		Type: p.Opcode.String(), Class: class(p)}
}

// Classify identifies a frame; ok is false when it is not RoCEv2.
func (c *Classifier) Classify(from fault.Side, frame []byte) (fault.Identity, bool) {
	if c.frame.Decode(frame) != nil {
		return fault.Identity{}, false
	}
	return c.Packet(sideOf(from), &c.frame.Packet), true
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
	}
	return fault.Data
}
