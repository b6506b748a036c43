package process

import (
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// actor is the part of a run that a process drives on real devices: the endpoint of a side, or the box. It has one or
// more devices, numbered as in the setup.
type actor interface {
	Start(now vtime.Time)
	Deadline() vtime.Time
	Wake(now vtime.Time)
	Idle() bool
	Share() float64

	receive(now vtime.Time, device int, frame []byte)
	transmit(now vtime.Time, device int, f *roce.Frame) bool // the next frame for a line that is free
	ready(device int) bool                                   // reports whether transmit may have a frame
	emit(device int, frame []byte) []byte                    // the last word on the bytes of a frame

	stopped(a *farewell) // adds its reports at the end of the run
	verify(now vtime.Time, i int, peers []drive.Work)
}
