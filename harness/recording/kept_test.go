package recording

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
)

// readings counts the reads of a file in memory.
type readings struct {
	*bytes.Reader
	reads int
}

// ReadAt implements io.ReaderAt.
func (c *readings) ReadAt(p []byte, off int64) (int, error) {
	c.reads++
	return c.Reader.ReadAt(p, off)
}

// A capture of one tap that was learnt is not read again, even where a frame is damaged, and plays as from the file,
// but for the bytes of payloads.
func TestPlayWithoutReadingAgain(t *testing.T) {
	f := tracetest.Parse(t, "qp A start=77 mtu=1024\nqp B start=500 mtu=1024\n"+tracetest.LossyRun(1, 200), psn.New(0))
	frames := tracetest.FramesAt(f, trace.A)
	raw := frames[len(frames)/2].Raw
	raw[len(raw)-1] ^= 1
	path := filepath.Join(t.TempDir(), "a.pcap")
	tracetest.WritePcap(t, path, 1<<16, frames)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	in := &readings{Reader: bytes.NewReader(file)}
	r, err := ReadFrom("it", in, int64(len(file)), Stated{})
	if err != nil {
		t.Fatal(err)
	}
	learnt := in.reads
	var got, want trace.Collector
	if err := r.Play(&got); err != nil || in.reads != learnt || r.Capture.BadICRC != 1 {
		t.Fatalf("%d reads after %d, %d damaged frames, %v", in.reads, learnt, r.Capture.BadICRC, err)
	}
	err = again([]Part{{"it", in, int64(len(file))}})(func(c *captureFiles) error {
		_, err := playForeign(&r.Header, c.sources, &want)
		return err
	})
	if err != nil || len(got.Records) != len(want.Records) || len(want.Records) != len(frames) {
		t.Fatalf("%d records, want %d of %d frames, %v", len(got.Records), len(want.Records), len(frames), err)
	}
	for i := range want.Records {
		a, b := got.Records[i], want.Records[i]
		a.Raw, b.Raw, a.Packet.Payload, b.Packet.Payload = a.Raw[:54], b.Raw[:54], nil, nil
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("record %d: %+v, want %+v", i, a, b)
		}
	}
}

// A UDP checksum over IPv6 is over the payload, so that it is right where the payload is, too.
func TestPlayChecksumOverPayload(t *testing.T) {
	text := "qp mtu=1024\n"
	for i := range 2 * headLeast / 64 {
		text += fmt.Sprintf("@%d..%d A>B SEND_ONLY psn=+%d len=512\n", i, i+9, i)
	}
	frames := tracetest.FramesAt(tracetest.Parse(t, text, 0), trace.A)
	sums := 0
	for i := range frames {
		var h roce.Frame
		if err := h.Decode(frames[i].Raw); err != nil {
			t.Fatal(err)
		}
		for j := range h.Packet.Payload {
			h.Packet.Payload[j] = 7
		}
		for _, a := range []*netip.Addr{&h.Src, &h.Dst} {
			ip := netip.MustParseAddr("2001:db8::").As16()
			ip[15] = a.As4()[3]
			*a = netip.AddrFrom16(ip)
		}
		frames[i].Raw = h.AppendTo(nil)
	}
	r, _ := filed(t, frames)
	var got trace.Collector
	if err := r.Play(&got); err != nil || len(got.Records) != len(frames) {
		t.Fatalf("%d records of %d frames, %v", len(got.Records), len(frames), err)
	}
	for i := range got.Records {
		raw := got.Records[i].Raw
		if sum := binary.BigEndian.Uint16(raw[60:]); sum != 0 {
			sums++
			if want := roce.UDPChecksum(raw[14:]); sum != want {
				t.Fatalf("record %d: UDP checksum %04x, of its bytes %04x", i, sum, want)
			}
		}
	}
	if sums == 0 {
		t.Error("no frame has a checksum")
	}
}

// Heads that will not fit are given up early, by how much of the capture they are of; those that do not fit at once.
func TestHeadsFit(t *testing.T) {
	f := capture.Frame{Raw: make([]byte, 1<<16), Kept: 1 << 16}
	for _, c := range []struct {
		bytes int
		read  float64
		want  bool
	}{
		{headCheck / 2, 0.001, true}, {2 * headCheck, 0.001, false}, {2 * headCheck, 0.5, true},
		{headLimit - headCheck, 1, true}, {headLimit + headCheck, 1, false},
	} {
		k := kept{heads: make([]capture.Heads, 1), progress: func() float64 { return c.read }, check: headCheck}
		fits := true
		for ; k.size() < c.bytes && fits; fits = k.fits() {
			k.heads[0].Add(&f, &roce.Frame{})
		}
		if fits != c.want {
			t.Errorf("%d bytes of %v of a capture fit: %v", c.bytes, c.read, fits)
		}
	}
}
