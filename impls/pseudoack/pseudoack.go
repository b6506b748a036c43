package pseudoack

import (
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
)

// Feature is the feature that an implementation with this box declares in addition to those of its endpoints.
const Feature = "pack"

// Over returns the implementation whose endpoints are those of inner, unchanged, and whose path has the box in it near
// side A: "Our RDMA WAN accelerator transparently works and monitors RDMA messages" (section 5.1). Parameters that the
// box does not have are passed to inner.
func Over(inner engine.Implementation) engine.Implementation {
	im := inner
	im.Name = "pseudoack"
	im.Title = inner.Title + ", with a box near A that acknowledges for B"
	im.Source = "Masutani et al., Long-distance RDMA-acceleration Frameworks, NTT Technical Review, section 5"
	im.Params = append(slices.Clone(inner.Params), params()...)
	slices.SortFunc(im.Params, func(a, b engine.Param) int { return strings.Compare(a.Name, b.Name) })
	im.Features = append(slices.Clone(inner.Features), Feature)
	im.NewBox = func(c engine.BoxConfig) (engine.Middlebox, error) {
		c.Params = split(c.Params, true)
		return New(c)
	}
	im.New = func(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
		qp.Params = split(qp.Params, false)
		return inner.New(qp, mem)
	}
	if inner.NewHost != nil {
		im.NewHost = func(given engine.Params) (engine.Host, error) { return inner.NewHost(split(given, false)) }
	}
	return im
}

// split returns the parameters of the box, or all others.
func split(given engine.Params, box bool) engine.Params {
	out := engine.Params{}
	for name, value := range given {
		if isParam(name) == box {
			out[name] = value
		}
	}
	return out
}
