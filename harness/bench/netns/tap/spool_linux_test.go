package tap

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

const ms = vtime.Millisecond

func at(d vtime.Duration) vtime.Time { return vtime.Time(d) }

// A spool is read as it was written, without the frames before the run, up to where a full disk cut it.
func TestSpool(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "spool")
	must(t, err)
	defer f.Close()
	s := newSpool(capture.Tap{Side: trace.B}, f)
	for i, p := range []packetio.Packet{
		{Time: at(5 * ms), Data: []byte("early")}, {Time: at(10 * ms), Data: []byte("first"), Outgoing: true},
		{Time: at(14 * ms), Data: []byte("answer"), Outgoing: true}, // earlier than the packet that it answers
		{Time: at(12 * ms), Data: bytes.Repeat([]byte{7}, 9000)}, {Time: at(15 * ms), Data: []byte("cut")},
	} {
		if err := s.write(&p); err != nil {
			t.Fatal(i, err)
		}
	}
	must(t, s.flush())
	end, err := f.Seek(0, io.SeekCurrent)
	must(t, err)
	must(t, f.Truncate(end-1))
	zero := time.Unix(1000, 0)
	src, err := s.source(zero, at(10*ms), 3)
	must(t, err)
	if got := src.Stats().Dropped; got != 3 {
		t.Errorf("%d frames were dropped, want 3", got)
	}
	var frame capture.Frame
	must(t, src.Next(&frame))
	if string(frame.Raw) != "first" || !frame.Wall.Equal(zero) || frame.Way != capture.Outward || frame.Tap != trace.B {
		t.Errorf("%+v", frame)
	}
	must(t, src.Next(&frame))
	if len(frame.Raw) != 9000 || frame.Raw[8999] != 7 || frame.Way != capture.Inward ||
		frame.Wall.Sub(zero) != 2*time.Millisecond {
		t.Errorf("%d bytes at %s", len(frame.Raw), frame.Wall.Sub(zero))
	}
	must(t, src.Next(&frame))
	if string(frame.Raw) != "answer" {
		t.Errorf("%q", frame.Raw)
	}
	if err := src.Next(&frame); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
