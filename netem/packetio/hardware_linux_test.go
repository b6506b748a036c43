package packetio

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// control is a control message with words of 64 bits.
func control(kind int32, words ...int64) (b []byte) {
	h := unix.Cmsghdr{Level: unix.SOL_SOCKET, Type: kind}
	h.SetLen(unix.CmsgLen(8 * len(words)))
	b = append(b, unsafe.Slice((*byte)(unsafe.Pointer(&h)), unix.SizeofCmsghdr)...)
	for _, w := range words {
		b = binary.NativeEndian.AppendUint64(b, uint64(w))
	}
	return b
}

// The stamp of the hardware stands behind that of the kernel, and one that was cut is none.
func TestHardwareStamp(t *testing.T) {
	both := append(control(unix.SCM_TIMESTAMPNS, 7, 8), control(unix.SCM_TIMESTAMPING, 0, 0, 0, 0, 12, 34)...)
	if at, ok := stamp(both); hardware(both) != 12_000_000_034 || at != 7_000_000_008 || !ok {
		t.Errorf("%d of the hardware, %d of the kernel", hardware(both), at)
	}
	for n := range both {
		if got := hardware(both[:n:n]); got != 0 {
			t.Errorf("the first %d bytes have %d", n, got)
		}
	}
	if got := hardware(control(unix.SCM_TIMESTAMPING, 5, 6, 0, 0, 0, 0)); got != 0 {
		t.Errorf("a stamp of the kernel is one of the hardware: %d", got)
	}
	if most := unix.CmsgSpace(16) + unix.CmsgSpace(48) + unix.CmsgSpace(int(unsafe.Sizeof(unix.TpacketAuxdata{}))); most >
		controlSpace {
		t.Errorf("the messages of a frame take %d bytes, and there is room for %d", most, controlSpace)
	}
}

// Of several readings that counts which took the shortest time, and half of it is the error.
func TestPaired(t *testing.T) {
	at := func(ns ...uint32) (r [3]unix.PtpClockTime) {
		for i, n := range ns {
			r[i].Nsec = n
		}
		r[1].Sec = 37
		return r
	}
	got, err := shortest([][3]unix.PtpClockTime{at(100, 1000, 900), at(1000, 1510, 1020), at(2000, 2600, 2400)})
	if want := (Paired{37_000_000_500, 10}); err != nil || got != want || got.Wall(37_000_000_510) != 10 {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for _, bad := range [][][3]unix.PtpClockTime{nil, {at(9, 0, 5)}} {
		if got, err := shortest(bad); err == nil {
			t.Errorf("%v: %+v", bad, got)
		}
	}
}

// A device without such a clock gives no stamp, and its frames arrive with the kernel's.
func TestNoHardwareStamps(t *testing.T) {
	p := newPair(t)
	x, y := p.open(t, "x", Options{}), p.open(t, "y", Options{Hardware: true})
	p.send(t, x, numbered(1, 60))
	got := p.receive(t, y, 1)
	if len(got) != 1 || got[0].Hardware != 0 || got[0].Time > p.clock.Now() {
		t.Errorf("%+v", got)
	}
	if _, err := OpenHardwareClock(1 << 20); err == nil {
		t.Error("a clock that is not there")
	}
}
