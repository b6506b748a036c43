// Package neg holds the rules for malformed and hostile input, which a QP must not believe, execute or answer.
//
// The rules find their stimulus in the trace: a packet that arrives damaged, truncated, forged, or for another QP. They
// are of four kinds: packets are dropped silently (silence), refused with a fatal NAK (refusal), disregarded by a
// requester (disregard), or served (NEG-RKEY-004). Several packets may be in flight, so a response is attributed by its
// PSN and by the other packets that could have drawn it.
//
// Sources: IBTA Vol 1 sections 9.6, 9.7 and 10.2 to 10.9; the order of checks is that of soft-RoCE.
package neg

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Rules returns the NEG rules in the order of their IDs.
func Rules() []rule.Rule {
	return []rule.Rule{
		futureACK, badICRCResponse, reservedSyndrome, forgedNAK,
		bogusSACK, foreignDialect,
		fuzz,
		badICRC, corruptedIsLost,
		truncated, lengthFields, notFull, emptyOrLong, wrongDMALen, longSend, hugeDMALen, wrongPadding,
		undefinedOpcode, wrongService,
		wrongPartition,
		farFuture, past,
		wrongQKey,
		unknownQP, wrongSource,
		unknownKey, outOfBounds, withoutRight, zeroLength,
		wrongVersion,
	}
}

// both combines two checks into one.
func both(a, b rule.Check) rule.Check {
	return rule.Check{
		Sight: func(s *rule.Sight) { a.Sight(s); b.Sight(s) },
		Event: func(e *trace.Event) { a.Event(e); b.Event(e) },
		End:   a.End,
	}
}
