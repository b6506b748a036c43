package engine

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// Event is something that an engine tells the application: a completion, or a change of state.
type Event struct {
	Kind   EventKind
	Status Status // CQE and ReceiveCQE
	Op     Op     // the operation of the work request; for a ReceiveCQE what arrived (OpSend…, OpWriteImm)
	ID     uint64 // the WorkRequest or ReceiveRequest
	Len    uint32 // ReceiveCQE: bytes received
	Imm    uint32 // ReceiveCQE of an operation with immediate
	InvKey uint32 // ReceiveCQE of OpSendInv
	PSN    psn.PSN
}

// EventKind tells the kinds of Event apart.
type EventKind uint8

// The kinds.
const (
	// CQE is the completion of a work request; PSN is its last one.
	CQE EventKind = iota
	// ReceiveCQE is the completion of a receive; PSN is that of the packet that completed it.
	ReceiveCQE
	// Timeout says that the transport timer expired and a retransmission begins at PSN.
	Timeout
	// Fatal says that the QP went to the error state by this half's doing; the driver then calls Flush on the other
	// half. Status tells why.
	Fatal
)

var kindNames = [...]string{"CQE", "RECV", "TIMEOUT", "FATAL"}

// String returns the kind as ladders print it.
func (k EventKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "EVENT?"
}

// Status is the status of a completion (IBTA 11.6.2; the names are those of libibverbs).
type Status uint8

// The statuses.
const (
	StatusSuccess Status = iota
	StatusLocalLength
	StatusLocalProtection
	StatusFlushed
	StatusRemoteInvalid
	StatusRemoteAccess
	StatusRemoteOp
	StatusRetryExceeded
	StatusRNRRetryExceeded
)

var statusNames = [...]string{"SUCCESS", "LOC_LEN_ERR", "LOC_PROT_ERR", "WR_FLUSH_ERR", "REM_INV_REQ_ERR",
	"REM_ACCESS_ERR", "REM_OP_ERR", "RETRY_EXC_ERR", "RNR_RETRY_EXC_ERR"}

// String returns the libibverbs name without its prefix.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "STATUS?"
}
