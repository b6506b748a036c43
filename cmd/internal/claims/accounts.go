package claims

import (
	"math"

	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/mpa"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/fasr"
	"github.com/rdma-gauntlet/gauntlet/impls/irn"
	"github.com/rdma-gauntlet/gauntlet/impls/lowar"
	"github.com/rdma-gauntlet/gauntlet/impls/openapn"
	"github.com/rdma-gauntlet/gauntlet/impls/srnic"
)

// Accounts returns the numbers of targets that follow from the implementations without a run, such as the memory that
// the papers' tables count. The parameters are those of the papers: 1.4 MB for connection state and bitmaps of 500
// packets (FaSR V-A), the prototype of LoWAR's Table I, and 100 km at 100 Gb/s (NTT 4.1).
func Accounts() map[string]float64 {
	const chip, bdp, mtu = 1.4e6, 500, 1024
	memory := lowar.Account(mtu, 512, 32, 1, 1024, 2048)
	out := map[string]float64{
		"lowar encoding":    float64(memory.Encoding) / 1e6,
		"lowar decoding":    float64(memory.Decoding) / 1e6,
		"lowar reordering":  float64(memory.Reordering) / 1e6,
		"irn QPs":           irn.QPs(chip, bdp),
		"irn bitmaps":       irn.BitmapBytes(5000, bdp) / 1e6,
		"srnic QPs":         float64(srnic.QPs(chip)),
		"fasr QPs":          math.Floor((chip - fasr.TestbedPoolBytes) / (irn.QPCBytes + fasr.PointerBytes)),
		"fasr pool":         fasr.Pool{Units: 20, Blocks: 70, BlockBits: 10}.Bytes(),
		"fasr crossover":    fasr.Crossover(fasr.TestbedPoolBytes, fasr.SRNICBytes),
		"fasr send header":  fasr.SendCost(mtu),
		"fasr write header": fasr.WriteCost(mtu),
		"mpa markers":       float64(mpa.MarkerLen) / mpa.MarkerEvery,
	}
	if d, err := openapn.DepthOf(vtime.Millisecond, 100*unit.Gbps, 4178); err == nil { // else the row is an ERROR
		out["openapn depth"] = float64(d.Floor)
	}
	return out
}

// MemoryByQPs returns the accounts of figures: the memory, in bytes, that selective retransmission with windows of 500
// packets needs for a number of QPs (FaSR V-D2).
func MemoryByQPs() map[string]func(float64) float64 {
	const bdp = 500
	return map[string]func(float64) float64{
		"fasr SR memory":  func(n float64) float64 { return fasr.TestbedPoolBytes + n*fasr.PointerBytes },
		"srnic SR memory": func(n float64) float64 { return n * fasr.SRNICBytes },
		"irn SR memory":   func(n float64) float64 { return n * fasr.IRNBytes(bdp) },
	}
}
