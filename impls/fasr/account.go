package fasr

// The sizes that the paper gives (FaSR III-D, V-A), in bits unless the name says otherwise.
//
// An SR state unit holds the 20 bytes that IRN keeps per QP, and for each of the five places where IRN has a bitmap a
// pair of block pointers, a compression-cnt and a lost-cnt: "38B (SR state overhead 20B, 5 pairs of 1B bitmap tail
// pointer overhead 10B, 5*10b size compression-cnt and 5*3bit size lost-cnt overhead)". That sum is 305 bits, 38 whole
// bytes and one bit; the paper drops the bit, and so do we.
const (
	baseBits        = 20 * 8
	bitmapsPerUnit  = 5
	pointerBits     = 8
	compressionBits = 10
	lostCntBits     = 3
	unitBits        = baseBits + bitmapsPerUnit*(2*pointerBits+compressionBits+lostCntBits)

	// UnitBytes is the size of an SR state unit.
	UnitBytes = unitBits / 8
)

// Bytes per QP that the paper compares (V-A): "IRN+ adds 20B of SR state overhead per QP and 5 times the BDP size of
// the bitmaps. SRNIC adds 12B of state overhead per QP [...]. FaSR adds 1B of SR state pointer per QP and 1600B of SR
// state share overhead."
const (
	PointerBytes     = 1    // FaSR: the SR state pointer
	SRNICBytes       = 12   // SRNIC
	TestbedPoolBytes = 1600 // FaSR: the shared pool of the testbed
	irnBaseBytes     = 20
)

// Pool is the size of the two shared levels of one endpoint.
type Pool struct {
	Units     int // SR state units (level 1)
	Blocks    int // bitmap blocks (level 2)
	BlockBits int // packets that a block records
}

// Bytes returns the memory of the pool: its units, its blocks, and one list pointer per block. The maps of free
// units and blocks, one bit each, are not counted, as in the paper: 20 units and 70 blocks of 10 bits are 917.5 bytes,
// "0.92 KB".
func (p Pool) Bytes() float64 {
	return float64(p.Units*UnitBytes) + float64(p.Blocks*(p.BlockBits+p.pointerBits()))/8
}

// pointerBits is the width of a list pointer: one byte names 255 blocks and null.
func (p Pool) pointerBits() int {
	if p.Blocks > 255 {
		return 2 * pointerBits
	}
	return pointerBits
}

// IRNBitmapBytes returns the memory of IRN's five bitmaps for qps QPs, each bdp packets long: 1.5 MB for 5000 QPs and a
// BDP of 500 (FaSR II-A).
func IRNBitmapBytes(qps, bdp int) float64 { return float64(qps*bitmapsPerUnit*bdp) / 8 }

// IRNBytes returns what IRN adds per QP: its state and its bitmaps.
func IRNBytes(bdp int) float64 { return irnBaseBytes + IRNBitmapBytes(1, bdp) }

// Crossover returns the number of QPs at which a shared pool with one pointer per QP takes as much memory as perQP
// bytes for each: "When the number of QPs exceeds 145, FaSR has the smallest SR storage overhead" (FaSR V-D2), which is
// 1600/(12-1).
func Crossover(pool, perQP float64) float64 { return pool / (perQP - PointerBytes) }

// Extra bytes of a packet. The paper packs MSN and offset into six bytes and counts the address, eight, on top of them:
// "a 6 to 14 bytes header" (FaSR IV-D). Here MSN and offset take eight, because a header is whole words.
const (
	paperSendBytes  = 6
	paperWriteBytes = 14
	soethBytes      = 8
	vaethBytes      = 8
)

// middleBytes is a MIDDLE packet of RoCEv2 without its payload on the line, preamble and gap included: 82 bytes.
const middleBytes = 8 + 14 + 20 + 8 + 12 + 4 + 4 + 12

// HeaderCost returns the share of the line that extra bytes per packet of payload bytes take away. The paper's two
// numbers have two denominators: "a 0.58% and 1.3% decrease in application goodput with a 1024 bytes RoCE MTU" is 6
// bytes of 1030, payload and extension, and 14 of 1106, a whole MIDDLE packet on the line.
func HeaderCost(extra, packet int) float64 { return float64(extra) / float64(packet) }

// PaperSendCost and PaperWriteCost are the paper's 0.58 % and 1.3 % (exactly 1.27 %); SendCost and WriteCost are what
// the headers here cost, on the line and with the extension in the denominator.
func PaperSendCost(mtu int) float64  { return HeaderCost(paperSendBytes, mtu+paperSendBytes) }
func PaperWriteCost(mtu int) float64 { return HeaderCost(paperWriteBytes, mtu+middleBytes) }
func SendCost(mtu int) float64       { return HeaderCost(soethBytes, mtu+middleBytes+soethBytes) }
func WriteCost(mtu int) float64      { return HeaderCost(vaethBytes, mtu+middleBytes+vaethBytes) }
