// Package metrics measures a run from its trace only: a live run, a run folder and a foreign capture give the same
// numbers.
//
// Only packets count. A byte is delivered when the responder acknowledges it for the first time (READ data: when it
// arrives at the requester for the first time); a message lasts from the first transmission of its first packet to the
// arrival of the acknowledgement, or of the READ data, that completes it.
package metrics

import (
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Summary holds the numbers of one run over all its connections and both directions. A number that cannot be measured
// for lack of a tap is zero: with a single tap, losses; and where only responders were tapped, a request counts as sent
// when it arrives.
type Summary struct {
	GoodputBps float64 `json:"goodput_bps"` // payload delivered once, per second of Elapsed
	// layer-1 bits of data packets put on the link, retransmissions included, per second of Elapsed
	ThroughputBps float64 `json:"throughput_bps"`
	// goodput as a share of the line rate of the direction that carries it; 0 when unlimited
	Utilisation float64 `json:"utilisation"`
	// first packet sent to last byte delivered, or to the end of a timed run
	ElapsedNs int64 `json:"elapsed_ns"`
	// Jain's index of the goodputs of all connections and directions with requests; 0 for one
	Fairness     float64 `json:"fairness"`
	Messages     int64   `json:"messages"`      // completed
	PayloadBytes int64   `json:"payload_bytes"` // delivered once

	Packets int64 `json:"packets"` // all packets that both sides sent
	// packets with payload, or requests, first transmissions and others
	DataPackets   int64 `json:"data_packets"`
	Retransmitted int64 `json:"retransmitted_packets"` // data packets sent again
	// of those, sent although an earlier copy had arrived or was still to arrive
	Spurious int64 `json:"spurious_packets"`
	// lost on the link, for any reason, or made unreadable by it
	Lost           int64 `json:"lost_packets"`
	Acknowledges   int64 `json:"ack_packets"`         // positive acknowledgements sent
	NAKs           int64 `json:"nak_packets"`         // sequence NAKs sent
	RNRs           int64 `json:"rnr_packets"`         // RNR NAKs sent
	Timeouts       int64 `json:"timeouts"`            // transport timers that expired, as endpoints report them
	RetransmitByte int64 `json:"retransmitted_bytes"` // payload bytes sent again
	// from a lost request to when all that were lost are acknowledged; not over TCP
	Recoveries   int64 `json:"recoveries"`
	SingleLosses int64 `json:"single_losses"` // of those, with one lost request
	// from the first loss of a data packet to the first delivery of its PSN
	RecoveryNs Spread `json:"recovery_ns"`
	FCT        Spread `json:"fct_ns"` // flow completion time of a message

	Work Work `json:"work"`

	Slowdown *Slowdown `json:"slowdown,omitempty"` // of flows that arrive by the clock or vary in size; nil for others
}

// Spread describes a distribution of durations in nanoseconds; all zero when Count is.
type Spread struct {
	Count int64 `json:"count"`
	Mean  int64 `json:"mean"`
	Min   int64 `json:"min"`
	P50   int64 `json:"p50"`
	P95   int64 `json:"p95"`
	P99   int64 `json:"p99"`
	Max   int64 `json:"max"`
}

// Timeline is payload delivered per interval, over all connections. The last interval may be cut short by the end of
// the measurement, at Start plus Summary.ElapsedNs.
type Timeline struct {
	Start vtime.Time     `json:"start_ps"` // first packet sent
	Step  vtime.Duration `json:"step_ps"`
	Bytes []int64        `json:"bytes"`
}

// Mark is one dot of a sequence plot.
type Mark struct {
	At     vtime.Time `json:"at_ps"`
	Offset int64      `json:"offset"` // PSN counted from the first request, wraps undone
	Kind   MarkKind   `json:"kind"`
}

// MarkKind is the kind of a Mark.
type MarkKind uint8

// The kinds of Mark.
const (
	SentFirst MarkKind = iota // first transmission of a data packet that the link did not lose
	SentAgain                 // retransmission of one, likewise
	LostMark                  // a transmission, first or not, that the link lost
	AckMark                   // an acknowledgement arrives at the requester; Offset is the last PSN it acknowledges
	NakMark                   // a NAK of any kind arrives at the requester; Offset is the PSN it names
)

// Sequence is the PSN-against-time plot of one half-conversation: the requests of side From, the READ responses to
// them, and the acknowledgements. It is thinned to a limit; losses and retransmissions are thinned last.
type Sequence struct {
	Conn    int    `json:"conn"`
	From    string `json:"from"`
	Marks   []Mark `json:"marks"`
	Thinned bool   `json:"thinned"` // some marks were left out
}
