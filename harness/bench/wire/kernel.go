package wire

import (
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/injector"
)

// Dialect describes RoCEv2 to the injector in the kernel, which then finds the identity that Classifier does. It cannot
// read iWARP, whose packets it counts as unread.
func Dialect(s *scenario.Spec) injector.Dialect {
	c := NewClassifier(s)
	d := injector.Dialect{Port: roce.Port, Others: roce.PortIWARP, Malformed: malformed, Reserved: roce.CMQueuePair,
		QPs: uint32(c.qps)}
	for side := range c.first {
		d.First[side], d.Start[side] = c.first[side], uint32(c.start[side])
	}
	for code := range 256 {
		d.Kinds[code] = kindOf(roce.Opcode(code))
	}
	d.Kinds[roce.LoWAR] = injector.Kind{Sub: true}
	for t := range roce.RepairFeedback + 1 {
		d.Kinds[256+int(t)] = repairKind(t)
	}
	return d
}

// kindOf describes the packets with an opcode; the result is empty for an unknown one.
func kindOf(o roce.Opcode) injector.Kind {
	if !o.Known() {
		return injector.Kind{}
	}
	p := roce.Packet{}
	p.Opcode = o
	answers := class(&p) == fault.ACK && o.Layout()&roce.LayoutAETH != 0
	return injector.Kind{Name: p.Name(), Class: class(&p), Status: answers, Back: p.ToRequester(),
		Setup:  o.IsRequest() && o.Class() != roce.ClassRC,
		Header: uint8(o.HeaderLen()), Payload: o.HasPayload(), Words: true, Shape: injector.Shape{QP: 4, Number: 8}}
}

// repairKind describes the packets of LoWAR of one type. The two types that describe a block are numbered by its first
// packet; feedback is sent towards the sender of the data, which is the responder if the data are READ responses.
func repairKind(t roce.RepairType) injector.Kind {
	p := roce.Packet{Repair: roce.Repair{Type: t}}
	p.Opcode = roce.LoWAR
	l := p.Layout()
	k := injector.Kind{Name: p.Name(), Class: class(&p), Back: p.ToRequester(), Turns: true, Header: uint8(l.Len()),
		Payload: l&roce.LayoutPayload != 0}
	if l&roce.LayoutBlock != 0 {
		k.Shape.Number = uint8((l & (roce.LayoutBlock - 1)).Len())
	}
	if l&roce.LayoutXOR != 0 {
		k.Shape.Length = uint8((l & (roce.LayoutXOR - 1)).Len()) + 2
	}
	return k
}
