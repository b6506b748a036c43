package wire

import (
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// opcodeLayout judges frames that do not decode because of their layout: the decoder refuses every other length.
// WIRE-UDP-003 judges the lengths of IP and UDP, WIRE-OPC-002 unknown opcodes.
var opcodeLayout = rule.Rule{
	ID: "WIRE-OPC-001", Level: rule.Must, Rests: validity.Frames,
	Title: "The length of a packet is that of the headers of its opcode, payload, padding and ICRC",
	Source: rule.Source{Ref: "IBTA 9.2, table 35", Requirement: "The opcode determines which extended headers follow " +
		"the base transport header, and whether payload may"},
	Needs: rule.Bytes | rule.Frames, Sees: rule.Emitted | rule.Foreign, Stimulus: "every operation and length",
	BlackBox: "HW,RXE",
	Each: sent(func(c *rule.Context, s *rule.Sight) {
		d := s.Defect()
		switch {
		case d == "":
			if s.Raw != nil && !s.Pkt.Opcode.OverIP() {
				c.Met()
			}
		case strings.Contains(d, roce.ErrTruncated.Error()), strings.Contains(d, "payload:"),
			strings.Contains(d, "pad:"):
			c.Fail(sender(s), "the packet does not have the layout of its opcode: "+d)
		}
	}),
}

// opcodeRegistered learns the transport from its first packet that is not plain RC, because a foreign capture does not
// hold the agreed opcodes. Ends known to be of different kinds each have a transport.
var opcodeRegistered = rule.Rule{
	ID: "WIRE-OPC-002", Level: rule.MustNot, Rests: validity.Frames,
	Title: "No opcode outside the registered set of the transport is emitted",
	Source: rule.Source{Ref: "IBTA 9.2, table 35", Requirement: "Opcodes that the table does not define are reserved " +
		"and are not sent; a queue pair sends the opcodes of its own service type"},
	Needs: rule.Frames, Sees: rule.Emitted | rule.Foreign, Stimulus: "any traffic", BlackBox: "HW,RXE",
	Keeps: true, Looks: true, Each: rule.Kept((*vocabulary).sight),
}

// vocabulary is the set of opcodes seen on a connection.
type vocabulary struct {
	ends [2]struct {
		dialect  family // used beside the common ones
		reliable bool   // RC was used
	}
	data [2]family // of the packets of messages, for requests and responses
}

func (v *vocabulary) sight(c *rule.Context, s *rule.Sight) {
	o, end := s.Pkt.Opcode, &v.ends[0]
	if c.Mixed() {
		end = &v.ends[s.Tap&1]
	}
	unknown := strings.Contains(s.Defect(), roce.ErrUnknownOpcode.Error())
	if !asMade(c, s) || s.Defect() != "" && !unknown {
		return
	}
	c.Met()
	f := familyOf(o)
	switch {
	case f == reserved || unknown:
		c.Failf(sender(s), "opcode %v is reserved; a defined one expected", o)
		return
	case f == reliable:
		end.reliable = true
	case f == notification, f == lowar:
	case end.dialect == reserved:
		end.dialect = f
	case f != end.dialect && c.Several:
		c.Doubt(severalQPs)
		return
	case f != end.dialect:
		c.Failf(sender(s), "%v is of the %s opcodes, the connection uses those of %s", o, f, end.dialect)
	}
	if end.reliable && (end.dialect == unreliable || end.dialect == datagram) {
		if c.Several {
			c.Doubt(severalQPs)
			return
		}
		c.Failf(sender(s), "%v: a QP of %s service does not use RC opcodes", o, end.dialect)
		end.dialect, end.reliable = reserved, false
		return
	}
	v.message(c, s, f)
}

// message compares a packet of a message with earlier ones: a QP uses one family for all of them.
func (v *vocabulary) message(c *rule.Context, s *rule.Sight, f family) {
	o, spoken := s.Pkt.Opcode, &v.data[0]
	if o.IsReadResponse() {
		spoken = &v.data[1]
	}
	switch {
	case !o.HasPayload() || !o.IsSend() && !o.IsWrite() && !o.IsReadResponse():
	case *spoken == reserved:
		*spoken = f
	case *spoken != f && c.Several:
		c.Doubt(severalQPs)
	case *spoken != f:
		c.Failf(sender(s), "%v is of the %s opcodes, other messages of the QP are of %s", o, f, *spoken)
	}
}

// family is a set of opcodes: those of a class, except for two. A connection uses CNP, RC, LoWAR, which is a shim below
// any transport, and one of the others.
type family uint8

const (
	reserved     family = 0
	reliable     family = 1 + family(roce.ClassRC)
	unreliable   family = 1 + family(roce.ClassUC)
	datagram     family = 1 + family(roce.ClassUD)
	notification family = 1 + family(roce.ClassCNP)
	lowar        family = 254
	goBackOne    family = 255
)

// familyOf returns the set that o belongs to.
func familyOf(o roce.Opcode) family {
	switch {
	case !o.Known():
		return reserved
	case o == roce.LoWAR:
		return lowar
	case o == roce.RACK:
		return goBackOne
	}
	return 1 + family(o.Class())
}

// String returns the name of the family.
func (f family) String() string {
	switch f {
	case goBackOne:
		return "Go-Back-ONE"
	case 1 + family(roce.ClassX):
		return "IRN"
	case 1 + family(roce.ClassF):
		return "FaSR"
	}
	return roce.Class(f - 1).String()
}
