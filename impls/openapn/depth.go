package openapn

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Frame returns the layer-1 bytes of a message: payload and overhead of all its packets. For a message of one packet
// this is the paper's "Total Frame Size". For a longer message it is the number of bytes that one queue entry puts in
// flight, because a queue counts messages. With MTU 4096 one frame has the paper's 4178 bytes: RETH and AETH are left
// out, as there.
func Frame(message uint32, mtu int) int {
	q := engine.QP{MTU: mtu}
	return q.LineBytes(message)
}

// Depth is the number of outstanding work requests that keeps an RTT of line rate in flight:
//
//	"QD = RTT * Line Speed / Total Frame Size" (NTT 4.1)
//
// with the RTT in seconds, the line speed in bit/s and the frame in bytes of 8 bits. Floor is rounded down, the number
// that the paper prints ("about 2991" at 1 ms, 100 Gb/s, 4178 bytes), and Ceil is rounded up.
//
// A message is outstanding for longer than an RTT, by its own transmission time and that of its acknowledgement. Busy
// includes both and keeps the line busy at any message length. For the paper's path it is Ceil + 1; for a message that
// fills the path it is 2 where Ceil is 1.
type Depth struct{ Floor, Ceil, Busy int }

// answerBytes is the layer-1 length of the longest packet that the other direction needs for a message: a READ request.
// An acknowledgement is 12 bytes shorter.
const answerBytes = 98

// errDepth reports a depth that exceeds the work-request counters of any device.
var errDepth = errors.New("openapn: the depth is above 2^31: check RTT, rate and frame")

// DepthOf computes the depth exactly, in integers. It rejects a path without delay and a line without a rate, for which
// the formula has no meaning.
func DepthOf(rtt vtime.Duration, rate unit.Rate, frame int) (Depth, error) {
	switch {
	case rtt <= 0:
		return Depth{}, fmt.Errorf("openapn: RTT %s: want more than 0; the depth of a path without delay is 1", rtt)
	case rate <= 0:
		return Depth{}, fmt.Errorf(
			"openapn: rate %s: want a limited line, such as 100G; an unlimited one has no depth", rate)
	case frame <= 0:
		return Depth{}, fmt.Errorf("openapn: frame of %d bytes: want more than 0", frame)
	}
	const second, byteBits = uint64(vtime.Second), 8
	hi, lo := bits.Mul64(uint64(rtt), uint64(rate))
	if uint64(frame) > math.MaxUint64/byteBits || hi >= second {
		return Depth{}, errDepth
	}
	flying, part := bits.Div64(hi, lo, second) // bits in flight, rounded down, and the remainder
	per := uint64(frame) * byteBits
	q := flying / per
	if q >= 1<<31 {
		return Depth{}, errDepth
	}
	d := Depth{Floor: int(q), Ceil: int(q)}
	left := flying % per
	if part > 0 {
		left++ // a part of a bit counts as one
	}
	if left > 0 {
		d.Ceil++
	}
	// whole messages in flight, one being sent, and the remainder with the acknowledgement
	d.Busy = int(q) + 1 + int((left+answerBytes*byteBits+per-1)/per)
	return d, nil
}

// Throughput returns the payload rate that depth outstanding messages sustain on a loss-free path:
//
//	depth messages per (RTT + serialisation of one), and never more than the line carries (NTT 2.2)
//
// because the sender stalls until the acknowledgement of the oldest message comes back.
func Throughput(depth int, rtt vtime.Duration, rate unit.Rate, message uint32, mtu int) unit.Rate {
	frame := Frame(message, mtu)
	line := float64(rate) * float64(message) / float64(frame)
	if cycle := rtt + rate.Time(frame); cycle > 0 {
		stalled := float64(depth) * float64(message) * 8 / (float64(cycle) / float64(vtime.Second))
		line = min(line, stalled)
	}
	return unit.Rate(line + 0.5)
}

// entryBytes is the size of a work-queue entry of a SmartNIC: one 64-byte stride, enough for a WRITE with one address.
const entryBytes = 64

// Memory returns the bytes of the work-queue entries of a queue of that depth at the sender, and, for SENDs, the bytes
// of receives that the receiver must post so that no SEND meets an empty receive queue.
func Memory(depth int, message uint32) (ring, receives unit.Size) {
	return unit.Size(depth) * entryBytes, unit.Size(depth) * (entryBytes/4 + unit.Size(message))
}
