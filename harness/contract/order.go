package contract

import (
	"encoding/json"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// The orders, in the sequence in which a bench gives them.
const (
	OpSetup   = "setup"   // where and as whom to run
	OpParam   = "param"   // a parameter of the scheme; one line each
	OpQP      = "qp"      // a queue pair; one line each
	OpWork    = "work"    // requests to post; one line each
	OpPrepare = "prepare" // nothing more comes: make the QPs; answered by ready
	OpStart   = "start"   // begin at the given time
	OpStop    = "stop"    // send nothing more; answered by stopped
	OpVerify  = "verify"  // compare the memory with what the peer posted; answered by verified
)

// Order is one line for a program. Its fields depend on Op: fields of other Ops are absent, and so is a field that is
// zero, except where zero has a meaning.
type Order struct {
	Op string `json:"op"`

	// Of setup.
	Contract int    `json:"contract,omitempty"`
	Side     string `json:"side,omitempty"`     // "A" or "B"
	Device   string `json:"device,omitempty"`   // the interface to send and receive on
	MAC      string `json:"mac,omitempty"`      // of the device
	IP       string `json:"ip,omitempty"`       // of the device, IPv4
	PeerMAC  string `json:"peer_mac,omitempty"` // destination MAC of frames
	PeerIP   string `json:"peer_ip,omitempty"`
	QPs      int    `json:"qps,omitempty"`      // number of qp lines that follow
	Rate     int64  `json:"rate_bps,omitempty"` // rate of the line, bit/s at layer 1; absent when it is not limited
	RTT      int64  `json:"rtt_ns,omitempty"`   // round trip of the path, propagation alone
	Deadline int64  `json:"deadline_ms,omitempty"`
	Seed     uint64 `json:"seed,omitempty"`
	// path of the file for the reports of a program that declares "file", see Capabilities.Reports
	Report string `json:"report,omitempty"`
	Spec   string `json:"spec,omitempty"` // the whole run as text, for a program that understands it

	// Dilate is the number of seconds of the machine per second of the run, for a program that declares "dilate": all
	// its orders are in the run's time, except instants of CLOCK_MONOTONIC. Absent means 1.
	Dilate vtime.Dilation `json:"dilate,omitempty"`

	Streams bool `json:"streams,omitempty"` // the kernel's TCP carries the QPs, for a program that declares "tcp"

	// Of param.
	Name  string `json:"name,omitempty"`
	Value string `json:"value,omitempty"`

	*QP
	*Work

	// Of start: nanoseconds of CLOCK_MONOTONIC.
	At int64 `json:"at_ns,omitempty"`

	// Of verify: the field Memory of the peer's stopped report, unchanged.
	Memory json.RawMessage `json:"memory,omitempty"`
}

// QP is a queue pair as the bench wants it: the numbers, keys and addresses are given, as a connection manager would
// have agreed on them.
type QP struct {
	Index       int    `json:"n"`
	QPN         uint32 `json:"qpn"`
	PeerQPN     uint32 `json:"peer_qpn"`
	Port        uint16 `json:"port"` // UDP source port
	PKey        uint16 `json:"pkey"`
	MTU         int    `json:"mtu"`            // payload bytes of a full packet
	PSN         uint32 `json:"psn"`            // of the first request of this side
	PeerPSN     uint32 `json:"peer_psn"`       // of the first request of the peer
	Timeout     int64  `json:"timeout_ns"`     // transport timer; 0 turns it off
	Retries     int    `json:"retries"`        // without progress
	RNRRetries  int    `json:"rnr_retries"`    // 7 is unlimited
	RNRTimer    int    `json:"rnr_timer"`      // code of the responder's RNR NAKs
	Depth       int    `json:"depth"`          // most requests outstanding
	AckEvery    int    `json:"ack_every"`      // AckReq on every Nth packet; 0: on the last of a message only
	Coalesce    int    `json:"ack_coalesce"`   // answer at the latest every Nth AckReq
	MaxRead     int    `json:"max_rd_atomic"`  // most READs and atomics outstanding from this side
	MaxDestRead int    `json:"max_dest_rd"`    // most READs and atomics outstanding from the peer
	Access      string `json:"access"`         // rights of the peer: write read atomic
	Receives    int    `json:"receives"`       // buffers to post, each used once and posted again
	ReceiveLen  uint64 `json:"receive_len"`    // bytes of each
	VA          uint64 `json:"va"`             // the region that the peer may write, read and do atomics on
	Len         uint64 `json:"len"`            // its bytes
	RKey        uint32 `json:"rkey"`           // its key
	PeerVA      uint64 `json:"peer_va"`        // the peer's region
	PeerRKey    uint32 `json:"peer_rkey"`      // its key
	ReadOnlyVA  uint64 `json:"read_only_va"`   // a second region, which the peer may read only
	ReadOnlyLen uint64 `json:"read_only_len"`  // its bytes
	ReadOnlyKey uint32 `json:"read_only_rkey"` // its key
	Replenish   bool   `json:"replenish"`      // post a buffer again when it has been used
}

// Work is requests to post on one QP: Count of them, one after the other as Depth allows, or without end when it is 0.
// Request k has the ID First + k and acts on the peer's region at Offset + (k mod Slots) * Stride. An offset may lie
// outside the region, to test the peer's answer.
type Work struct {
	OnQP      int    `json:"qp"`
	Operation string `json:"operation"` // as engine.Op names it
	First     uint64 `json:"wr"`
	Bytes     uint32 `json:"bytes"`
	Count     int    `json:"count"`
	After     int64  `json:"after_ns"` // earliest time of the first request, in nanoseconds after the start
	Offset    int64  `json:"offset"`
	Stride    uint64 `json:"stride"`
	Slots     uint64 `json:"slots"`
	Key       uint32 `json:"key"` // R_Key to use; usually the peer's
	Imm       uint32 `json:"imm,omitempty"`
	InvKey    uint32 `json:"inv,omitempty"`
	Compare   uint64 `json:"compare,omitempty"`
	SwapAdd   uint64 `json:"swap_add,omitempty"`
	Solicited bool   `json:"solicited,omitempty"`
	Unsignal  bool   `json:"unsignalled,omitempty"`
	Receive   bool   `json:"receive,omitempty"` // these are receives to post, not requests
}

// DecodeOrder reads one line of a bench. It ignores unknown fields, which later benches may send.
func DecodeOrder(line []byte) (Order, error) {
	var o Order
	if err := json.Unmarshal(line, &o); err != nil {
		return o, fmt.Errorf("contract: order %.60q: %w", line, err)
	}
	return o, nil
}
