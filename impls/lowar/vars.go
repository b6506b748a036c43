package lowar

import "github.com/rdma-gauntlet/gauntlet/harness/engine"

// Vars implements engine.Inspector: what the engine above shows, and what the shim knows of the stream that it codes and of
// the one that it decodes. Names that begin with r are of READ responses.
func (r *Requester) Vars() []engine.Var {
	v := inspect(r.above)
	v = r.enc.vars(v, "enc_")
	v = r.dec.vars(v, "rdec_")
	return r.enc.host.vars(v)
}

// Vars implements engine.Inspector. What the endpoint shares is among the requester's.
func (r *Responder) Vars() []engine.Var {
	v := inspect(r.above)
	v = r.dec.vars(v, "dec_")
	return r.enc.vars(v, "renc_")
}

// inspect returns what an engine shows.
func inspect(above any) []engine.Var {
	if in, ok := above.(engine.Inspector); ok {
		return in.Vars()
	}
	return nil
}

func (e *encoder) vars(v []engine.Var, prefix string) []engine.Var {
	return append(v,
		engine.Var{Name: prefix + "bpsn", Value: int64(e.base), IsPSN: true},
		engine.Var{Name: prefix + "n", Value: int64(e.n)},
		engine.Var{Name: prefix + "r", Value: int64(e.code.r)},
		engine.Var{Name: prefix + "c", Value: int64(e.code.c)},
		engine.Var{Name: prefix + "epoch", Value: int64(e.epoch)},
		engine.Var{Name: prefix + "repairs", Value: e.repairs},
		engine.Var{Name: prefix + "unprotected", Value: e.unprotected},
		engine.Var{Name: prefix + "discarded", Value: e.discarded})
}

func (d *decoder) vars(v []engine.Var, prefix string) []engine.Var {
	return append(v,
		engine.Var{Name: prefix + "next", Value: int64(d.next), IsPSN: true},
		engine.Var{Name: prefix + "bpsn", Value: int64(d.base), IsPSN: true},
		engine.Var{Name: prefix + "bypass", Value: engine.Flag(d.bypass)},
		engine.Var{Name: prefix + "r", Value: int64(d.code.r)},
		engine.Var{Name: prefix + "c", Value: int64(d.code.c)},
		engine.Var{Name: prefix + "waiting", Value: int64(d.waiting)},
		engine.Var{Name: prefix + "recovered", Value: d.recovered},
		engine.Var{Name: prefix + "failed", Value: d.failed},
		engine.Var{Name: prefix + "ignored", Value: d.ignored},
		engine.Var{Name: prefix + "refused", Value: d.refused})
}

// vars appends the shared buffers: units and places in use, the most that were, and how many there may be.
func (h *Host) vars(v []engine.Var) []engine.Var {
	return append(v,
		engine.Var{Name: "units_encoding", Value: int64(h.encoding.used())},
		engine.Var{Name: "units_encoding_high", Value: int64(h.encoding.high)},
		engine.Var{Name: "units_decoding", Value: int64(h.decoding.used())},
		engine.Var{Name: "units_decoding_high", Value: int64(h.decoding.high)},
		engine.Var{Name: "units", Value: int64(h.encoding.most)},
		engine.Var{Name: "rob", Value: int64(h.rob.used())},
		engine.Var{Name: "rob_high", Value: int64(h.rob.high)},
		engine.Var{Name: "rob_size", Value: int64(h.rob.most)})
}
