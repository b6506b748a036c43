package capture_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"testing"
	"testing/iotest"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
)

// blocks writes pcapng in the given byte order.
type blocks struct {
	bytes.Buffer
	order binary.AppendByteOrder
}

func (b *blocks) block(kind uint32, body ...any) *blocks {
	var data []byte
	for _, x := range body {
		switch x := x.(type) {
		case uint16:
			data = b.order.AppendUint16(data, x)
		case uint32:
			data = b.order.AppendUint32(data, x)
		case uint64:
			data = b.order.AppendUint64(data, x)
		case []byte:
			data = append(append(data, x...), make([]byte, -len(x)&3)...)
		}
	}
	length := b.order.AppendUint32(nil, uint32(len(data)+12))
	for _, part := range [][]byte{b.order.AppendUint32(nil, kind), length, data, length} {
		b.Write(part)
	}
	return b
}

func (b *blocks) section() *blocks {
	return b.block(0x0A0D0D0A, uint32(0x1A2B3C4D), uint16(1), uint16(0), uint64(math.MaxUint64))
}

func (b *blocks) face() *blocks { return b.block(1, uint16(1), uint16(0), uint32(0)) }

func (b *blocks) frame(face uint32, raw []byte) *blocks {
	return b.block(6, face, uint64(0), uint32(len(raw)), uint32(len(raw)), raw)
}

// stats writes a block of statistics: pairs of an option and its value.
func (b *blocks) stats(face uint32, options ...uint64) *blocks {
	body := []any{face, uint64(0), uint16(1), uint16(3), []byte("why")}
	for i := 0; i < len(options); i += 2 {
		body = append(body, uint16(options[i]), uint16(8), options[i+1])
	}
	return b.block(5, append(body, uint32(0))...)
}

// Losses are the sum over the interfaces of their last statistics, and are known only if every interface with frames
// has some.
func TestLosses(t *testing.T) {
	raw := tracetest.FramesAt(tracetest.Parse(t, "A>B SEND_ONLY psn=+0 len=40\n", 0), trace.A)[0].Raw
	const dropped, accepted, bySystem = 5, 6, 7
	for name, c := range map[string]struct {
		file    func(b *blocks) *blocks
		lost    uint64
		counted bool
	}{
		"nothing said": {func(b *blocks) *blocks { return b.face().frame(0, raw) }, 0, false},
		"none":         {func(b *blocks) *blocks { return b.face().frame(0, raw).stats(0, dropped, 0) }, 0, true},
		"some": {func(b *blocks) *blocks { return b.face().frame(0, raw).stats(0, dropped, 3, bySystem, 4) },
			7, true},
		"by the system": {func(b *blocks) *blocks { return b.face().frame(0, raw).stats(0, bySystem, 4) }, 4, true},
		"the last holds": {func(b *blocks) *blocks {
			return b.face().stats(0, dropped, 3).frame(0, raw).stats(0, dropped, 5)
		}, 5, true},
		"two interfaces": {func(b *blocks) *blocks {
			return b.face().face().frame(0, raw).frame(1, raw).stats(0, dropped, 3).stats(1, dropped, 2)
		}, 5, true},
		"one is silent": {func(b *blocks) *blocks {
			return b.face().face().frame(0, raw).frame(1, raw).stats(0, dropped, 0)
		}, 0, false},
		"one has nothing": {func(b *blocks) *blocks { return b.face().face().frame(0, raw).stats(0, dropped, 0) },
			0, true},
		"fewer than accepted": {func(b *blocks) *blocks {
			return b.face().frame(0, raw).stats(0, dropped, 0, accepted, 6, bySystem, 2)
		}, 5, true},
		"as many as accepted": {func(b *blocks) *blocks {
			return b.face().frame(0, raw).stats(0, dropped, 0, accepted, 1)
		}, 0, true},
		"no such interface": {func(b *blocks) *blocks { return b.face().frame(0, raw).stats(0, 3, 9) }, 0, false},
		"a block of its own": {func(b *blocks) *blocks {
			return b.face().block(0xBAD, raw).frame(0, raw).stats(0, dropped, 1)
		}, 1, true},
		"more than can be": {func(b *blocks) *blocks {
			return b.face().frame(0, raw).stats(0, dropped,
				math.MaxUint64, bySystem, 2)
		}, math.MaxUint64, true},
		"a section that counts": {func(b *blocks) *blocks {
			return b.face().frame(0, raw).stats(0, dropped, 1).section().face().frame(0, raw)
		}, 1, false},
	} {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			b := c.file((&blocks{order: order}).section())
			for _, in := range []io.Reader{bytes.NewReader(b.Bytes()),
				iotest.OneByteReader(bytes.NewReader(b.Bytes()))} {
				r, err := capture.NewReader(in)
				var f capture.Frame
				for err == nil {
					err = r.Next(&f)
				}
				if s := r.Stats(); !errors.Is(err, io.EOF) || s.Dropped != c.lost || s.Counted != c.counted {
					t.Errorf("%s, %v: %d lost, counted %v; want %d, %v; %v", name, order, s.Dropped, s.Counted,
						c.lost, c.counted, err)
				}
			}
		}
	}
}

// A written capture has the losses of its tap.
func TestWriterCounts(t *testing.T) {
	f := tracetest.Parse(t, "A>B SEND_ONLY psn=+0 len=40\n", 0)
	var file bytes.Buffer
	w, err := capture.NewWriter(&file, &f.Header, capture.Tap{Side: trace.A, Device: "a0"}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	w.Lost(3)
	f.Play(trace.NewTimeline(&f.Header, w))
	if _, err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	r, err := capture.NewReader(&file)
	var frame capture.Frame
	for err == nil {
		err = r.Next(&frame)
	}
	if s := r.Stats(); s.Frames != 1 || s.Dropped != 3 || !s.Counted {
		t.Errorf("%+v, %v", s, err)
	}
}
