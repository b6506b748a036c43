package lowar

import "github.com/rdma-gauntlet/gauntlet/harness/engine"

// Vars implements engine.Inspector: the variables of the engine above, of the encoder, of the decoder, and of the host.
// Prefixes that begin with r belong to streams of READ responses.
func (r *Requester) Vars(list []engine.Var) []engine.Var {
	list = inspect(r.above, list)
	list = encNames.Rename(r.enc.vars(list))
	list = rdecNames.Rename(r.dec.vars(list))
	return r.enc.host.vars(list)
}

// Vars implements engine.Inspector. The variables of the host are among the requester's.
func (r *Responder) Vars(list []engine.Var) []engine.Var {
	list = inspect(r.above, list)
	list = decNames.Rename(r.dec.vars(list))
	return rencNames.Rename(r.enc.vars(list))
}

// The names of the variables of each stream.
var (
	encNames  = engine.Prefixed("enc_", (&encoder{}).vars(nil))
	rencNames = engine.Prefixed("renc_", (&encoder{}).vars(nil))
	decNames  = engine.Prefixed("dec_", (&decoder{}).vars(nil))
	rdecNames = engine.Prefixed("rdec_", (&decoder{}).vars(nil))
)

// inspect appends the variables of an engine, if it has any.
func inspect(above any, list []engine.Var) []engine.Var {
	if in, ok := above.(engine.Inspector); ok {
		return in.Vars(list)
	}
	return list
}

func (e *encoder) vars(list []engine.Var) []engine.Var {
	return append(list,
		engine.Var{Name: "bpsn", Value: int64(e.base), IsPSN: true},
		engine.Var{Name: "n", Value: int64(e.n)},
		engine.Var{Name: "r", Value: int64(e.code.r)},
		engine.Var{Name: "c", Value: int64(e.code.c)},
		engine.Var{Name: "epoch", Value: int64(e.epoch)},
		engine.Var{Name: "repairs", Value: e.repairs},
		engine.Var{Name: "unprotected", Value: e.unprotected},
		engine.Var{Name: "discarded", Value: e.discarded})
}

func (d *decoder) vars(list []engine.Var) []engine.Var {
	return append(list,
		engine.Var{Name: "next", Value: int64(d.next), IsPSN: true},
		engine.Var{Name: "bpsn", Value: int64(d.base), IsPSN: true},
		engine.Var{Name: "bypass", Value: engine.Flag(d.bypass)},
		engine.Var{Name: "r", Value: int64(d.code.r)},
		engine.Var{Name: "c", Value: int64(d.code.c)},
		engine.Var{Name: "waiting", Value: int64(d.waiting)},
		engine.Var{Name: "recovered", Value: d.recovered},
		engine.Var{Name: "failed", Value: d.failed},
		engine.Var{Name: "ignored", Value: d.ignored},
		engine.Var{Name: "refused", Value: d.refused})
}

// vars appends the state of the shared buffers: units and slots in use, their largest number so far, and the capacity.
func (h *Host) vars(list []engine.Var) []engine.Var {
	return append(list,
		engine.Var{Name: "units_encoding", Value: int64(h.encoding.used())},
		engine.Var{Name: "units_encoding_high", Value: int64(h.encoding.high)},
		engine.Var{Name: "units_decoding", Value: int64(h.decoding.used())},
		engine.Var{Name: "units_decoding_high", Value: int64(h.decoding.high)},
		engine.Var{Name: "units", Value: int64(h.encoding.most)},
		engine.Var{Name: "rob", Value: int64(h.rob.used())},
		engine.Var{Name: "rob_high", Value: int64(h.rob.high)},
		engine.Var{Name: "rob_size", Value: int64(h.rob.most)})
}
