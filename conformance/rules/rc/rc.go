// Package rc holds the rules of reliable connections: what every transport owes its peer, whatever its recovery scheme.
//
// All 47 are judged from one trace. Three are narrower than a test bench with a debugger in each device could make
// them:
//
//	RC-PSN-003  two runs are not compared; the run across the wrap is judged for the ways in which one goes wrong
//	RC-ERR-002  a bad R_Key is known only when the responder declares its regions, as probes
//	RC-ORD-001  only writes of the same address and length are paired
//
// Times are intervals, because a device may be slower than its peer's clock says and packets wait in its port: package
// rule has the account of that.
package rc

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Rules returns the family in the order of IDs.
func Rules() []rule.Rule {
	return []rule.Rule{
		ackCoversRequests, ackIsReceived, ackMonotonic, ackOutsideIgnored, ackRequested, responsesInOrder,
		conservation, quiescence,
		completionOrder, completionAfterAck, readCompletion, flushAfterError, receiveCompletion,
		errorIsSilent, accessError,
		memoryEqual,
		msnCounts, msnOperations, msnDuplicate,
		opcodeOrder, opcodeOrderRefused, operationRefused,
		laterWriteWins, sendAfterWrite,
		psnConsecutive, psnStart, psnWrap, psnSpan, psnSameContent, psnIdempotent,
		readResponses, readReissue, readReplay, readDepth, readNotAcked, atomicReplay,
		rnrSent, rnrWait, rnrRetries, rnrNotForWrite,
		timeoutInterval, timeoutRetries, timerRestarts, timerDisabled, timerProfile,
		queueDepth, queueStall,
	}
}

const (
	hardware = "HW,RXE" // can be judged on an RNIC and on soft-RoCE
	engines  = "ENG"    // needs what only an instrumented engine reports, or what no device can be driven to
)

// event is a sight that a later finding refers to.
type event struct {
	at     vtime.Time
	record uint64
}

func seen(s *rule.Sight) event { return event{s.At, s.Index} }
