package tap

import (
	"encoding/binary"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// news knows the newest PSN of each QP that a frame was for. Requests that are sent again, and answers to them, have
// older ones.
type news struct{ newest map[uint32]psn.PSN }

// mostQPs bounds the QPs of which the newest PSN is known; frames for others count as repetitions.
const mostQPs = 1 << 14

// Offsets in a frame of RoCEv2 over IPv4.
const (
	atPort   = 14 + 20 + 2
	atDestQP = 14 + 20 + 8 + 4
	atPSN    = atDestQP + 4
)

// managed is the QP of connection management, which repeats messages with new PSNs.
const managed = 1

// hear reports whether the PSN of a frame is newer than all before it for its QP. Frames of other kinds are not: their
// progress is that of the endpoints, which report it.
func (n *news) hear(frame []byte) bool {
	if len(frame) < atPSN+4 || binary.BigEndian.Uint16(frame[atPort:]) != roce.Port {
		return false
	}
	qp := binary.BigEndian.Uint32(frame[atDestQP:]) & psn.Mask
	at := psn.New(binary.BigEndian.Uint32(frame[atPSN:]))
	newest, known := n.newest[qp]
	switch {
	case qp == managed, known && !newest.Less(at), !known && len(n.newest) >= mostQPs:
		return false
	case n.newest == nil:
		n.newest = map[uint32]psn.PSN{}
	}
	n.newest[qp] = at
	return true
}
