package capture

import (
	"fmt"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Direction is the direction in which a frame crossed the tap, if the capture records it.
type Direction uint8

// The directions.
const (
	AnyWay Direction = iota // the capture does not record it
	Inward
	Outward
)

// Frame is one captured frame.
type Frame struct {
	Wall    time.Time  // time stamp of the capture
	Raw     []byte     // from the Ethernet header, zeros for bytes that were cut off; valid until the next frame
	Kept    int        // bytes of Raw that were captured
	Tap     trace.Side // side of the tap; valid when HasTap is true
	HasTap  bool       // the interface is named after a side: "A:a0"
	Way     Direction
	Dropped uint64 // frames that the tap lost between the previous frame and this one
	Sound   bool   // the frame is known to decode and to have the right ICRC
	Sum     uint32 // CRC-32 of the payload of a Sound frame
	// the frame is RoCEv2 in all but its UDP destination port; where a QP is not known to send it, it is other traffic
	AnotherPort bool

	note  note
	noted bool
}

// Source yields captured frames in time order, and io.EOF at the end. A Reader is one.
type Source interface {
	Next(f *Frame) error
}

// AtTap is a source all of whose frames were captured at Side, whatever the names of their interfaces.
type AtTap struct {
	Source
	Side trace.Side
}

// Next implements Source.
func (t AtTap) Next(f *Frame) error {
	err := t.Source.Next(f)
	f.Tap, f.HasTap = t.Side, true
	return err
}

// Sound is a source whose first frames are known to have the right ICRC, from an earlier reading.
type Sound struct {
	Source
	Sums []uint32 // Frame.Sum of these frames
}

// Next implements Source.
func (t *Sound) Next(f *Frame) error {
	err := t.Source.Next(f)
	if f.Sound = len(t.Sums) > 0 && !f.AnotherPort; f.Sound {
		f.Sum, t.Sums = t.Sums[0], t.Sums[1:]
	}
	return err
}

// Stats returns those of the source when it has some.
func (t *Sound) Stats() Stats { return StatsOf(t.Source) }

// Stats returns those of the source when it has some.
func (t AtTap) Stats() Stats { return StatsOf(t.Source) }

// NoTap is a source of whose frames the tap is unknown, whatever the names of their interfaces.
type NoTap struct{ Source }

// Next implements Source.
func (t NoTap) Next(f *Frame) error {
	err := t.Source.Next(f)
	f.HasTap = false
	return err
}

// Stats returns those of the source when it has some.
func (t NoTap) Stats() Stats { return StatsOf(t.Source) }

// StatsOf returns the Stats of a source that has some; otherwise zero.
func StatsOf(s Source) Stats {
	if c, ok := s.(interface{ Stats() Stats }); ok {
		return c.Stats()
	}
	return Stats{}
}

// Fill sets the fields of r that follow from the frame, and the headers below the packet. Of a frame that the capture
// cut, the headers are decoded as far as they were kept; its payload and ICRC are unknown.
func (f *Frame) Fill(r *trace.Record, headers *roce.Frame) {
	r.Raw = f.Raw
	if f.Sound && !f.cut() {
		r.DecodeSound(headers, f.Sum)
		return
	}
	r.Decode(headers)
	if !f.cut() {
		return
	}
	if !f.Headed() {
		r.Defect = fmt.Sprintf("capture: %d of %d bytes kept", f.Kept, len(f.Raw))
	}
	r.Raw, r.Packet.Payload, r.Sum, r.ICRC = nil, nil, 0, trace.Unchecked
}

// cut reports whether the capture lacks the end of the frame.
func (f *Frame) cut() bool { return f.Kept < len(f.Raw) }

// Check sets Sound and Sum of the frame from which h has just been decoded. It reports false for a wrong ICRC, and true
// for one that was cut off.
func (f *Frame) Check(h *roce.Frame) bool {
	if f.cut() {
		return true
	}
	f.Sum, f.Sound = h.Sums(f.Raw)
	return f.Sound
}

// Headed reports whether the capture kept all headers of a frame.
func (f *Frame) Headed() bool {
	if !f.cut() {
		return true
	}
	end, _, ok := roce.FieldSpan(f.Raw, "payload")
	if !ok {
		end, _, ok = roce.FieldSpan(f.Raw, "icrc")
	}
	return ok && end <= f.Kept
}
