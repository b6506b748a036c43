package trace

import "github.com/rdma-gauntlet/gauntlet/harness/roce"

// Decode sets the fields of r that follow from Raw: Packet, Sum, ICRC, WireBytes and Defect. It decodes into f, which
// also gets the headers below the packet.
func (r *Record) Decode(f *roce.Frame) {
	r.decode(f)
	sum, sealed := f.Sums(r.Raw)
	r.Sum, r.ICRC = sum, Good
	switch {
	case f.Packet.Opcode == roce.UDP:
		r.ICRC = Unchecked
	case sealed, f.Packet.Opcode == roce.TCP && roce.TCPChecksumOK(r.Raw):
	case f.Packet.Opcode == roce.LoWAR && f.DecodeReserved(r.Raw):
		r.Packet, r.Sum, r.Defect = f.Packet, 0, reserved
	default:
		r.ICRC = Bad
	}
}

// reserved is the defect of a frame whose opcode is reserved.
var reserved = "opcode: " + roce.ErrUnknownOpcode.Error()

// Reserved reports whether the frame has the opcode of LoWAR and was decoded as a frame of a sender for which that
// opcode is reserved.
func (r *Record) Reserved() bool { return r.Packet.Opcode == roce.LoWAR && r.Defect == reserved }

// DecodeRepair is Decode of a Reserved frame as a LoWAR packet, whose ICRC is wrong.
func (r *Record) DecodeRepair(f *roce.Frame) {
	r.decode(f)
	r.Sum, _ = f.Sums(r.Raw)
	r.ICRC = Bad
}

// DecodeSound is Decode of a frame whose ICRC is known to be right, with the CRC-32 of its payload.
func (r *Record) DecodeSound(f *roce.Frame, sum uint32) {
	r.decode(f)
	r.Sum, r.ICRC = sum, Good
}

// decode is Decode without checksums.
func (r *Record) decode(f *roce.Frame) {
	r.Defect = ""
	if err := f.DecodeAny(r.Raw); err != nil {
		r.Defect = err.Error()
	}
	r.Packet = f.Packet
	r.WireBytes = max(len(r.Raw)+4, 64) + 20
}
