package wrk

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

var countsAgree = rule.Rule{
	ID: "WRK-COUNT-001", Level: rule.Must, Rests: validity.Sequence,
	Title:    "Counts that an endpoint reports agree with the trace: it drops no more for a wrong ICRC than came with one",
	Source:   rule.Source{Ref: ours, Requirement: "counter: packets dropped below the transport, by reason."},
	Needs:    rule.Both | rule.Bytes | rule.Probes,
	Sees:     rule.RequestIn | rule.ResponseIn | rule.ReadAckIn | rule.CodedIn | rule.RepairIn | rule.Foreign,
	Stimulus: "an endpoint that counts dropped packets", BlackBox: telling,
	New: func(c *rule.Context) rule.Check {
		told := false
		return rule.Check{
			Sight: func(s *rule.Sight) {
				if !s.Out && s.ICRC != trace.Good {
					*damaged(c, s.Tap)++
				}
			},
			Event: func(e *trace.Event) {
				// Both halves see the event; the half whose requester counts judges it.
				if e.Kind != trace.Count || e.Name != "icrc" || !c.Mine(e) || told {
					return
				}
				switch came := *damaged(c, e.Side); {
				case e.Value <= came:
					c.Met()
				// otherwise a frame of another connection may be counted before its tap record is read
				case c.Alone:
					told = true
					c.Failf(rule.Requester, "the endpoint counts %d frames with a wrong ICRC; %d arrived", e.Value, came)
				}
			},
		}
	},
}

// damagedKey identifies the count that the checks of a port share.
type damagedKey struct{}

// damaged returns the number of frames, on all connections, that reached a side and that its ICRC check may drop.
func damaged(c *rule.Context, side trace.Side) *int64 {
	port := c.Port
	if side != c.Req {
		port = c.PeerPort
	}
	return port.Shared(damagedKey{}, func() any { return new(int64) }).(*int64)
}
