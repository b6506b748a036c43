package diw

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// regions is the memory that the target declares: variables mr_rkey, mr_va, mr_len and mr_access, in that order for each.
type regions struct{ list []region }

type region struct {
	stag   uint32
	va, n  uint64
	access engine.Access
}

// probe takes one of the variables.
func (r *regions) probe(e *trace.Event) {
	if e.Name == "mr_rkey" {
		r.list = append(r.list, region{stag: uint32(e.Value)})
	}
	if len(r.list) == 0 {
		return
	}
	switch last := &r.list[len(r.list)-1]; e.Name {
	case "mr_va":
		last.va = uint64(e.Value)
	case "mr_len":
		last.n = uint64(e.Value)
	case "mr_access":
		last.access = engine.Access(e.Value)
	}
}

// declared reports whether anything is known.
func (r *regions) declared() bool { return len(r.list) > 0 }

// permit reports whether n bytes may be written at va under a steering tag. Where nothing is known all may be.
func (r *regions) permit(stag uint32, va uint64, n uint32) bool {
	if n == 0 || !r.declared() {
		return true
	}
	for _, x := range r.list {
		if x.stag == stag && x.access&engine.RemoteWrite != 0 && va-x.va <= x.n && uint64(n) <= x.n-(va-x.va) {
			return true
		}
	}
	return false
}
