package fasr

import "github.com/rdma-gauntlet/gauntlet/harness/engine"

// The names of the variables of each sender and receiver; names with the prefix "rd_" belong to READ responses.
var (
	sndNames   = engine.Prefixed("snd_", (&sender{}).vars(nil))
	rdSndNames = engine.Prefixed("rd_snd_", (&sender{}).vars(nil))
	rcvNames   = engine.Prefixed("rcv_", (&receiver{}).vars(nil))
	rdNames    = engine.Prefixed("rd_", (&receiver{}).vars(nil))
)

// vars appends the recovery state of a sender.
func (s *sender) vars(list []engine.Var) []engine.Var {
	list = s.sr.vars(list)
	return append(list,
		engine.Var{Name: "fallback", Value: engine.Flag(s.fallback)},
		engine.Var{Name: "retx", Value: int64(s.retx.Len())})
}

// vars appends the recovery state of a receiver.
func (r *receiver) vars(list []engine.Var) []engine.Var {
	list = r.sr.vars(list)
	return append(list, engine.Var{Name: "fallback", Value: engine.Flag(r.fallback)})
}

// vars appends the state of a role; all values are zero outside recovery. path is 0 for normal, 1 for fast, 2 for slow.
// recorded is the number of positions in the bitmap, including the compressed ones.
func (s *state) vars(list []engine.Var) []engine.Var {
	var z state
	if s == nil {
		s = &z
	}
	path := int64(0)
	switch {
	case s.slow():
		path = 2
	case s != &z:
		path = 1
	}
	return append(list,
		engine.Var{Name: "path", Value: path},
		engine.Var{Name: "sack_high", Value: int64(s.sackHigh), IsPSN: s != &z},
		engine.Var{Name: "lost_cnt", Value: int64(s.lost)},
		engine.Var{Name: "overflow", Value: engine.Flag(s.overflow)},
		engine.Var{Name: "compression_cnt", Value: int64(s.arrived.compression)},
		engine.Var{Name: "blocks", Value: int64(s.arrived.blocks)},
		engine.Var{Name: "recorded", Value: int64(s.arrived.length())})
}

// Vars implements engine.Inspector: the state of the pool, which is the same for all QPs of an endpoint.
func (h *Host) Vars(list []engine.Var) []engine.Var {
	p := h.pool
	return append(list,
		engine.Var{Name: "pool_units", Value: int64(p.unitMap.taken)},
		engine.Var{Name: "pool_blocks", Value: int64(p.blockMap.taken)},
		engine.Var{Name: "pool_units_high", Value: int64(p.unitMap.high)},
		engine.Var{Name: "pool_blocks_high", Value: int64(p.blockMap.high)},
		engine.Var{Name: "pool_exhausted", Value: p.exhausted},
		engine.Var{Name: "pool_bits", Value: int64(h.cfg.pool.Bytes() * 8)})
}
