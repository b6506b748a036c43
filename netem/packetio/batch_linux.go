package packetio

import (
	"math"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// message is struct mmsghdr; Go pads it to the alignment of Msghdr, as C does.
type message struct {
	hdr unix.Msghdr
	len uint32
}

// controlSpace is room for the control messages of a frame, such as its timestamp, with a reserve.
const controlSpace = 192

// Packet is one received frame. Data belongs to the Port and is valid until its next Receive.
type Packet struct {
	Data     []byte
	Length   int        // bytes on the device; more than len(Data) when the frame is longer than Options.Snap
	Time     vtime.Time // when the kernel took the frame from the device, or, when Outgoing, handed it to the device
	Hardware int64      // when the hardware received the frame, ns of the device's clock; 0 unless Options.Hardware
	Outgoing bool       // sent by this host rather than received; only with Options.Outgoing
}

// batch is the preallocated memory of a recvmmsg call: vectors, buffers, addresses and control messages.
type batch struct {
	messages []message
	vectors  []unix.Iovec
	buffers  []byte
	froms    []unix.RawSockaddrLinklayer
	controls []byte
	packets  []Packet
	snap     int
	stamped  int64         // latest stamp of a received frame, in nanoseconds of the wall clock
	beside   int64         // Clock.wall when stamped was read
	swapped  uint64        // frames received behind one with a later stamp
	latest   [2]vtime.Time // time of the latest frame: received, and sent by this host
}

// newBatch allocates a batch of n frames of up to snap bytes and points the kernel's structures at it, once.
func newBatch(n, snap int) *batch {
	b := &batch{
		messages: make([]message, n),
		vectors:  make([]unix.Iovec, n),
		buffers:  make([]byte, n*(snap+tagLen)),
		froms:    make([]unix.RawSockaddrLinklayer, n),
		controls: make([]byte, n*controlSpace),
		packets:  make([]Packet, 0, n),
		snap:     snap,
		latest:   [2]vtime.Time{math.MinInt64, math.MinInt64}, // a run's time is negative before its start
	}
	for i := range n {
		b.vectors[i].Base = &b.buffers[i*(snap+tagLen)]
		b.vectors[i].SetLen(snap)
		h := &b.messages[i].hdr
		h.Iov = &b.vectors[i]
		h.SetIovlen(1)
		h.Name = (*byte)(unsafe.Pointer(&b.froms[i]))
		h.Control = &b.controls[i*controlSpace]
	}
	b.arm(n)
	return b
}

// arm restores the lengths in the first n messages, which the kernel has overwritten.
func (b *batch) arm(n int) {
	for i := range n {
		h := &b.messages[i].hdr
		h.Namelen = unix.SizeofSockaddrLinklayer
		h.SetControllen(controlSpace)
	}
}

// receive reads the waiting frames without blocking. It makes a raw call, which does not release the processor to Go's
// scheduler, because getting it back may take longer than the call. MSG_TRUNC makes the reported length that of the
// frame instead of the buffer.
func (b *batch) receive(fd int) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&b.messages[0])),
		uintptr(len(b.messages)), unix.MSG_DONTWAIT|unix.MSG_TRUNC, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// collect turns the first n messages into packets; frames sent by this host are included if outgoing is set.
func (b *batch) collect(n int, clock *Clock, outgoing bool) []Packet {
	b.packets = b.packets[:0]
	now := clock.Now()
	for i := range n {
		m := &b.messages[i]
		out := b.froms[i].Pkttype == unix.PACKET_OUTGOING
		if out && !outgoing {
			continue
		}
		control, length := b.controls[i*controlSpace:][:m.hdr.Controllen], min(int(m.len), b.snap)
		at, ok := stamp(control)
		p := Packet{Data: tagged(b.buffers[i*(b.snap+tagLen):][:length], control), Outgoing: out,
			Hardware: hardware(control)}
		p.Length = int(m.len) + len(p.Data) - length
		if p.Time = now; ok {
			p.Time = min(now, clock.At(at)) // not in the future, even if the wall clock has just been stepped
		}
		if ok && !out {
			b.order(at, clock)
		}
		p.Time = b.inOrder(p.Time, out)
		b.packets = append(b.packets, p)
	}
	b.arm(n)
	return b.packets
}

// inOrder returns the time of a frame, not earlier than that of the frame before it in its direction: the difference
// between wall clock and run is known to some microseconds, and jumps by as much when it is read again.
func (b *batch) inOrder(t vtime.Time, outgoing bool) vtime.Time {
	last := &b.latest[0]
	if outgoing {
		last = &b.latest[1]
	}
	*last = max(*last, t)
	return *last
}

// order counts a received frame whose stamp is earlier than that of a frame before it, unless the wall clock was set in
// between.
func (b *batch) order(stamp int64, clock *Clock) {
	if stamp < b.stamped && !clock.setSince(b.beside) {
		b.swapped++
		return
	}
	b.stamped, b.beside = stamp, clock.wall
}

// stamp finds the SCM_TIMESTAMPNS message and returns its wall-clock nanoseconds.
func stamp(control []byte) (int64, bool) {
	data, ok := find(control, unix.SOL_SOCKET, unix.SCM_TIMESTAMPNS)
	if !ok || len(data) < int(unsafe.Sizeof(unix.Timespec{})) {
		return 0, false
	}
	return (*unix.Timespec)(unsafe.Pointer(&data[0])).Nano(), true
}

// outbox is the preallocated memory of a sendmmsg call.
type outbox struct {
	messages []message
	vectors  []unix.Iovec
}

// newOutbox allocates the vectors of n frames; the frames themselves belong to the caller of send.
func newOutbox(n int) *outbox {
	o := &outbox{messages: make([]message, n), vectors: make([]unix.Iovec, n)}
	for i := range n {
		o.messages[i].hdr.Iov = &o.vectors[i]
		o.messages[i].hdr.SetIovlen(1)
	}
	return o
}

// send passes as many frames to the kernel as fit one call and returns how many it accepted.
func (o *outbox) send(fd int, frames [][]byte) (int, error) {
	n := min(len(frames), len(o.messages))
	for i, f := range frames[:n] {
		o.vectors[i].Base = unsafe.SliceData(f)
		o.vectors[i].SetLen(len(f))
	}
	sent, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&o.messages[0])),
		uintptr(n), unix.MSG_DONTWAIT, 0, 0)
	clear(o.vectors[:n]) // so that no frame is kept alive
	if errno != 0 {
		return 0, errno
	}
	return int(sent), nil
}
