package recording

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
)

// FuzzRecording reads frames of any bytes in a file of any link type: nothing panics, and every play ends. The input is
// frames, each after its length in two bytes; the third byte of a frame is the time after the one before.
func FuzzRecording(f *testing.F) {
	fx := tracetest.Parse(f, goBackRun(1, 3, true), 0)
	for _, w := range wrappings {
		var seed []byte
		for _, fr := range tracetest.FramesAt(fx, trace.A) {
			raw := w.wrap(fr.Raw)
			seed = append(append(binary.BigEndian.AppendUint16(seed, uint16(len(raw))), 10), raw...)
		}
		f.Add(uint16(w.link), seed)
	}
	f.Fuzz(func(t *testing.T, link uint16, b []byte) {
		file := []byte(
			"\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00\x00\x00\x00\x00")
		binary.LittleEndian.PutUint16(file[20:], link)
		at := uint32(1 << 20)
		for len(b) > 3 {
			n := min(int(binary.BigEndian.Uint16(b)), len(b)-3)
			at += uint32(int32(int8(b[2])))
			for _, word := range []uint32{1_700_000_000, at % 1_000_000, uint32(n), uint32(n)} {
				file = binary.LittleEndian.AppendUint32(file, word)
			}
			file, b = append(file, b[3:3+n]...), b[3+n:]
		}
		half := bytes.NewReader(file)
		for _, parts := range [][]Part{{{"x", half, int64(len(file))}}, {{"x", half, int64(len(file))},
			{"y", half, int64(len(file))}}} {
			r, err := ReadAll(parts, Stated{})
			if err != nil {
				continue
			}
			var k trace.Collector
			if err := r.Play(&k); err != nil {
				t.Errorf("learnt and not played: %v", err)
			}
			if n := uint64(len(k.Records)); n > 2*(r.Capture.Frames+r.Capture.Twice) {
				t.Errorf("%d records of %d frames", n, r.Capture.Frames)
			}
		}
	})
}
