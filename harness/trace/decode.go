package trace

import (
	"hash/crc32"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// Decode fills in what Raw shows: the packet, its payload's checksum, its ICRC, its length at layer 1, and why it does
// not decode. It returns the headers below the packet.
func (r *Record) Decode() roce.Frame {
	f := r.DecodeSound()
	switch {
	case f.Packet.Opcode == roce.UDP:
		r.ICRC = Unchecked
	case f.Packet.Opcode == roce.TCP && roce.TCPChecksumOK(r.Raw), roce.CheckICRC(r.Raw):
	case f.Packet.Opcode == roce.LoWAR && f.DecodeReserved(r.Raw):
		r.Packet, r.Sum, r.Defect = f.Packet, 0, "opcode: "+roce.ErrUnknownOpcode.Error()
	default:
		r.ICRC = Bad
	}
	return f
}

// DecodeSound is Decode of a frame whose ICRC is known to be right.
func (r *Record) DecodeSound() roce.Frame {
	var f roce.Frame
	r.Defect = ""
	if err := f.DecodeAny(r.Raw); err != nil {
		r.Defect = err.Error()
	}
	r.Packet = f.Packet
	r.Sum = payloadSum(r.Packet.Payload)
	r.WireBytes = max(len(r.Raw)+4, 64) + 20
	r.ICRC = Good
	return f
}

// payloadSum is Record.Sum of a payload: its CRC-32, and zero when there is none.
func payloadSum(b []byte) uint32 {
	if len(b) == 0 {
		return 0
	}
	return crc32.ChecksumIEEE(b)
}
