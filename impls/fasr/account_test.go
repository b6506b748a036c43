package fasr

import (
	"math"
	"testing"
)

// The numbers of the paper (FaSR II-A, III-D, IV-D, V-A, V-D2).
func TestAccounting(t *testing.T) {
	for _, tc := range []struct {
		what      string
		got, want float64
	}{
		{"bits of an SR state unit", unitBits, 305},
		{"bytes of an SR state unit", UnitBytes, 38},
		{"pool of the analysis", Pool{Units: 20, Blocks: 70, BlockBits: 10}.Bytes(), 917.5},
		{"pool with blocks of 16", Pool{Units: 20, Blocks: 70, BlockBits: 16}.Bytes(), 970},
		{"pool with two-byte pointers", Pool{Units: 0, Blocks: 256, BlockBits: 16}.Bytes(), 1024},
		{"QPs from which FaSR is smaller than SRNIC", Crossover(TestbedPoolBytes, SRNICBytes), 1600.0 / 11},
		{"whole QPs of that", math.Floor(Crossover(TestbedPoolBytes, SRNICBytes)), 145},
		{"IRN's bitmaps for 5000 QPs", IRNBitmapBytes(5000, 500), 1_562_500},
		{"the same in tenths of MiB", math.Round(IRNBitmapBytes(5000, 500) / (1 << 20) * 10), 15},
		{"IRN's bitmaps per QP", IRNBitmapBytes(1, 500), 312.5},
		{"IRN's state per QP", IRNBytes(500), 332.5},
		{"SEND header cost in the paper, per cent", percent(PaperSendCost(1024)), 0.58},
		{"WRITE header cost in the paper, per cent", percent(PaperWriteCost(1024)), 1.27},
		{"SEND header cost here, per cent", percent(SendCost(1024)), 0.72},
		{"WRITE header cost here, per cent", percent(WriteCost(1024)), 0.72},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %v, want %v", tc.what, tc.got, tc.want)
		}
	}
}

// percent rounds a share to hundredths of a per cent.
func percent(x float64) float64 { return math.Round(x*1e4) / 100 }
