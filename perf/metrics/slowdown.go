package metrics

import (
	"cmp"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Slowdown is the FCT slowdown of a run: how many times as long flows took as they would have alone on a link that
// loses nothing, "FCT_Slowdown=Treal/Tideal" (Go-Back-ONE V-B). A flow lasts from its arrival, so time spent waiting
// for a full queue counts, to its completion at the requester.
type Slowdown struct {
	All Group `json:"all"`
	// groups of equally many flows, by size, smallest first; one group when all flows have the same size
	Groups []Group `json:"groups"`
	Left   int64   `json:"left_out,omitempty"` // flows beyond those that are stored
}

// Group is the slowdown of flows of similar size.
type Group struct {
	Smallest int64   `json:"smallest_bytes"`
	Largest  int64   `json:"largest_bytes"`
	Count    int     `json:"count"`
	P50      float64 `json:"p50"`
	P95      float64 `json:"p95"`
	P99      float64 `json:"p99"`
}

// groups is the number of groups into which the paper divides the flows of a run, "20 groups on average" (V-B).
const groups = 20

// flowLimit bounds the flows that are stored, and those in progress, 16 bytes each.
const flowLimit = 1 << 20

// arrivals measures the flows of a run by the endpoints' reports: the times of arrival and completion of each request.
type arrivals struct {
	ideal func(data trace.Side, bytes uint32) vtime.Duration // nil: nothing is measured
	begun map[flowKey]arrival
	done  []finished
	left  int64
}

// flowKey is a request that has not completed.
type flowKey struct {
	conn int
	from trace.Side
	id   uint64
}

// arrival is the arrival time of a flow, and its size.
type arrival struct {
	at   vtime.Time
	size uint32
	data trace.Side // side that sends its bytes
}

// finished is one flow: its size in bytes and its slowdown.
type finished struct {
	size uint32
	slow float32
}

// event processes a report of an endpoint.
func (f *arrivals) event(e *trace.Event) {
	if f.ideal == nil {
		return
	}
	key := flowKey{e.Conn, e.Side, e.Body.ID}
	switch e.Kind {
	case trace.Post:
		data := e.Side
		if e.Body.Op == engine.OpRead {
			data = data.Other()
		}
		f.post(key, arrival{e.At.Add(-vtime.Duration(e.Value)), e.Len, data})
	case trace.CQE:
		if a, ok := f.begun[key]; ok && e.Body.Status == engine.StatusSuccess {
			f.finish(a.size, float32(e.At.Sub(a.at).Seconds()/f.ideal(a.data, a.size).Seconds()))
		}
		delete(f.begun, key)
	}
}

// post records the arrival of a flow.
func (f *arrivals) post(key flowKey, a arrival) {
	if f.begun == nil {
		f.begun = map[flowKey]arrival{}
	}
	if len(f.begun) < flowLimit {
		f.begun[key] = a
	}
}

// finish records the slowdown of a flow.
func (f *arrivals) finish(size uint32, slow float32) {
	if len(f.done) == flowLimit {
		f.left++
		return
	}
	f.done = append(f.done, finished{size, slow})
}

// slowdown sums up; nil when no flow was measured.
func (f *arrivals) slowdown() *Slowdown {
	if len(f.done) == 0 {
		return nil
	}
	bySize := slices.Clone(f.done)
	slices.SortStableFunc(bySize, func(a, b finished) int { return cmp.Compare(a.size, b.size) })
	s := &Slowdown{All: group(bySize), Left: f.left}
	n := min(groups, len(bySize))
	if s.All.Smallest == s.All.Largest {
		n = 1
	}
	for i := range n {
		s.Groups = append(s.Groups, group(bySize[i*len(bySize)/n:(i+1)*len(bySize)/n]))
	}
	return s
}

// group describes flows that are sorted by size.
func group(flows []finished) Group {
	slow := make([]float64, len(flows))
	for i, f := range flows {
		slow[i] = float64(f.slow)
	}
	slices.Sort(slow)
	at := func(percent int) float64 { return slow[max(0, (len(slow)*percent+99)/100-1)] } // nearest rank
	return Group{
		Smallest: int64(flows[0].size), Largest: int64(flows[len(flows)-1].size), Count: len(flows),
		P50: at(50), P95: at(95), P99: at(99),
	}
}
