package fasr

import "github.com/rdma-gauntlet/gauntlet/harness/engine"

// vars appends what a sender shows of its recovery.
func (s *sender) vars(prefix string, v []engine.Var) []engine.Var {
	v = s.sr.vars(prefix, v)
	return append(v,
		engine.Var{Name: prefix + "fallback", Value: engine.Flag(s.fallback)},
		engine.Var{Name: prefix + "retx", Value: int64(s.retx.Len())})
}

// vars appends what a receiver shows of its recovery.
func (r *receiver) vars(prefix string, v []engine.Var) []engine.Var {
	v = r.sr.vars(prefix, v)
	return append(v, engine.Var{Name: prefix + "fallback", Value: engine.Flag(r.fallback)})
}

// vars appends the state of a place; all is zero outside recovery. path is 0 for normal, 1 for fast, 2 for slow. arrived is
// how many packets the bitmap describes, the compressed ones included.
func (s *state) vars(prefix string, v []engine.Var) []engine.Var {
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
	return append(v,
		engine.Var{Name: prefix + "path", Value: path},
		engine.Var{Name: prefix + "sack_high", Value: int64(s.sackHigh), IsPSN: s != &z},
		engine.Var{Name: prefix + "lost_cnt", Value: int64(s.lost)},
		engine.Var{Name: prefix + "overflow", Value: engine.Flag(s.overflow)},
		engine.Var{Name: prefix + "compression_cnt", Value: int64(s.arrived.compression)},
		engine.Var{Name: prefix + "blocks", Value: int64(s.arrived.blocks)},
		engine.Var{Name: prefix + "recorded", Value: int64(s.arrived.length())})
}

// Vars implements engine.Inspector.
func (h *Host) Vars() []engine.Var { return h.vars(nil) }

// vars appends the state of the pool, which is the same for all QPs of an endpoint.
func (h *Host) vars(v []engine.Var) []engine.Var {
	p := h.pool
	return append(v,
		engine.Var{Name: "pool_units", Value: int64(p.unitMap.taken)},
		engine.Var{Name: "pool_blocks", Value: int64(p.blockMap.taken)},
		engine.Var{Name: "pool_units_high", Value: int64(p.unitMap.high)},
		engine.Var{Name: "pool_blocks_high", Value: int64(p.blockMap.high)},
		engine.Var{Name: "pool_exhausted", Value: p.exhausted},
		engine.Var{Name: "pool_bits", Value: int64(h.cfg.pool.Bytes() * 8)})
}
