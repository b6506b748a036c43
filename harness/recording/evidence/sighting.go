package evidence

import (
	"encoding/binary"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/splitmix"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Sighting holds the fields of a frame from which the place of the tap is derived. Sightings are kept until the
// connections of the frames are known, so that the capture need not be read again.
type Sighting struct {
	At       vtime.Time
	Flow     int32 // number of its flow, which the keeper of the sightings gives; not used here
	PSN      psn.PSN
	SACK     psn.PSN // PSN that a selective acknowledgement names
	MSN      psn.MSN // of a LoWAR packet its type and ISN
	Length   uint32  // bytes that a READ requests; of a repair packet its Unit
	Payload  uint16  // length of the payload in bytes
	Port     uint16  // UDP source port
	ID       uint16  // IPv4 identification; 0 of IPv6
	Opcode   roce.Opcode
	Syndrome roce.Syndrome
	Way      capture.Direction
	Tap      trace.Side // A when unknown
	Mark     uint8      // hash of what a request asks for, without its PSN
	AckReq   bool
	Headed   bool // the capture kept all headers
	Sound    bool // the frame is not known to be damaged
}

// MarkOf returns the mark of a packet: equal for a request and its retransmission, and mostly different for another
// request.
func MarkOf(p *roce.Packet) uint8 {
	if !p.Opcode.IsRequest() {
		return 0
	}
	var begin [8]byte
	copy(begin[:], p.Payload)
	h := splitmix.Stream(p.RETH.VA ^ uint64(p.RETH.RKey)<<32).At(uint64(p.RETH.DMALen))
	h = splitmix.Stream(h ^ p.Atomic.SwapAdd).At(p.Atomic.Compare)
	return uint8(splitmix.Stream(h ^ binary.LittleEndian.Uint64(begin[:])).At(uint64(p.Opcode)<<32 | uint64(p.Len)))
}

// End is the connection of a frame and the end that sent it.
type End struct {
	Conn int32 // -1 for none
	From trace.Side
}

// span returns the number of PSNs of a request; exact is false for a READ when the MTU is unknown.
func span(h *trace.Header, s *Sighting, e End) (n int, exact bool) {
	if s.Opcode != roce.ReadRequest || s.Length <= uint32(roce.PathMTUs[0]) {
		return 1, true
	}
	mtu := h.Conns[e.Conn].Ends[e.From].QP.MTU
	if mtu == 0 {
		return 1, false
	}
	return min((int(s.Length)+mtu-1)/mtu, psn.Half/2), true
}
