package engine

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// Event is a report of an engine to the application: a completion, or a change of state.
type Event struct {
	Kind   EventKind
	Status Status  // status of a CQE, ReceiveCQE, Fatal or Refused
	Op     Op      // operation of the work request; in a ReceiveCQE of the message that arrived (OpSend…, OpWriteImm)
	ID     uint64  // ID of the WorkRequest or ReceiveRequest
	Len    uint32  // bytes: received (ReceiveCQE), of the chunk (Declared), received before the loss (Lost)
	Imm    uint32  // immediate data, in a ReceiveCQE of an operation with immediate
	InvKey uint32  // invalidated key, in a ReceiveCQE of OpSendInv
	Peer   uint16  // port of the sender if one QP serves several senders; else 0
	VA     uint64  // address: of the chunk (Declared), of the buffer if connections share receives (ReceiveCQE, Lost)
	More   bool    // further chunks of the same completion follow (Declared)
	PSN    psn.PSN // PSN by kind, see EventKind
}

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds.
const (
	// CQE is the completion of a work request; PSN is the last PSN of the request.
	CQE EventKind = iota
	// ReceiveCQE is the completion of a receive; PSN is that of the packet that completed it.
	ReceiveCQE
	// Timeout reports that the transport timer expired and that retransmission begins at PSN.
	Timeout
	// Fatal reports that this half has moved the QP to the error state; Status is the reason. The driver then calls
	// Flush on the other half.
	Fatal
	// Declared reports one valid chunk, VA and Len, of one-sided message ID at its target, of which parts may be lost.
	// A completion with several chunks is several events; More is set in all but the last.
	Declared
	// Lost reports that an incomplete message was given up: ID is the receive that it used, Len the bytes that had
	// arrived.
	Lost
	// Refused reports that an arriving packet or message was dropped, for the reason Status; the QP stays usable.
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
