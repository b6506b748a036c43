package injector

import (
	"errors"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// The kinds of packets that a Dialect can tell apart.
const (
	byCode    = 256 // by the first byte behind the UDP header
	bySubCode = 4   // of one of those, by a second byte
	kindCount = byCode + bySubCode
	malformed = kindCount // what does not read as any of them
)

// Dialect says where a UDP datagram over IPv4 tells which packet it is. It is data, so that the program can be made
// without knowing the protocol. Offsets count from behind the UDP header.
type Dialect struct {
	Port      uint16          // UDP destination port
	Others    uint16          // UDP or TCP port of a protocol that shares the link and has no place here; 0 is none
	Kinds     [kindCount]Kind // by the first byte; those with a second byte follow from Sub on
	Malformed string          // the type of a frame that does not read as any
	First     [2]uint32       // the number of connection 0 at side A and at B; the others follow
	Start     [2]uint32       // the PSN from which offsets count, by the side whose requests they belong to
	QPs       uint32          // connections
	Reserved  uint32          // the number of a QP that belongs to no connection
}

// Kind is what packets with one code have in common.
type Kind struct {
	Name   string      // the type in fault scripts; empty is a code that nobody knows
	Class  fault.Class // of those with Status, that of a positive answer
	Status bool        // the byte at StatusAt tells ACK, NAK and RNR apart by its upper three bits
	Back   bool        // of an answer: its PSN is one of the side that receives it
	Turns  bool        // the bits TurnMask of the byte at TurnAt, when set, say the opposite of Back
	Setup  bool        // to the reserved QP it is of class CM
	Sub    bool        // the kind is that of the byte at SubAt

	Header  uint8 // bytes before the payload
	Payload bool  // bytes may follow the header
	// what follows is whole words, of which bits 4 and 5 of the second byte say how many bytes are padding
	Words bool
	Shape Shape
}

// StatusAt, SubAt and TurnAt are where a packet has its status, its second code, and what turns its direction.
const (
	StatusAt = 12
	SubAt    = 4
	TurnAt   = 5
	TurnMask = 2
)

// trailer is the checksum behind the payload, in bytes.
const trailer = 4

// Shape is where packets have their numbers: each is the lower 24 bits of a word.
type Shape struct {
	QP     uint8 // the word with the destination QP
	Number uint8 // the word with the PSN; 0 is none, and the number is zero
	Length uint8 // half a word with the length of the payload, to be right in a packet that is well-formed; 0 is none
}

// headMost bounds where a Shape and a status may lie: the program reads so much of a packet behind the UDP header.
const headMost = 36

// validate checks what the program relies on.
func (d *Dialect) validate() error {
	if d.Port == 0 || d.QPs == 0 || d.Malformed == "" {
		return errors.New("injector: dialect without port, connections or a name for malformed frames")
	}
	for i, k := range d.Kinds {
		if s := k.Shape; k.Name != "" && (s.QP%4 != 0 || s.Number%4 != 0 || s.Length%2 != 0 || max(s.QP, s.Number,
			s.Length) > headMost-4) {
			return fmt.Errorf("injector: dialect: kind %d, %s: numbers lie within %d bytes, words at multiples of 4",
				i, k.Name, headMost)
		}
	}
	return nil
}

// shapes lists those of all kinds, each once, and which one each kind has.
func (d *Dialect) shapes() (list []Shape, of [kindCount]uint8) {
	index := map[Shape]int{}
	for i, k := range d.Kinds {
		if k.Name == "" {
			continue
		}
		n, ok := index[k.Shape]
		if !ok {
			n = len(list)
			index[k.Shape], list = n, append(list, k.Shape)
		}
		of[i] = uint8(n)
	}
	return list, of
}

// named lists the kinds of a type, malformed frames included.
func (d *Dialect) named(name string) (list []int) {
	for i, k := range d.Kinds {
		if k.Name == name {
			list = append(list, i)
		}
	}
	if name == d.Malformed {
		list = append(list, malformed)
	}
	return list
}

// knows reports whether any frame can be of a type.
func (d *Dialect) knows(name string) bool {
	_, class := classes[fault.Class(name)]
	return class || len(d.named(name)) > 0
}

// classes are the numbers of classes in the program; a frame without one has zero.
var classes = map[fault.Class]int32{
	"": 0, fault.Data: 1, fault.ACK: 2, fault.NAK: 3, fault.RNR: 4, fault.ReadResponse: 5, fault.CM: 6, fault.FEC: 7,
}
