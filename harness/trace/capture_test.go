package trace

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
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// sights keeps everything that a viewer can see of packets.
type sights struct{ list []string }

func (v *sights) Sight(s *Sight) {
	r := s.Rec
	v.list = append(v.list, fmt.Sprintf("%d %v out=%v #%d conn=%d %v copy=%v %q %v icrc=%d sum=%x pad=%d raw=%x payload=%d wire=%d", s.At, s.Tap, s.Out,
		s.Index, r.Conn, r.Fate, r.Copy, r.Cause, s.Pkt, s.ICRC, s.Sum, s.Pkt.Pad, s.Raw, len(s.Pkt.Payload), r.WireBytes))
}
func (v *sights) Event(*Event)   {}
func (v *sights) End(vtime.Time) {}

func sightsOf(t *testing.T, h *Header, play func(Sink) error) []string {
	t.Helper()
	var v sights
	if err := play(NewTimeline(h, &v)); err != nil {
		t.Fatal(err)
	}
	return v.list
}

func playing(f *Fixture) func(Sink) error {
	return func(s Sink) error { f.Play(s); return nil }
}

// writeTaps writes the captures of a fixture into a folder.
func writeTaps(t testing.TB, f *Fixture, dir string, taps ...Side) {
	t.Helper()
	for _, side := range taps {
		file, err := os.Create(filepath.Join(dir, side.String()+".pcapng"))
		if err != nil {
			t.Fatal(err)
		}
		w, err := NewTapWriter(file, &f.Header, Tap{Side: side, Device: strings.ToLower(side.String()) + "0"}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		f.Play(NewTimeline(&f.Header, w))
		if _, err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// exactTimes has picoseconds that no capture format holds, ties between taps, and every fate.
const exactTimes = `qp conn=1 start=70
@0.000001..0.000002 A>B WRITE_FIRST psn=+0 len=1024
@0.000001 B>A SEND_ONLY psn=+0 len=3
@0.000002 A>X WRITE_MIDDLE psn=+1 len=1024 cause=drop[0]
@3..4 A>B WRITE_LAST psn=+2 len=5 got WRITE_LAST psn=+3 len=5 icrc=bad cause=corrupt[1]
@3..3.5 A>B SEND_ONLY psn=+0 len=4 conn=1
@3.5 B>A ACK psn=+0 msn=1 conn=1 got tos=3
@3.5 X>A NAK psn=+1 msn=0 PSN_SEQ_ERR
@5..9 A>B SEND_ONLY psn=+3 len=9
@6..8 A>B SEND_ONLY psn=+4 len=0
@6 A>B SEND_ONLY psn=+4 len=0 copy cause=duplicate[0]
@7 B>X CNP psn=+0
@8.6 A>B SEND_ONLY psn=+4 len=0 copy cause=duplicate[0]
@8..7.5 A>B SEND_ONLY psn=+5 len=1
@9..8.5 A>B SEND_ONLY psn=+6 len=1 got SEND_ONLY psn=+6 len=1 icrc=bad
A post wr=1 SEND len=4
`

// The trace from a pair of captures is the trace from which they were written, to the picosecond (META-PCAP-001).
func TestCapturesGiveTheSameSights(t *testing.T) {
	for _, text := range []string{exactTimes, gap, everything, strings.ReplaceAll(brokenFrames, " raw=off sum=9", "")} {
		for _, base := range bases {
			f := mustFixture(t, text, base)
			dir := t.TempDir()
			writeTaps(t, f, dir, A, B)
			h, play, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			want := f.Header
			want.Reports = 0
			if d := cmp.Diff(want, h, addrs); d != "" {
				t.Errorf("header (-want +got)\n%s", d)
			}
			if d := cmp.Diff(sightsOf(t, &f.Header, playing(f)), sightsOf(t, &h, play)); d != "" {
				t.Errorf("sights (-live +captures)\n%s", d)
			}
		}
	}
}

// fate is what one tap cannot know of a sight.
var fate = regexp.MustCompile(`#.* conn=\d+ \w+ copy=\w+ "[^"]*"`)

func TestOneCaptureGivesItsSights(t *testing.T) {
	f := mustFixture(t, exactTimes, 0)
	for _, side := range []Side{A, B} {
		dir := t.TempDir()
		writeTaps(t, f, dir, side)
		h, play, err := Open(filepath.Join(dir, side.String()+".pcapng"))
		if err != nil {
			t.Fatal(err)
		}
		if !h.Taps[side] || h.Taps[side.Other()] {
			t.Errorf("taps %v", h.Taps)
		}
		var want []string
		for _, s := range sightsOf(t, &f.Header, playing(f)) {
			if strings.Contains(s, fmt.Sprintf(" %v out=", side)) {
				want = append(want, fate.ReplaceAllString(s, ""))
			}
		}
		var got []string
		for _, s := range sightsOf(t, &h, play) {
			got = append(got, fate.ReplaceAllString(s, ""))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("tap %v (-live +capture)\n%s", side, d)
		}
	}
}

// A run folder has events in NDJSON and bytes in captures; together they are the whole trace.
func TestRunFolder(t *testing.T) {
	f := mustFixture(t, exactTimes, 0)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, NDJSONName), encode(t, f), 0o644); err != nil {
		t.Fatal(err)
	}
	h, play, err := Open(dir)
	if err != nil || h.Bytes {
		t.Fatalf("without captures: bytes %v, %v", h.Bytes, err)
	}
	if err := os.Mkdir(filepath.Join(dir, TapsName), 0o755); err != nil {
		t.Fatal(err)
	}
	writeTaps(t, f, filepath.Join(dir, TapsName), A, B)
	if h, play, err = Open(dir); err != nil || !h.Bytes {
		t.Fatalf("with captures: bytes %v, %v", h.Bytes, err)
	}
	for range 2 {
		var k keeper
		if err := play(&k); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(f.Records, k.records, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("records (-want +got)\n%s", d)
		}
		if d := cmp.Diff(f.Events, k.events); d != "" {
			t.Errorf("events (-want +got)\n%s", d)
		}
	}
}

// plainCapture writes frames as another tool would: classic pcap, no comments.
func plainCapture(t testing.TB, path string, snap int, frames []Frame) {
	t.Helper()
	var b bytes.Buffer
	w := pcapgo.NewWriterNanos(&b)
	if err := w.WriteFileHeader(uint32(snap), layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		n := min(len(f.Raw), snap)
		if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: f.Wall, CaptureLength: n, Length: len(f.Raw)}, f.Raw[:n]); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// framesAt collects what a tap sees of a fixture.
func framesAt(f *Fixture, tap Side) (list []Frame) {
	f.Play(NewTimeline(&f.Header, sightFunc(func(s *Sight) {
		if s.Tap == tap {
			list = append(list, Frame{Wall: time.Unix(1_700_000_000, int64(s.At)/1000), Raw: bytes.Clone(s.Raw)})
		}
	})))
	return list
}

func TestCaptureTruncatedAnywhere(t *testing.T) {
	dir := t.TempDir()
	f := mustFixture(t, gap, 0)
	writeTaps(t, f, dir, A)
	ng, err := os.ReadFile(filepath.Join(dir, "A.pcapng"))
	if err != nil {
		t.Fatal(err)
	}
	plainCapture(t, filepath.Join(dir, "a.pcap"), 65535, framesAt(f, A))
	classic, err := os.ReadFile(filepath.Join(dir, "a.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	for _, whole := range [][]byte{ng, classic} {
		clean := 0
		for cut := range len(whole) {
			c, err := NewCapture(bytes.NewReader(whole[:cut]))
			if err != nil {
				continue
			}
			var fr Frame
			for err == nil {
				err = c.Next(&fr)
			}
			switch {
			case errors.Is(err, io.EOF):
				clean++
			case !errors.Is(err, ErrTruncated):
				t.Fatalf("cut at %d of %d: %v", cut, len(whole), err)
			}
		}
		// Between two frames nothing shows that there were more.
		if n := len(framesAt(f, A)); clean > n+2 {
			t.Errorf("%d cuts went unnoticed, with %d frames", clean, n)
		}
	}
}

func TestCaptureForeign(t *testing.T) {
	dir := t.TempDir()
	f := mustFixture(t, "A>B SEND_ONLY psn=+0 len=40\n", 0)
	frames := framesAt(f, A)
	arp := make([]byte, 60)
	arp[12], arp[13] = 8, 6
	dns := bytes.Clone(frames[0].Raw)
	dns[36], dns[37] = 0, 53
	frames = append(frames, Frame{Raw: arp, Wall: frames[0].Wall}, Frame{Raw: dns, Wall: frames[0].Wall}, Frame{Raw: []byte{1}, Wall: frames[0].Wall})
	plainCapture(t, filepath.Join(dir, "x.pcap"), 65535, frames)
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
		c, err := NewCapture(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		var fr Frame
		n := 0
		for err = c.Next(&fr); err == nil; err = c.Next(&fr) {
			n++
		}
		if want := (CaptureStats{Frames: 1, Foreign: 3}); !errors.Is(err, io.EOF) || c.Stats() != want || n != 1 {
			t.Errorf("%d frames, %+v, %v", n, c.Stats(), err)
		}
	}
	plainCapture(t, filepath.Join(dir, "none.pcap"), 65535, frames[1:])
	if _, _, err := Open(filepath.Join(dir, "none.pcap")); err == nil || !strings.Contains(err.Error(), "0 frames on UDP port 4791, 3 others") {
		t.Errorf("no RoCE: %v", err)
	}
}

func TestCaptureErrors(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"", "shorter than a pcap header"},
		{"hello, I am not a capture at all", "neither pcap nor pcapng"},
		{"\x1f\x8bxx", "capture: "},
		{"\x0a\x0d\x0d\x0a\x00\x00", "pcapng header: unexpected EOF"},
		{"\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00\x69\x00\x00\x00", "link type"},
	} {
		if _, err := NewCapture(strings.NewReader(tc.in)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v, want %q", tc.in, err, tc.want)
		}
	}
	if _, _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "holds neither") {
		t.Errorf("empty folder: %v", err)
	}
	if _, _, err := Open("/nonexistent"); err == nil {
		t.Error("a missing file opens")
	}
}

// A capture of headers only tells headers, and neither payload nor ICRC.
func TestCaptureCutByLength(t *testing.T) {
	dir := t.TempDir()
	f := mustFixture(t, "A>B WRITE_ONLY psn=+0 len=100\nB>A ACK psn=+0 msn=1\n", 0)
	for _, tc := range []struct {
		snap   int
		defect string
	}{{96, ""}, {60, "capture: 60 of 174 bytes kept"}} {
		path := filepath.Join(dir, "cut.pcap")
		plainCapture(t, path, tc.snap, framesAt(f, A))
		_, play, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var k keeper
		if err := play(&k); err != nil {
			t.Fatal(err)
		}
		r := &k.records[0]
		if len(k.records) != 2 || r.Defect != tc.defect || r.ICRC != Unchecked || r.Raw != nil || r.Packet.Len != 100 || r.Packet.Payload != nil {
			t.Errorf("snap length %d: %d records, %+v", tc.snap, len(k.records), r)
		}
	}
}

// Frames of a cooked capture and of raw IP are the same frames without Ethernet.
func TestCaptureOtherLinks(t *testing.T) {
	raw := framesAt(mustFixture(t, "A>B SEND_ONLY psn=+7 len=4\n", 0), A)[0].Raw
	sll := append(make([]byte, 16), raw[14:]...)
	sll[1], sll[14] = 4, 8
	sll2 := append(make([]byte, 20), raw[14:]...)
	sll2[0], sll2[10] = 8, 1
	for _, tc := range []struct {
		link layers.LinkType
		data []byte
		way  Direction
	}{{layers.LinkTypeLinuxSLL, sll, Outward}, {linkSLL2, sll2, Inward}, {layers.LinkTypeRaw, raw[14:], AnyWay}, {layers.LinkTypeEthernet, raw, AnyWay}} {
		var b bytes.Buffer
		w := pcapgo.NewWriterNanos(&b)
		if err := w.WriteFileHeader(65535, tc.link); err != nil {
			t.Fatal(err)
		}
		ci := gopacket.CaptureInfo{Timestamp: time.Unix(1, 0), CaptureLength: len(tc.data), Length: len(tc.data)}
		if err := w.WritePacket(ci, tc.data); err != nil {
			t.Fatal(err)
		}
		c, err := NewCapture(&b)
		if err != nil {
			t.Fatal(err)
		}
		var f Frame
		if err := c.Next(&f); err != nil || f.Way != tc.way || !bytes.Equal(f.Raw[14:], raw[14:]) || !roce.CheckICRC(f.Raw) {
			t.Errorf("link type %v: %v, way %d, frame %x", tc.link, err, f.Way, f.Raw)
		}
	}
}

// Wireshark is an independent reader of what is written: no malformed packet, right ICRCs, and the comments.
func TestTsharkReadsOurCaptures(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Log("TSHARK IS NOT INSTALLED: our captures were not checked by an independent program")
		return
	}
	dir := t.TempDir()
	f := mustFixture(t, strings.ReplaceAll(gap, "icrc=bad", ""), 0)
	writeTaps(t, f, dir, A)
	path := filepath.Join(dir, "A.pcapng")
	out, err := exec.Command(tshark, "-r", path, "-T", "fields", "-e", "frame.interface_name", "-e", "infiniband.bth.psn",
		"-e", "infiniband.invariant.crc", "-e", "frame.comment").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	frames := framesAt(f, A)
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

func FuzzCapture(f *testing.F) {
	dir := f.TempDir()
	fx := mustFixture(f, gap, 0)
	writeTaps(f, fx, dir, A)
	ng, err := os.ReadFile(filepath.Join(dir, "A.pcapng"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(ng)
	f.Add([]byte("\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00\x01\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := NewCapture(bytes.NewReader(b))
		if err != nil {
			return
		}
		var fr Frame
		var r Record
		for c.Next(&fr) == nil {
			r = Record{}
			fr.Fill(&r)
		}
	})
}

func BenchmarkTapWriter(b *testing.B) {
	f := mustFixture(b, gap, 0)
	w, err := NewTapWriter(io.Discard, &f.Header, Tap{Side: A, Device: "a0"}, time.Time{})
	if err != nil {
		b.Fatal(err)
	}
	r := &f.Records[0]
	s := &Sight{Tap: A, Out: true, Rec: r, Pkt: &r.Packet, Raw: r.Raw}
	b.ReportAllocs()
	for range b.N {
		w.Sight(s)
	}
}
