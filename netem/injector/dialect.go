package injector

import (
	"errors"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// The kinds of packets that a Dialect distinguishes.
const (
	byCode    = 256 // by the first byte after the UDP header
	bySubCode = 4   // by a second byte, for one of these
	kindCount = byCode + bySubCode
	malformed = kindCount // any frame that is none of them
)

// Dialect says how to identify a packet in a UDP datagram over IPv4. It is data, so that the program can be built
// without knowledge of the protocol. Offsets count from the end of the UDP header.
type Dialect struct {
	Port      uint16          // UDP destination port
	Others    uint16          // UDP or TCP port of another protocol on the link, which is not identified; 0 is none
	Kinds     [kindCount]Kind // by the first byte; the kinds with a second byte are those from byCode on
	Malformed string          // type of a malformed frame
	First     [2]uint32       // QP number of connection 0 at side A and at B; the others follow
	Start     [2]uint32       // PSN from which offsets count, by the side whose requests they belong to
	QPs       uint32          // number of connections
	Reserved  uint32          // number of a QP that belongs to no connection
}

// Kind describes the packets with one code.
type Kind struct {
	Name   string      // type in fault scripts; empty for an unknown code
	Class  fault.Class // class; with Status the class of a positive answer
	Status bool        // the upper three bits of the byte at StatusAt distinguish ACK, NAK and RNR
	Back   bool        // an answer: its PSN is one of the side that receives it
	Turns  bool        // when the bits TurnMask of the byte at TurnAt are set, the opposite of Back applies
	Setup  bool        // packets to the reserved QP have the class CM
	Sub    bool        // the byte at SubAt determines the kind

	Header  uint8 // length of the header in bytes
	Payload bool  // bytes may follow the header
	// The payload is padded to whole words; bits 4 and 5 of the second byte are the number of padding bytes.
	Words bool
	Shape Shape
}

// Offsets of the status and of the second code, and offset and mask of the bits that turn the direction.
const (
	StatusAt = 12
	SubAt    = 4
	TurnAt   = 5
	TurnMask = 2
)

// trailer is the length of the checksum after the payload, in bytes.
const trailer = 4

// Shape gives the offsets of the numbers in a packet. QP and PSN are the lower 24 bits of a word.
type Shape struct {
	QP     uint8 // word with the destination QP
	Number uint8 // word with the PSN; 0 is none, and the PSN is taken as zero
	Length uint8 // half word with the length of the payload, which must be right in a well-formed packet; 0 is none
}

// headMost bounds the offsets of a Shape and of the status: the program reads this many bytes after the UDP header.
const headMost = 36

// validate checks the properties on which the program relies.
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

// shapes lists the distinct shapes, and returns the index of each kind's shape.
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

// named lists the kinds of a type, including malformed.
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

// knows reports whether a frame can have a type.
func (d *Dialect) knows(name string) bool {
	_, class := classes[fault.Class(name)]
	return class || len(d.named(name)) > 0
}

// classes maps classes to their numbers in the program; a frame without a class has zero.
var classes = map[fault.Class]int32{
	"": 0, fault.Data: 1, fault.ACK: 2, fault.NAK: 3, fault.RNR: 4, fault.ReadResponse: 5, fault.CM: 6, fault.FEC: 7,
}
