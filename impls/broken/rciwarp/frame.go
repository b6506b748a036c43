package rciwarp

import (
	"encoding/binary"

	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/mpa"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// Offsets in an FPDU without markers.
const (
	stagAt = mpa.LengthLen + 2
	msnAt  = mpa.LengthLen + 10
	codeAt = mpa.LengthLen + iwarp.UntaggedLen + 1
)

// opcode returns the opcode of the segment in an FPDU without markers.
func opcode(fpdu []byte) iwarp.Opcode { return iwarp.Opcode(fpdu[mpa.LengthLen+1] & 15) }

// editor returns a frame hook that changes the FPDU in a frame. The engine sends one FPDU per TCP segment, so the data
// of a segment is an FPDU, unless it is a start-up frame.
func editor(change func(fpdu []byte), keepCRC bool) func([]byte) []byte {
	const least, magic = mpa.LengthLen + iwarp.TaggedLen + mpa.CRCLen, "MPA ID"
	return func(frame []byte) []byte {
		off, n, ok := roce.TCPData(frame)
		if !ok || n < least || string(frame[off:off+len(magic)]) == magic || !roce.TCPChecksumOK(frame) {
			return frame
		}
		frame = append([]byte(nil), frame...)
		fpdu := frame[off : off+n]
		change(fpdu)
		if !keepCRC {
			end := n - mpa.CRCLen
			binary.LittleEndian.PutUint32(fpdu[end:], iwarp.CRC(fpdu[:end]))
		}
		roce.MendTCP(frame)
		return frame
	}
}
