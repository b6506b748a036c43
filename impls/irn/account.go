package irn

// Sizes of the state of a QP. IRN adds to a QP: "IRN+ adds 20B of SR state overhead per QP and 5 times the BDP size of
// the bitmaps" (FaSR V-A). Two bitmaps form the 2-bitmap of the responder, one records READ responses at the requester,
// and each end has one for SACKs (IRN 6.1). An RNIC without IRN needs "256B QPC overhead".
const (
	StateBytes = 20
	Bitmaps    = 5
	QPCBytes   = 256
)

// BitmapBytes returns the memory, in bytes, of the bitmaps of qps QPs with bitmaps of bits packets each: "for 5K QPs, a
// total of 1.5 MB of memory is consumed by these bitmaps" of 500 slots (FaSR II-A).
func BitmapBytes(qps, bits int) float64 { return float64(qps*Bitmaps*bits) / 8 }

// QPs returns the number of QPs whose whole state fits into memory bytes on the chip, with bitmaps of bits packets:
// 2379 in the 1.4 MB of the FaSR paper, where "when concurrent QPs exceed 2K, IRN suffers throughput performance slip"
// (FaSR V-C).
func QPs(memory float64, bits int) float64 {
	return memory / (QPCBytes + StateBytes + BitmapBytes(1, bits))
}
