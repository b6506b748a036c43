package netns

import (
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// protocolVersion is that of the lines between the bench and an endpoint process. Every message is one line of JSON;
// the bench writes setup and orders to standard input, the process answers on standard output. The process ends when its
// input does, so it never outlives the bench.
const protocolVersion = 1

// setup is the first line that an endpoint process reads.
type setup struct {
	Version int    `json:"version"`
	Side    uint8  `json:"side"` // 0 is A, 1 is B
	Device  string `json:"device"`
	Spec    string `json:"spec"`   // canonical text
	Events  string `json:"events"` // path of the NDJSON file for what the endpoint reports
}

// order is what the bench asks of an endpoint process.
type order struct {
	Op    string         `json:"op"`
	Start int64          `json:"start_ns,omitempty"` // start: time zero of the run, in nanoseconds of CLOCK_MONOTONIC
	Work  [][]drive.Work `json:"work,omitempty"`     // verify: the peer's requests, by connection
}

// The orders, in the order in which they are given.
const (
	opStart  = "start"  // begin at the given time
	opStop   = "stop"   // send nothing more; answered by stopped
	opVerify = "verify" // compare memory with the peer's requests; answered by verified
)

// answer is what an endpoint process says.
type answer struct {
	Event    string           `json:"event"`
	Error    string           `json:"error,omitempty"`
	Share    float64          `json:"share,omitempty"`
	Pending  int              `json:"pending,omitempty"`  // stopped: requests that have not completed
	Counters map[string]int64 `json:"counters,omitempty"` // stopped: packets dropped below the transport, by reason
	Work     [][]drive.Work   `json:"work,omitempty"`     // stopped: this side's requests, by connection
	Late     vtime.Duration   `json:"late_ps,omitempty"`  // stopped: the longest that a packet or a timer had to wait
	Dropped  uint64           `json:"dropped,omitempty"`  // stopped: frames lost in the receive buffer of the socket
}

// The answers.
const (
	saysReady    = "ready"
	saysShare    = "share" // now and then: which part of the work is done
	saysIdle     = "idle"  // all work has completed
	saysStopped  = "stopped"
	saysVerified = "verified"
	saysError    = "error"
)
