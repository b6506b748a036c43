package claims

import (
	"strings"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// prices are the processor times of an expected data packet in virtual time, with the acknowledgements and copies that
// it entails, by transport, relative to one of gbn. They are means over the runs of all claims and of the default
// atlas; openapn and rciwarp are not among these. A price that is wrong makes shards uneven, and changes no result.
var prices = map[string]float64{
	"fasr": 1.9, "gbn": 1, "gobackone": 2, "irn": 1.9, "lowar": 2.7,
	"openapn":   1.5,
	"pseudoack": 5, // every packet crosses a box and a second link, and is acknowledged by itself
	"srnic":     1.8,
	// encoded packets
	"rciwarp": 2.5, "writerecord": 3,
}

// otherPrice is the price for a transport that is not listed.
const otherPrice = 1.5

// crowds are the numbers of QPs whose state, which no longer fits in the caches, makes a packet dearer by the price of
// gbn.
var crowds = map[string]float64{
	// Packets of all QPs wait in the pipeline, 27 000 of 5000 QPs, and the queries of those before it put off the turn
	// of each, so that it takes three timers.
	"srnic": 620,
}

// otherCrowd is the crowd of a transport that is not listed.
const otherCrowd = 2800

// Cost estimates the processor time of a run in virtual time, in packets of gbn.
func Cost(s *scenario.Spec) float64 {
	return expected(s) * packetCost(s.Impl[0], s.QPs)
}

// packetCost returns the cost of a packet of a transport with so many QPs.
func packetCost(impl string, qps int) float64 {
	p, _ := price(impl)
	crowd, ok := crowds[family(impl)]
	if !ok {
		crowd = otherCrowd
	}
	return p + float64(qps)/crowd
}

// family returns the name of a transport without that of its variant.
func family(impl string) string {
	base, _, _ := strings.Cut(impl, "-")
	return base
}

// price returns the price of a transport, and whether it is listed, perhaps without the name of its variant.
func price(impl string) (float64, bool) {
	if p, ok := prices[family(impl)]; ok {
		return p, true
	}
	return otherPrice, false
}

// expected returns the packets that a run of the Spec is expected to take.
func expected(s *scenario.Spec) float64 {
	impls, _ := registry.Catalogue{}.Both(s) // an unknown one is the error of the run
	return run.ExpectedPackets(s, impls)
}
