package recording

import (
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// setUp is a connection that messages of the communication manager set up: the end that sent the REQ, and the end that
// accepted it with a REP.
type setUp struct {
	ends   [2]trace.End
	agreed [2]agreed
}

// agreed holds the attributes of a QP that the messages tell (IBTA 12.6.5 and 12.6.8), -1 where none does, or where one
// differs from what the other asks for. The timeout and the retries of the REQ are those of its receiver.
type agreed struct{ timeout, retry, rnr, rd, destRd int16 }

// newSetUp returns the connection of a REQ and its REP. StartingPSN of each message is the start PSN of its receiver.
func newSetUp(active, passive trace.End, req *roce.REQ, rep *roce.REP) *setUp {
	active.QP = engine.QP{QPN: req.QPN, DestQPN: rep.QPN, MTU: req.MTU(), SendPSN: rep.StartingPSN,
		RecvPSN: req.StartingPSN}
	passive.QP = engine.QP{QPN: rep.QPN, DestQPN: req.QPN, MTU: req.MTU(), SendPSN: req.StartingPSN,
		RecvPSN: rep.StartingPSN}
	there := both(req.InitiatorDepth, rep.ResponderResources)
	back := both(rep.InitiatorDepth, req.ResponderResources)
	rnr := both(req.RNRRetryCount, rep.RNRRetryCount)
	return &setUp{[2]trace.End{active, passive}, [2]agreed{
		{-1, -1, rnr, there, back}, {int16(req.ACKTimeout), int16(req.RetryCount), rnr, back, there},
	}}
}

// both returns the value that two messages have for an attribute; -1 if they differ.
func both(x, y uint8) int16 {
	if x != y {
		return -1
	}
	return int16(x)
}

// words returns the attributes by the keys of a qp statement of a Spec.
func (a *agreed) words() map[string]string {
	list := map[string]string{}
	for key, v := range map[string]int16{"timeout": a.timeout, "retry": a.retry, "rnr": a.rnr, "rd": a.rd,
		"dest-rd": a.destRd} {
		if v >= 0 {
			list[key] = strconv.Itoa(int(v))
		}
	}
	return list
}

// of returns the attributes of an end of the connection that the messages tell.
func (u *setUp) of(e *trace.End) map[string]string {
	if first := &u.ends[0]; first.Addr == e.Addr && first.QP.QPN == e.QP.QPN {
		return u.agreed[0].words()
	}
	return u.agreed[1].words()
}
