package capture_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
)

func TestCaptureTruncatedAnywhere(t *testing.T) {
	dir := t.TempDir()
	f := tracetest.Parse(t, tracetest.Gap, 0)
	tracetest.WriteTaps(t, f, dir, trace.A)
	ng, err := os.ReadFile(filepath.Join(dir, "A.pcapng"))
	if err != nil {
		t.Fatal(err)
	}
	tracetest.WritePcap(t, filepath.Join(dir, "a.pcap"), 65535, tracetest.FramesAt(f, trace.A))
	classic, err := os.ReadFile(filepath.Join(dir, "a.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	for _, whole := range [][]byte{ng, classic} {
		clean := 0
		for cut := range len(whole) {
			c, err := capture.NewReader(bytes.NewReader(whole[:cut]))
			if err != nil {
				continue
			}
			var fr capture.Frame
			for err == nil {
				err = c.Next(&fr)
			}
			switch {
			case errors.Is(err, io.EOF):
				clean++
			case !errors.Is(err, trace.ErrTruncated):
				t.Fatalf("cut at %d of %d: %v", cut, len(whole), err)
			}
		}
		// a cut between two frames cannot be noticed
		if n := len(tracetest.FramesAt(f, trace.A)); clean > n+2 {
			t.Errorf("%d cuts went unnoticed, with %d frames", clean, n)
		}
	}
}

func TestCaptureForeign(t *testing.T) {
	dir := t.TempDir()
	f := tracetest.Parse(t, "A>B SEND_ONLY psn=+0 len=40\n", 0)
	frames := tracetest.FramesAt(f, trace.A)
	frames = append(frames, tracetest.Foreign(frames[0])...)
	tracetest.WritePcap(t, filepath.Join(dir, "x.pcap"), 65535, frames)
	b, err := os.ReadFile(filepath.Join(dir, "x.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	var z bytes.Buffer
	gz := gzip.NewWriter(&z)
	if _, err := gz.Write(b); err != nil || gz.Close() != nil {
		t.Fatal(err)
	}
	for _, file := range [][]byte{b, z.Bytes()} {
		c, err := capture.NewReader(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		var fr capture.Frame
		n := 0
		for err = c.Next(&fr); err == nil; err = c.Next(&fr) {
			n++
		}
		if want := (capture.Stats{Frames: 1, Foreign: 3, Kinds: c.Stats().Kinds}); !errors.Is(err, io.EOF) ||
			!reflect.DeepEqual(c.Stats(), want) || n != 1 {
			t.Errorf("%d frames, %+v, %v", n, c.Stats(), err)
		}
	}
}

func TestCaptureErrors(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"", "shorter than a pcap header"},
		{"hello, I am not a capture at all", "neither pcap nor pcapng"},
		{"\x1f\x8bxx", "capture: "},
		{"\x0a\x0d\x0d\x0a\x00\x00", "pcapng header: unexpected EOF"},
		{"\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00\x69\x00\x00\x00",
			"link type"},
	} {
		if _, err := capture.NewReader(strings.NewReader(tc.in)); err == nil ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v, want %q", tc.in, err, tc.want)
		}
	}
}

// Frames of a cooked capture and of raw IP are the same frames without Ethernet header.
func TestCaptureOtherLinks(t *testing.T) {
	raw := tracetest.FramesAt(tracetest.Parse(t, "A>B SEND_ONLY psn=+7 len=4\n", 0), trace.A)[0].Raw
	sll := append(make([]byte, 16), raw[14:]...)
	sll[1], sll[14] = 4, 8
	sll2 := append(make([]byte, 20), raw[14:]...)
	sll2[0], sll2[10] = 8, 1
	for _, tc := range []struct {
		link layers.LinkType
		data []byte
		way  capture.Direction
	}{{layers.LinkTypeLinuxSLL, sll, capture.Outward}, {276, sll2, capture.Inward}, {layers.LinkTypeRaw, raw[14:],
		capture.AnyWay}, {layers.LinkTypeEthernet, raw, capture.AnyWay}} {
		var b bytes.Buffer
		w := pcapgo.NewWriterNanos(&b)
		if err := w.WriteFileHeader(65535, tc.link); err != nil {
			t.Fatal(err)
		}
		ci := gopacket.CaptureInfo{Timestamp: time.Unix(1, 0), CaptureLength: len(tc.data), Length: len(tc.data)}
		if err := w.WritePacket(ci, tc.data); err != nil {
			t.Fatal(err)
		}
		c, err := capture.NewReader(&b)
		if err != nil {
			t.Fatal(err)
		}
		var f capture.Frame
		if err := c.Next(&f); err != nil || f.Way != tc.way || !bytes.Equal(f.Raw[14:], raw[14:]) ||
			!roce.CheckICRC(f.Raw) {
			t.Errorf("link type %v: %v, way %d, frame %x", tc.link, err, f.Way, f.Raw)
		}
	}
}

// Wireshark reads written captures: no malformed packet, right ICRCs, and the comments.
func TestTsharkReadsOurCaptures(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts tshark")
	}
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("no tshark, which reads our captures independently")
	}
	dir := t.TempDir()
	f := tracetest.Parse(t, strings.ReplaceAll(tracetest.Gap, "icrc=bad", ""), 0)
	tracetest.WriteTaps(t, f, dir, trace.A)
	path := filepath.Join(dir, "A.pcapng")
	out, err := exec.Command(tshark, "-r", path, "-T", "fields", "-e", "frame.interface_name", "-e",
		"infiniband.bth.psn", "-e", "infiniband.invariant.crc", "-e", "frame.comment").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	frames := tracetest.FramesAt(f, trace.A)
	if len(lines) != len(frames) {
		t.Fatalf("%d frames at tap A, want %d:\n%s", len(lines), len(frames), out)
	}
	for i, line := range lines {
		raw := frames[i].Raw
		sum, _ := roce.ICRC(raw)
		want := fmt.Sprintf("A:a0\t%d\t0x%08x\t#", psnOf(raw), bits.ReverseBytes32(sum))
		if !strings.HasPrefix(line, want) {
			t.Errorf("frame %d is %q, want %q", i+1, line, want)
		}
	}
	if out, err := exec.Command(tshark, "-r", path, "-Y", "_ws.malformed").Output(); err != nil || len(out) > 0 {
		t.Errorf("malformed: %v\n%s", err, out)
	}
}

func psnOf(raw []byte) uint32 { return binary.BigEndian.Uint32(raw[50:]) & 0xFFFFFF }

func FuzzReader(f *testing.F) {
	dir := f.TempDir()
	fx := tracetest.Parse(f, tracetest.Gap, 0)
	tracetest.WriteTaps(f, fx, dir, trace.A)
	ng, err := os.ReadFile(filepath.Join(dir, "A.pcapng"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(ng)
	f.Add([]byte("\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00\x01\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := capture.NewReader(bytes.NewReader(b))
		if err != nil {
			return
		}
		var fr capture.Frame
		var r trace.Record
		for c.Next(&fr) == nil {
			r = trace.Record{}
			fr.Fill(&r, &roce.Frame{})
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	f := tracetest.Parse(b, tracetest.Gap, 0)
	w, err := capture.NewWriter(io.Discard, &f.Header, capture.Tap{Side: trace.A, Device: "a0"}, time.Time{})
	if err != nil {
		b.Fatal(err)
	}
	r := &f.Records[0]
	s := &trace.Sight{Tap: trace.A, Out: true, Rec: r, Pkt: &r.Packet, Raw: r.Raw}
	b.ReportAllocs()
	for range b.N {
		w.Sight(s)
	}
}
