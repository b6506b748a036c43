package irn

// What IRN adds to the state of a QP: "IRN+ adds 20B of SR state overhead per QP and 5 times the BDP size of the
// bitmaps" (FaSR V-A): two bitmaps for the 2-bitmap of the responder, one of the requester for READ responses, and one
// of SACKs at either (IRN 6.1). What an RNIC needs anyway is "256B QPC overhead".
const (
	StateBytes = 20
	Bitmaps    = 5
	QPCBytes   = 256
)

// BitmapBytes returns the memory of the bitmaps of so many QPs, each with bitmaps of bits packets: "for 5K QPs, a total
// of 1.5 MB of memory is consumed by these bitmaps" of 500 slots (FaSR II-A).
func BitmapBytes(qps, bits int) float64 { return float64(qps*Bitmaps*bits) / 8 }

// QPs returns how many QPs have their whole state on a chip with so many bytes for QPCs: 2379 in the 1.4 MB of the FaSR
// paper, where "when concurrent QPs exceed 2K, IRN suffers throughput performance slip" (FaSR V-C).
func QPs(memory float64, bits int) float64 {
	return memory / (QPCBytes + StateBytes + BitmapBytes(1, bits))
}
