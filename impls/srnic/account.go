package srnic

// StateBytes is what SR takes per QP on the chip, without any bitmap: "SRNIC adds 12B of state overhead per QP to avoid
// contention" (FaSR V-A). QPCBytes is what an RNIC needs anyway.
const (
	StateBytes = 12
	QPCBytes   = 256
)

// QPs returns how many QPs have their whole state on a chip with so many bytes for QPCs: 5223 in 1.4 MB.
func QPs(memory float64) int { return int(memory / (QPCBytes + StateBytes)) }
