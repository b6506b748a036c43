package remote

import (
	"encoding/binary"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// echoes measure for how long a host that computes its device's transport in its kernel, or this machine, may have been
// deaf. That kernel answers ICMP echo requests where it takes RoCEv2 from the cable: what holds one up holds the other
// up. The next request follows the answer to the one before, so no answer is late because there were too many.
type echoes struct {
	request *request       // nil where nobody asks
	next    vtime.Time     // when to ask: again, where an answer is missing
	asked   bool           // and not answered
	since   vtime.Time     // the latest answer, or the first request
	longest vtime.Duration // between two answers
	answers int
}

const (
	echoRest  = vtime.Millisecond      // between an answer and the next request
	echoAgain = 50 * vtime.Millisecond // when a request is taken for lost
)

// Where a frame of ICMP over IPv4 has what is looked at.
const (
	atICMP      = 14 + 20
	atICMPOrder = atICMP + 6
)

// request makes the frames of requests, each with another number.
type request struct {
	ether layers.Ethernet
	ip    layers.IPv4
	icmp  layers.ICMPv4
	frame gopacket.SerializeBuffer
}

// newEchoes asks a device at a side in the name of its peer.
func newEchoes(device trace.Side, macs pair) echoes {
	return echoes{request: &request{
		ether: layers.Ethernet{SrcMAC: macs.Peer[:], DstMAC: macs.Device[:], EthernetType: layers.EthernetTypeIPv4},
		ip: layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolICMPv4,
			SrcIP: drive.Addr(device.Other()).AsSlice(), DstIP: drive.Addr(device).AsSlice()},
		icmp:  layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoRequest, 0)},
		frame: gopacket.NewSerializeBuffer(),
	}}
}

// next returns the next request, which is valid until the one behind it.
func (r *request) next() ([]byte, error) {
	const shortest = 46 - 20 - 8 // of the payload of a frame that needs no padding
	r.icmp.Seq++
	err := gopacket.SerializeLayers(r.frame, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&r.ether, &r.ip, &r.icmp, gopacket.Payload(make([]byte, shortest)))
	return r.frame.Bytes(), err
}

// begin begins to ask.
func (e *echoes) begin(now vtime.Time) { e.since, e.next = now, now }

// due returns the request that is due; nil when none is.
func (e *echoes) due(now vtime.Time) ([]byte, error) {
	if e.request == nil || now < e.next {
		return nil, nil
	}
	e.next, e.asked = now.Add(echoAgain), true
	return e.request.next()
}

// hear takes a frame from the device, which may be the answer to the latest request.
func (e *echoes) hear(frame []byte, now vtime.Time) {
	if !e.asked || len(frame) < atICMPOrder+2 || frame[atProtocol] != byte(layers.IPProtocolICMPv4) ||
		frame[atICMP] != layers.ICMPv4TypeEchoReply ||
		binary.BigEndian.Uint16(frame[atType:]) != 0x0800 || binary.BigEndian.Uint16(frame[atICMPOrder:]) !=
		e.request.icmp.Seq {
		return
	}
	e.end(now)
	e.answers, e.since, e.next, e.asked = e.answers+1, now, now.Add(echoRest), false
}

// end looks at the time since the latest answer.
func (e *echoes) end(now vtime.Time) { e.longest = max(e.longest, now.Sub(e.since)) }
