package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// rdNames are the names of the variables of the sender of READ responses.
var rdNames = engine.Prefixed("rd_", (&sender{}).vars(nil))

// vars appends the state of a sender, under the names of the published logic.
func (s *sender) vars(list []engine.Var) []engine.Var {
	return append(list,
		engine.Var{Name: "next_sn_to_send", Value: int64(s.next), IsPSN: true},
		engine.Var{Name: "last_acked_psn", Value: int64(s.una), IsPSN: true},
		engine.Var{Name: "retransmit_sn", Value: int64(s.retx), IsPSN: true},
		engine.Var{Name: "recover_sn", Value: int64(s.recoverSN), IsPSN: true},
		engine.Var{Name: "in_recovery", Value: engine.Flag(s.inRecovery)},
		engine.Var{Name: "do_retransmit", Value: engine.Flag(s.doRetransmit)},
		engine.Var{Name: "quick_timeout", Value: engine.Flag(s.rto.quick)})
}

// Vars implements engine.Inspector. Names with the prefix "rd_" belong to READ responses. No name occurs in both
// halves.
func (r *Requester) Vars(list []engine.Var) []engine.Var {
	list = r.out.vars(list)
	return append(list,
		engine.Var{Name: "rd_rcv_expected_seq", Value: int64(r.in.expected), IsPSN: true},
		engine.Var{Name: "rd_rcv_held", Value: int64(r.in.held)},
		engine.Var{Name: "outstanding", Value: int64(r.sq.Len())},
		engine.Var{Name: "retry", Value: int64(r.retry.Left)},
		engine.Var{Name: "ignored", Value: r.ignored})
}

// Vars implements engine.Inspector. Beside its own variables the responder shows the bitmap from the expected PSN on.
func (r *Responder) Vars(list []engine.Var) []engine.Var {
	list = append(list,
		engine.Var{Name: "rcv_expected_seq", Value: int64(r.in.expected), IsPSN: true},
		engine.Var{Name: "rcv_msn", Value: int64(r.msn)},
		engine.Var{Name: "rcv_bitmap", Value: r.in.codes()},
		engine.Var{Name: "rcv_parked", Value: int64(r.parked)})
	list = rdNames.Rename(r.out.vars(list))
	return append(list,
		engine.Var{Name: "receives", Value: int64(r.receives.Len())},
		engine.Var{Name: "duplicates", Value: r.duplicates},
		engine.Var{Name: "dropped", Value: r.dropped},
		engine.Var{Name: "rd_timeouts", Value: r.timeouts},
		engine.Var{Name: "failed", Value: engine.Flag(r.state != rc.Ready)})
}

// shownCodes is the number of codes that fit into a variable.
const shownCodes = 31

// codes returns the first codes of the bitmap, two bits each, with that of the expected PSN in the lowest bits.
func (r *receiver) codes() (v int64) {
	if r.held == 0 {
		return 0
	}
	p := r.expected
	for i := range min(shownCodes, r.reach) {
		v |= int64(r.code(p)) << (2 * i)
		p = p.Next()
	}
	return v
}
