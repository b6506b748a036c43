package remote

import (
	"encoding/binary"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// echoes measure how long a host that computes its device's transport in its kernel, or this machine, may have
// processed no frames. That kernel answers ICMP echo requests where it takes RoCEv2 from the cable: a delay of one is a
// delay of the other. Each request follows the answer to the previous one, so that no answer is late because there were
// too many requests.
//
// A delay counts if a packet of the run passes after it, or if no answer ends it. A tool may need seconds to end after
// its last packet, and a delay in that time has delayed nothing.
type echoes struct {
	request *request       // nil when no requests are sent
	next    vtime.Time     // time of the next request; of its repetition while an answer is missing
	asked   bool           // a request has not been answered
	since   vtime.Time     // time of the latest answer, or of the first request
	longest vtime.Duration // longest time between two answers that counts
	quiet   vtime.Duration // longest time between two answers since the last packet
	answers int
}

const (
	echoRest  = vtime.Millisecond      // from an answer to the next request
	echoAgain = 50 * vtime.Millisecond // from a request to its repetition
)

// Offsets in a frame of ICMP over IPv4.
const (
	atICMP      = 14 + 20
	atICMPOrder = atICMP + 6
)

// request builds the frames of requests, each with another sequence number.
type request struct {
	ether layers.Ethernet
	ip    layers.IPv4
	icmp  layers.ICMPv4
	frame gopacket.SerializeBuffer
}

// newEchoes returns the echoes to a device, sent with the addresses of its peer.
func newEchoes(device trace.Side, macs pair) echoes {
	return echoes{request: &request{
		ether: layers.Ethernet{SrcMAC: macs.Peer[:], DstMAC: macs.Device[:], EthernetType: layers.EthernetTypeIPv4},
		ip: layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolICMPv4,
			SrcIP: drive.Addr(device.Other()).AsSlice(), DstIP: drive.Addr(device).AsSlice()},
		icmp:  layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoRequest, 0)},
		frame: gopacket.NewSerializeBuffer(),
	}}
}

// next returns the next request, which is valid until the following call.
func (r *request) next() ([]byte, error) {
	const shortest = 46 - 20 - 8 // payload of a frame that needs no padding
	r.icmp.Seq++
	err := gopacket.SerializeLayers(r.frame, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&r.ether, &r.ip, &r.icmp, gopacket.Payload(make([]byte, shortest)))
	return r.frame.Bytes(), err
}

// begin starts the measurement.
func (e *echoes) begin(now vtime.Time) { e.since, e.next = now, now }

// due returns the request that is due, nil when there is none.
func (e *echoes) due(now vtime.Time) ([]byte, error) {
	if e.request == nil || now < e.next {
		return nil, nil
	}
	e.next, e.asked = now.Add(echoAgain), true
	return e.request.next()
}

// hear processes a frame from the device, which may be the answer to the latest request.
func (e *echoes) hear(frame []byte, now vtime.Time) {
	if !e.asked || len(frame) < atICMPOrder+2 || frame[atProtocol] != byte(layers.IPProtocolICMPv4) ||
		frame[atICMP] != layers.ICMPv4TypeEchoReply ||
		binary.BigEndian.Uint16(frame[atType:]) != 0x0800 || binary.BigEndian.Uint16(frame[atICMPOrder:]) !=
		e.request.icmp.Seq {
		return
	}
	e.quiet = max(e.quiet, now.Sub(e.since))
	e.answers, e.since, e.next, e.asked = e.answers+1, now, now.Add(echoRest), false
}

// passed accounts for the delays before a packet of the run, which may have delayed it.
func (e *echoes) passed(now vtime.Time) {
	e.end(now)
	e.longest, e.quiet = max(e.longest, e.quiet), 0
}

// end accounts for the time since the latest answer.
func (e *echoes) end(now vtime.Time) { e.longest = max(e.longest, now.Sub(e.since)) }
