package lowar

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// feature is the feature that implementations with the shim declare to rules.
const feature = "lowar"

// Over returns inner, an implementation with packets of the RC class, with the shim below it. Its name is "lowar" for
// go-back-N, as in the paper, and "lowar-" followed by the recovery scheme for any other.
func Over(inner engine.Implementation) engine.Implementation {
	out := inner
	out.Name = "lowar"
	if inner.Recover != "gbn" {
		out.Name += "-" + inner.Recover
	}
	out.Title = "LoWAR: repair packets under " + inner.Title
	out.Source = "Zuo et al., LoWAR: Enhancing RDMA over Lossy WANs with Transparent Error Correction"
	out.Params = params(&inner)
	out.Features = append(slices.Clone(inner.Features), feature)
	out.NeedsBytes = true
	out.Accepts = func(o roce.Opcode) bool { return o == roce.LoWAR || inner.Accepts != nil && inner.Accepts(o) }
	out.NewHost = func(given engine.Params) (engine.Host, error) { return newHost(given, &inner) }
	out.New = func(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
		h, err := newHost(qp.Params, &inner)
		if err != nil {
			return nil, nil, err
		}
		return h.New(qp, mem)
	}
	return out
}
