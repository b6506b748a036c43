package process

import (
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// outbox holds the encoded frames that the device has not taken yet; its buffers are reused.
type outbox struct {
	emit    func(frame []byte) []byte // makes the final changes to the bytes of a frame
	buffers [][]byte
	frames  [][]byte
}

// outboxSize is a batch of the device.
const outboxSize = 64

func (o *outbox) full() bool    { return len(o.frames) == outboxSize }
func (o *outbox) pending() bool { return len(o.frames) > 0 }

// add encodes a frame into a buffer that is free.
func (o *outbox) add(f *roce.Frame) {
	if len(o.buffers) == 0 {
		o.buffers = append(o.buffers, make([]byte, 0, 4096+256))
	}
	b := o.buffers[len(o.buffers)-1]
	o.buffers = o.buffers[:len(o.buffers)-1]
	o.frames = append(o.frames, o.emit(f.AppendTo(b[:0])))
}

// flush passes the frames to the device as far as it takes them.
func (o *outbox) flush(port *packetio.Port) error {
	if len(o.frames) == 0 {
		return nil
	}
	n, err := port.Send(o.frames)
	o.buffers = append(o.buffers, o.frames[:n]...)
	o.frames = o.frames[:copy(o.frames, o.frames[n:])]
	return err
}
