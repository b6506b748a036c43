package srnic

// StateBytes is the on-chip memory of SR per QP, without a bitmap: "SRNIC adds 12B of state overhead per QP to avoid
// contention" (FaSR V-A). QPCBytes is the state of a QP on any RNIC.
const (
	StateBytes = 12
	QPCBytes   = 256
)

// QPs returns the number of QPs whose whole state fits into memory bytes on the chip: 5223 in 1.4 MB.
func QPs(memory float64) int { return int(memory / (QPCBytes + StateBytes)) }
