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

// Frame returns the layer-1 bytes of a message of so many bytes: one frame of payload and overhead for each packet.
// It is the paper's "Total Frame Size" for a message of one packet, and the unit that a queue entry puts in flight for
// a longer one, because a queue is counted in messages. With MTU 4096 one frame has the paper's 4178 bytes: RETH and
// AETH are left out, as there.
func Frame(message uint32, mtu int) int {
	q := engine.QP{MTU: mtu}
	return q.LineBytes(message)
}

// Depth is how many work requests must be outstanding for an RTT's worth of line to be in flight:
//
//	"QD = RTT * Line Speed / Total Frame Size" (NTT 4.1)
//
// with the RTT in seconds, the line speed in bit/s and the frame in bytes of 8 bits. Floor is the number that the paper
// prints ("about 2991" at 1 ms, 100 Gb/s, 4178 bytes), Ceil the next whole one.
//
// A message is outstanding for longer than an RTT: it has to be sent, and to be acknowledged. Busy counts that too, and
// keeps the line busy whatever the message is long. To the paper's 2992 it adds one; where a message fills the path, it
// is two for one.
type Depth struct{ Floor, Ceil, Busy int }

// answerBytes is the longest packet at layer 1 that a message waits for in the other direction: a READ request. An
// acknowledgement has 12 bytes less.
const answerBytes = 98

// errDepth says that a depth does not fit the work-request counters of any device.
var errDepth = errors.New("openapn: the depth is above 2^31: check RTT, rate and frame")

// DepthOf computes the depth exactly, in integers. It rejects a path of no length and a line without a rate: there the
// formula has no meaning.
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
	flying, part := bits.Div64(hi, lo, second) // bits in flight, rounded down, and what that leaves
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
	d.Busy = int(q) + 1 + int((left+answerBytes*byteBits+per-1)/per) // flying, sent, and what the rest comes to
	return d, nil
}

// Throughput returns the payload rate that so many outstanding messages sustain on a loss-free path:
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

// entryBytes is what a work-queue entry of a SmartNIC occupies: one 64-byte stride, which a WRITE with one address
// fits.
const entryBytes = 64

// Memory returns what a queue of so many entries occupies in work-queue entries at the sender, and, for SENDs, what the
// receiver must have posted so that none of them meets an empty receive queue.
func Memory(depth int, message uint32) (ring, receives unit.Size) {
	return unit.Size(depth) * entryBytes, unit.Size(depth) * (entryBytes/4 + unit.Size(message))
}
