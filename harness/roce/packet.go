// Package roce is the RoCEv2 wire format: base and extended transport headers, opcodes, addresses, the invariant CRC,
// and a one-line text form of a packet.
//
// A Packet is what a transport engine produces and consumes. A Frame is a Packet with the Ethernet, IP and UDP headers
// around it. Sources: IBTA Vol 1 chapter 9, annex A17 (RoCEv2); the extension opcodes are this project's own.
package roce

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// Port is the UDP destination port of every RoCEv2 packet (IBTA annex A17).
const Port = 4791

// DefaultPKey is the full-member default partition key.
const DefaultPKey = 0xFFFF

// BTH is the base transport header, 12 bytes on the wire (IBTA 9.2).
type BTH struct {
	Opcode Opcode
	SE     bool    // solicited event
	Mig    bool    // migration state
	AckReq bool    // an acknowledgement is requested
	FECN   bool    // forward congestion notification
	BECN   bool    // backward congestion notification
	Pad    uint8   // bytes of padding after the payload, 0 to 3; for the encoder 0 means as many as the payload needs
	TVer   uint8   // transport header version, 0
	Resv6  uint8   // the six reserved bits beside FECN and BECN
	Resv7  uint8   // the seven reserved bits beside AckReq
	PKey   uint16  // partition key
	DestQP uint32  // 24-bit number of the destination QP
	PSN    psn.PSN // packet sequence number
}

// RETH is the RDMA extended header, 16 bytes: the remote memory of an RDMA operation (IBTA 9.3.3).
type RETH struct {
	VA     uint64 // remote virtual address
	RKey   uint32 // remote key
	DMALen uint32 // length of the whole operation in bytes
}

// AETH is the acknowledgement extended header, 4 bytes (IBTA 9.3.5).
type AETH struct {
	Syndrome Syndrome
	MSN      psn.MSN // requests completed by the responder
}

// AtomicETH is the atomic extended header, 28 bytes (IBTA 9.3.6). The address and key of an atomic are in Packet.RETH.
type AtomicETH struct {
	SwapAdd uint64 // the value to swap in, or to add
	Compare uint64 // the value to compare with; unused by FETCH_ADD
}

// DETH is the datagram extended header, 8 bytes (IBTA 9.3.2).
type DETH struct {
	QKey  uint32
	SrcQP uint32 // 24 bits
}

// SACKETH is the selective-acknowledgement header of the extension opcodes, 4 bytes.
type SACKETH struct {
	PSN     psn.PSN // the packet that this acknowledgement names in addition to the cumulative PSN
	LostCnt uint8   // FaSR's lost-cnt, 3 bits; zero in other protocols
}

// IP holds the fields of the IPv4 header by which a packet of another transport is a fragment of a datagram (RFC 791).
type IP struct {
	ID       uint16 // identification, the same in all fragments of a datagram
	Fragment Fragment
}

// Fragment is the position of a packet in its datagram, encoded as in the IPv4 header; zero is an unfragmented
// datagram.
type Fragment uint16

const (
	moreFragments  Fragment = 0x2000
	fragmentOffset Fragment = 0x1FFF
)

// NewFragment returns the fragment that begins off bytes into its datagram, a multiple of 8 below 65536.
func NewFragment(off int, more bool) Fragment {
	f := Fragment(off>>3) & fragmentOffset
	if more {
		f |= moreFragments
	}
	return f
}

// Offset returns the offset of the fragment in its datagram, in bytes.
func (f Fragment) Offset() int { return int(f&fragmentOffset) << 3 }

// More reports whether more fragments of the datagram follow.
func (f Fragment) More() bool { return f&moreFragments != 0 }

// Whole reports a packet that is not fragmented.
func (f Fragment) Whole() bool { return f == 0 }

// First reports a fragment that begins its datagram, or a whole datagram: such a packet has the ports.
func (f Fragment) First() bool { return f&fragmentOffset == 0 }

// SOETH is the sequence-and-offset header of the extension opcodes, 8 bytes: with it a SEND packet can be placed out of
// order.
type SOETH struct {
	SN     uint32 // 24-bit message or WQE sequence number
	Offset uint32 // byte offset of this packet in its message
}

// Packet is one transport packet: the BTH, the extended headers that its opcode calls for, and the payload. Fields of
// headers that the opcode does not call for are ignored by the encoder and left zero by the decoder.
//
// Payload refers to memory of the sender or of the decoded frame and is never copied on the way; whoever keeps it
// beyond a call must copy it. Large virtual-time runs carry no bytes: Payload is then nil and Len alone gives the
// length.
type Packet struct {
	BTH
	RETH    RETH // READ, WRITE FIRST and ONLY, atomics (VA and RKey); only VA where the layout has a VAETH
	AETH    AETH
	Atomic  AtomicETH
	Result  uint64 // AtomicAckETH: the value before the atomic operation
	Imm     uint32 // ImmDt
	InvKey  uint32 // IETH: the R_Key to invalidate
	Flush   uint32 // FETH: placement type in bits 3:0, selectivity level in bits 5:4 (IBTA annex A19)
	DETH    DETH
	SACK    SACKETH
	SO      SOETH
	IP      IP     // UDP and TCP only
	Repair  Repair // LoWAR: all but the first word of the header
	Payload []byte
	Len     int // payload bytes, padding excluded; equals len(Payload) when Payload is not nil
}

// Syndrome is the first byte of an AETH: what kind of acknowledgement it is (IBTA 9.3.5, table 43).
type Syndrome uint8

// The syndromes an engine sends. An RNR NAK is SyndromeRNR plus a timer code of five bits.
const (
	SyndromeACK          Syndrome = 0x1F // ACK without credit information
	SyndromeRNR          Syndrome = 0x20
	SyndromePSNSeqErr    Syndrome = 0x60
	SyndromeInvalidReq   Syndrome = 0x61
	SyndromeRemoteAccess Syndrome = 0x62
	SyndromeRemoteOp     Syndrome = 0x63
	SyndromeInvalidRD    Syndrome = 0x64
)

// IsACK reports a positive acknowledgement: the top three bits are zero.
func (s Syndrome) IsACK() bool { return s>>5 == 0 }

// IsRNR reports a receiver-not-ready NAK.
func (s Syndrome) IsRNR() bool { return s>>5 == 1 }

// IsNAK reports a NAK with a code: sequence error, invalid request, access error, operational error.
func (s Syndrome) IsNAK() bool { return s>>5 == 3 }

// Timer returns the five-bit timer code of an RNR NAK.
func (s Syndrome) Timer() uint8 { return uint8(s & 0x1F) }
