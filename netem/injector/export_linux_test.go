package injector

import (
	"github.com/cilium/ebpf"
)

// Programs returns the programs for frames from A and from B, to be run on frames without a device.
func (i *Injector) Programs() [2]*ebpf.Program { return i.programs }

// Shot is the result of a program that drops the frame.
const Shot = shot
