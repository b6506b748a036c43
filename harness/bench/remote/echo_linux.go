package remote

import (
	"encoding/binary"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// echoes measure for how long a host that computes its device's transport in its kernel, or this machine, may have been deaf. That kernel
// answers ICMP echo requests where it takes RoCEv2 from the cable: what holds one up holds the other up. The next request follows the
// answer to the one before, so no answer is late because there were too many.
type echoes struct {
	request  []byte     // a frame; nil where nobody asks
	next     vtime.Time // when to ask: again, where an answer is missing
	sequence uint16
	asked    bool           // and not answered
	since    vtime.Time     // the latest answer, or the first request
	longest  vtime.Duration // between two answers
	answers  int
}

const (
	echoRest  = vtime.Millisecond      // between an answer and the next request
	echoAgain = 50 * vtime.Millisecond // when a request is taken for lost
)

// Where a frame of ICMP over IPv4 has what is looked at, and what is there.
const (
	atICMP      = 14 + 20
	atICMPCheck = atICMP + 2
	atICMPOrder = atICMP + 6
	echoLength  = 60 // of the shortest frame
	protoICMP   = 1
	echoReply   = 0
	echoAsk     = 8
)

// newEchoes asks a device at a side in the name of its peer.
func newEchoes(device trace.Side, macs pair) echoes {
	own, peer := drive.Addr(device).As4(), drive.Addr(device.Other()).As4()
	f := slices.Concat(macs.device[:], macs.peer[:], []byte{0x08, 0x00, 0x45, 0, 0, echoLength - 14, 0, 0, 0, 0, 64, protoICMP, 0, 0}, peer[:], own[:])
	binary.BigEndian.PutUint16(f[14+10:], checksum(f[14:]))
	f = append(f, make([]byte, echoLength-len(f))...)
	f[atICMP] = echoAsk
	return echoes{request: f}
}

// begin begins to ask.
func (e *echoes) begin(now vtime.Time) { e.since, e.next = now, now }

// due returns the request that is due; nil when none is.
func (e *echoes) due(now vtime.Time) []byte {
	if e.request == nil || now < e.next {
		return nil
	}
	e.next, e.asked = now.Add(echoAgain), true
	e.sequence++
	binary.BigEndian.PutUint16(e.request[atICMPOrder:], e.sequence)
	binary.BigEndian.PutUint16(e.request[atICMPCheck:], 0)
	binary.BigEndian.PutUint16(e.request[atICMPCheck:], checksum(e.request[atICMP:]))
	return e.request
}

// hear takes a frame from the device, which may be the answer to the latest request.
func (e *echoes) hear(frame []byte, now vtime.Time) {
	if !e.asked || len(frame) < atICMPOrder+2 || frame[atProtocol] != protoICMP || frame[atICMP] != echoReply ||
		binary.BigEndian.Uint16(frame[atType:]) != 0x0800 || binary.BigEndian.Uint16(frame[atICMPOrder:]) != e.sequence {
		return
	}
	e.end(now)
	e.answers, e.since, e.next, e.asked = e.answers+1, now, now.Add(echoRest), false
}

// end looks at the time since the latest answer.
func (e *echoes) end(now vtime.Time) { e.longest = max(e.longest, now.Sub(e.since)) }

// checksum is that of RFC 1071.
func checksum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xFFFF {
		sum = sum>>16 + sum&0xFFFF
	}
	return ^uint16(sum)
}
