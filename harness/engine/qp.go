package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Errors of Post and PostReceive.
var (
	ErrQueueFull = errors.New("queue full")
	ErrQPState   = errors.New("QP is in the error state")
)

// QP holds the attributes of one end of a queue pair, the same for both halves (IBTA 10.3, 11.2.5).
type QP struct {
	QPN     uint32  // this end's number, 24 bits
	DestQPN uint32  // the peer's number
	PD      uint32  // protection domain, which a region must share to be reachable
	PKey    uint16  // partition key, normally roce.DefaultPKey
	MTU     int     // path MTU in payload bytes: 256, 512, 1024, 2048 or 4096
	SendPSN psn.PSN // first PSN of this end's requests
	RecvPSN psn.PSN // first PSN of the peer's requests

	Timeout     LocalACKTimeout // transport timer code; 0 turns the timer off
	RTO         vtime.Duration  // when not zero, the transport timer itself, for values that no code expresses
	RetryCount  uint8           // timeouts and sequence NAKs without progress before RETRY_EXC_ERR, 0 to 7
	RNRRetry    uint8           // RNR NAKs before RNR_RETRY_EXC_ERR; 7 means without limit
	MinRNRTimer roce.RNRTimer   // code that this end's responder puts into RNR NAKs

	QueueDepth   int // maximum number of outstanding work requests (perftest's tx-depth)
	ReceiveDepth int // maximum number of posted receives
	CQModeration int // every CQModeration-th completion is signalled (perftest's cq-mod); 0 and 1 signal every one
	AckReqEvery  int // AckReq at least on every AckReqEvery-th packet of a message and on the last; 0: on the last only
	AckCoalesce  int // the responder sends an ACK at the latest every AckCoalesce-th AckReq packet; 0 and 1: for each
	MaxRdAtomic  int // maximum number of outstanding READs and atomics of this end's requester
	MaxDestRd    int // READs and atomics that this end's responder keeps for replay

	Access Access // operations that this end's responder allows

	// Path holds the properties of the path to the peer, for schemes that are configured by them.
	Path Path `json:",omitzero"`

	// RateControl names the rate control around the transport, "dcqcn" or "dctcp"; empty is none. The driver applies
	// it.
	RateControl string `json:",omitempty"`

	Params Params // parameters of the scheme, by name, as given with --param
}

// Path holds the properties of the path to the peer as the operator configures them. A zero field is unknown.
type Path struct {
	RTT     vtime.Duration // two-way propagation time
	Rate    unit.Rate      // layer-1 rate of the line towards the peer
	Message uint32         // bytes of the longest message that will be posted
}

// TransportTimer returns the period of the transport timer: RTO if not zero, else 4.096 us times two to the power of
// the code in Timeout (IBTA 9.7.6.1.3). Zero means that the timer is off.
func (q *QP) TransportTimer() vtime.Duration {
	if q.RTO != 0 {
		return q.RTO
	}
	return q.Timeout.Duration()
}

// Packets returns the number of packets of a message of n bytes, at least one.
func (q *QP) Packets(n uint32) int {
	return max(1, (int(n)+q.MTU-1)/q.MTU)
}

// LineBytes returns the layer-1 bytes of a message of n bytes, without headers that only some packets have, such as
// RETH.
func (q *QP) LineBytes(n uint32) int { return int(n) + q.Packets(n)*roce.Overhead }

// LocalACKTimeout is the QP attribute of that name, a code of five bits.
type LocalACKTimeout uint8

// Duration returns 4.096 us times two to the power of the code; zero for code 0, which turns the timer off.
func (t LocalACKTimeout) Duration() vtime.Duration {
	if t == 0 {
		return 0
	}
	return 4096 * vtime.Nanosecond << (t & 31)
}

// Access is a set of operations that a responder allows.
type Access uint8

// The rights of a memory region and of a QP (IBTA 10.6.3).
const (
	RemoteWrite Access = 1 << iota
	RemoteRead
	RemoteAtomic
	LocalWrite
	AllAccess = RemoteWrite | RemoteRead | RemoteAtomic | LocalWrite
)

// Params are the parameters of a scheme, name to value as written: {"cap": "500"}. The constructor of an engine rejects
// unknown names.
type Params map[string]string

// Read calls set for each known parameter of a scheme, with the given value or else the default, and returns an error
// for a given parameter that is not known. An error names the scheme and the parameter.
func (given Params) Read(scheme string, known []Param, set func(name, value string) error) error {
	var names []string
	for _, p := range known {
		names = append(names, p.Name)
		value, ok := given[p.Name]
		if !ok {
			value = p.Default
		}
		if err := set(p.Name, value); err != nil {
			return fmt.Errorf("%s: parameter %s: %w", scheme, p.Name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("%s: parameter %s is not known; known are %s", scheme, name, strings.Join(names, ", "))
		}
	}
	return nil
}

// WorkRequest is one entry of a send queue (IBTA 10.8.2).
type WorkRequest struct {
	ID        uint64
	Op        Op
	Len       uint32 // bytes to move; 8 for atomics
	LocalVA   uint64 // local address of the data: source of a SEND or WRITE, destination of a READ or atomic
	RemoteVA  uint64 // remote address of the data: READ, WRITE, atomics
	RKey      uint32
	Imm       uint32 // OpSendImm, OpWriteImm
	InvKey    uint32 // OpSendInv: the remote key to invalidate
	Compare   uint64 // OpCompareSwap
	SwapAdd   uint64 // OpCompareSwap, OpFetchAdd
	Solicited bool   // ask for a solicited event at the peer
	Unsignal  bool   // no completion on success; errors always complete
}

// ReceiveRequest is one entry of a receive queue.
type ReceiveRequest struct {
	ID  uint64
	VA  uint64
	Len uint32
}

// Op is the operation of a work request.
type Op uint8

// The operations.
const (
	OpSend Op = iota
	OpSendImm
	OpSendInv
	OpWrite
	OpWriteImm
	OpRead
	OpCompareSwap
	OpFetchAdd
)

var opNames = [...]string{"SEND", "SEND_IMM", "SEND_INV", "WRITE", "WRITE_IMM", "READ", "CMP_SWAP", "FETCH_ADD"}

// TakesReceive reports whether the operation consumes a receive of the peer (IBTA 9.4.1, 9.4.2).
func (o Op) TakesReceive() bool {
	return o == OpSend || o == OpSendImm || o == OpSendInv || o == OpWriteImm
}

// String returns the verb's name, "WRITE_IMM".
func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return "OP?"
}
