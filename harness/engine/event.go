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
	Len    uint32 // ReceiveCQE: bytes received; Declared: of the chunk
	Imm    uint32 // ReceiveCQE of an operation with immediate
	InvKey uint32 // ReceiveCQE of OpSendInv
	Peer   uint16 // port of the sender, where one QP serves many; 0 elsewhere
	VA     uint64 // Declared: where the chunk lies; ReceiveCQE and Lost: the buffer, where connections share receives
	More   bool   // Declared: the same completion has further chunks
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
	// Declared is a completion at the target of a one-sided message that may have lost parts: one chunk of what is
	// valid, VA and Len, of message ID. A completion with several chunks is several events, and More is set in all but
	// the last.
	Declared
	// Lost says that a message which never became whole was given up: ID is the receive that it held, Len the bytes
	// that had come.
	Lost
	// Refused says that something which arrived was dropped because of Status, and that the QP goes on.
	Refused
)

var kindNames = [...]string{"CQE", "RECV", "TIMEOUT", "FATAL", "DECLARED", "LOST", "REFUSED"}

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
