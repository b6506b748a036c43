package wire

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// asked is a READ request as the responder received it.
type asked struct {
	first psn.PSN
	n     int // number of response packets
	bytes int // length of the READ
}

// reads holds the latest READ requests, more than a responder serves at a time.
type reads struct{ rule.Latest[asked] }

// add adds a READ request.
func (r *reads) add(c *rule.Context, p *roce.Packet) {
	const served = 32
	r.Add(asked{p.PSN, c.Packets(p.RETH.DMALen), int(p.RETH.DMALen)}, served)
}

// payload returns the payload length of the response with this PSN; ok is false when no known READ asked for it.
func (r *reads) payload(at psn.PSN, mtu int) (want int, ok bool) {
	for a := range r.Newest {
		if k := at.Sub(a.first); a.n > 0 && k >= 0 && k < a.n {
			return min(a.bytes-k*mtu, mtu), a.n == 1 || mtu > 0
		}
	}
	return 0, false
}

// sameRead reports whether one known READ asked for both responses.
func (r *reads) sameRead(a, b psn.PSN) bool {
	return slices.ContainsFunc(r.List(), func(x asked) bool {
		end := x.first.Add(x.n)
		return x.n > 0 && a.In(x.first, end) && b.In(x.first, end)
	})
}
