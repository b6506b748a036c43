package claims

import (
	"strings"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// prices are the processor times of an expected data packet in virtual time, with the acknowledgements and copies that
// it entails, by transport, relative to one of gbn. They are medians over the runs of all claims and of the default
// atlas. A price that is wrong makes shards uneven, and changes no result.
var prices = map[string]float64{
	"fasr": 1.4, "gbn": 1, "gobackone": 1.5, "irn": 1.5, "lowar": 2.4,
	"openapn":   1.5,
	"pseudoack": 5, // every packet crosses a box and a second link, and is acknowledged by itself
	"srnic":     2,
	// encoded packets
	"rciwarp": 2.5, "writerecord": 2.5,
}

// otherPrice is the price for a transport that is not listed.
const otherPrice = 1.5

// crowd is the number of QPs whose state no longer fits in the caches, so that a packet costs twice as much.
const crowd = 3000

// Cost estimates the processor time of a run in virtual time, in packets of gbn.
func Cost(s *scenario.Spec) float64 {
	p, _ := price(s.Impl[0])
	return expected(s) * p * (1 + float64(s.QPs)/crowd)
}

// price returns the price of a transport, and whether it is listed, perhaps without the name of its variant.
func price(impl string) (float64, bool) {
	base, _, _ := strings.Cut(impl, "-")
	if p, ok := prices[base]; ok {
		return p, true
	}
	return otherPrice, false
}

// expected returns the packets that a run of the Spec is expected to take.
func expected(s *scenario.Spec) float64 {
	impls, _ := registry.Catalogue{}.Both(s) // an unknown one is the error of the run
	return run.ExpectedPackets(s, impls)
}
