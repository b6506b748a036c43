package degrade

import (
	"encoding/binary"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Form is the form of a capture file.
type Form struct {
	Micro bool // times are in microseconds
	RawIP bool // frames have no Ethernet header
	Ways  bool // frames have their direction at the port

	Uncounted bool // the numbers of missed frames are not written
}

// File returns the recording as a pcapng file with an interface per tap; with two taps they are named after their
// sides.
func (r Recording) File() []byte {
	w := writer{form: r.Form}
	w.block(0x0A0D0D0A, func() {
		w.u32(0x1A2B3C4D)
		w.u32(1) // version 1.0
		w.u64(^uint64(0))
	})
	for i := range r.Taps {
		name := "eth0"
		if len(r.Taps) > 1 {
			name = trace.Side(i).String() + ":eth0"
		}
		w.tap(name)
	}
	at := make([]int, len(r.Taps))
	for {
		tap := r.next(at)
		if tap < 0 {
			break
		}
		w.frame(tap, &r.Taps[tap][at[tap]])
		at[tap]++
	}
	for i := range r.Taps {
		if !r.Form.Uncounted {
			w.missed(i, r.missed(i))
		}
	}
	return w.b
}

// missed returns the number of frames that a tap missed.
func (r Recording) missed(tap int) uint64 {
	if r.Missed == nil {
		return 0
	}
	return r.Missed[tap]
}

// next returns the tap whose next frame is the earliest; -1 at the end.
func (r Recording) next(at []int) int {
	best := -1
	for i, tap := range r.Taps {
		if at[i] < len(tap) && (best < 0 || tap[at[i]].At < r.Taps[best][at[best]].At) {
			best = i
		}
	}
	return best
}

// writer appends blocks of pcapng, little-endian.
type writer struct {
	b    []byte
	form Form
}

func (w *writer) u16(v uint16) { w.b = binary.LittleEndian.AppendUint16(w.b, v) }
func (w *writer) u32(v uint32) { w.b = binary.LittleEndian.AppendUint32(w.b, v) }
func (w *writer) u64(v uint64) { w.b = binary.LittleEndian.AppendUint64(w.b, v) }

// bytes appends b, and zeros up to a multiple of four.
func (w *writer) bytes(b []byte) {
	w.b = append(w.b, b...)
	w.b = append(w.b, make([]byte, -len(b)&3)...)
}

// block writes one block whose contents body writes.
func (w *writer) block(kind uint32, body func()) {
	start := len(w.b)
	w.u32(kind)
	w.u32(0)
	body()
	n := uint32(len(w.b) - start + 4)
	w.u32(n)
	binary.LittleEndian.PutUint32(w.b[start+4:], n)
}

// option writes one option.
func (w *writer) option(code uint16, value []byte) {
	w.u16(code)
	w.u16(uint16(len(value)))
	w.bytes(value)
}

// tap writes the description of an interface.
func (w *writer) tap(name string) {
	const ethernet, rawIP = 1, 101
	w.block(1, func() {
		if w.form.RawIP {
			w.u32(rawIP)
		} else {
			w.u32(ethernet)
		}
		w.u32(0) // no limit of the length
		w.option(2, []byte(name))
		if !w.form.Micro {
			w.option(9, []byte{9})
		}
		w.option(0, nil)
	})
}

// missed writes the number of frames that a tap missed, as dumpcap does at the end of a file.
func (w *writer) missed(tap int, frames uint64) {
	w.block(5, func() {
		w.u32(uint32(tap))
		w.u64(0)
		w.u16(5) // isb_ifdrop
		w.u16(8)
		w.u64(frames)
		w.option(0, nil)
	})
}

// ethernet is the length of the Ethernet header, which a capture of raw IP lacks.
const ethernet = 14

// epoch is the wall-clock time of vtime 0 in seconds; it leaves room for clocks that are early.
const epoch = 1_700_000_000

// frame writes one frame.
func (w *writer) frame(tap int, f *Frame) {
	raw, kept := f.Raw, f.Kept
	if w.form.RawIP && len(raw) >= ethernet {
		raw, kept = raw[ethernet:], max(0, kept-ethernet)
	}
	unit := vtime.Nanosecond
	if w.form.Micro {
		unit = vtime.Microsecond
	}
	stamp := uint64(epoch*int64(vtime.Second/unit) + int64(vtime.Duration(f.At)/unit))
	w.block(6, func() {
		w.u32(uint32(tap))
		w.u32(uint32(stamp >> 32))
		w.u32(uint32(stamp))
		w.u32(uint32(kept))
		w.u32(uint32(len(raw)))
		w.bytes(raw[:kept])
		if w.form.Ways {
			way := byte(1)
			if f.Out {
				way = 2
			}
			w.option(2, []byte{way, 0, 0, 0})
			w.option(0, nil)
		}
	})
}
