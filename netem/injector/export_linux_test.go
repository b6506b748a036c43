package injector

import (
	"github.com/cilium/ebpf"
)

// Programs are those of A and of B, to be run on frames without a device.
func (i *Injector) Programs() [2]*ebpf.Program { return i.programs }

// Feed draws fates as Attach does.
func (i *Injector) Feed() error {
	for _, f := range i.feeders {
		if err := f.feed(); err != nil {
			return err
		}
	}
	return nil
}

// Shot is what a program answers when the frame is dropped.
const Shot = shot
