package tap

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// news knows the newest PSN of each QP that a frame was for. Requests that are sent again, and answers to them, have
// older ones.
type news struct{ newest map[uint32]psn.PSN }

// mostQPs bounds the QPs of which the newest PSN is known; frames for others count as repetitions.
const mostQPs = 1 << 14

// managed is the QP of connection management, which repeats messages with new PSNs.
const managed = 1

// hear reports whether the PSN of a frame is newer than all before it for its QP. Frames of other kinds are not: their
// progress is that of the endpoints, which report it.
func (n *news) hear(frame []byte) bool {
	toQP, ok := field(frame, "destqp")
	number, has := field(frame, "psn")
	if !ok || !has || toQP == managed {
		return false
	}
	at := psn.New(number)
	newest, known := n.newest[toQP]
	switch {
	case known && !newest.Less(at), !known && len(n.newest) >= mostQPs:
		return false
	case n.newest == nil:
		n.newest = map[uint32]psn.PSN{}
	}
	n.newest[toQP] = at
	return true
}

// field returns a field of three bytes of a frame; ok is false for a frame without it.
func field(frame []byte, name string) (value uint32, ok bool) {
	off, _, ok := roce.FieldSpan(frame, name)
	if !ok {
		return 0, false
	}
	b := frame[off:]
	return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]), true
}
