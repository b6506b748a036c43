package injector

import (
	"github.com/cilium/ebpf"
)

// Programs are those of A and of B, to be run on frames without a device.
func (i *Injector) Programs() [2]*ebpf.Program { return i.programs }

// Shot is what a program answers when the frame is dropped.
const Shot = shot
