// Package tracetest is shared by the tests of the forms of a trace: it has fixtures that cover all kinds of records and
// events, and makes the frames and capture files of taps from fixtures.
package tracetest

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/fixture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ndjson"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Bases are the start PSNs at which everything relative must look the same: zero, before the sign change of serial
// arithmetic, and before the wrap.
var Bases = []psn.PSN{0, psn.Half - 2, psn.Mask - 2}

// Parse reads a fixture.
func Parse(t testing.TB, text string, base psn.PSN) *fixture.Trace {
	t.Helper()
	f, err := fixture.Parse(strings.NewReader(text), base)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Gap has a lost packet, a NAK, a copy, and packets that were injected or changed.
const Gap = `
# B repeats its NAK while the missing packet is still on its way.
qp mtu=1024 timeout=14 retry=7 rnr=7 qd=16 rd=4
qp A start=5
A post wr=1 WRITE len=2048 va=0x1000 rkey=0x7
A>B WRITE_FIRST  psn=+0 len=1024
A>X WRITE_MIDDLE psn=+1 len=1024            # lost
A>B WRITE_LAST   psn=+2 len=100 A
@10..12.5 B>A NAK psn=+1 msn=0 PSN_SEQ_ERR
B>A NAK psn=+1 msn=0 PSN_SEQ_ERR   // want "second NAK for psn=\+1" "again"
A>B WRITE_MIDDLE psn=+1 len=1024 cause=duplicate copy
X>B WRITE_ONLY psn=+9 len=7
A>B WRITE_ONLY psn=+1 len=8 got WRITE_ONLY psn=+9 len=8 icrc=bad
A cqe wr=1 SUCCESS
@40 end
`

// Events has every kind of event.
const Events = `qp conn=1 start=100
A post wr=1 WRITE_IMM len=1024 va=0x1000 rkey=0x7
B receive wr=9 len=4096
A cqe wr=1 LOC_LEN_ERR psn=+2
B recv wr=9 SEND_IMM len=100 imm=5 psn=+3
A timeout psn=+3 conn=1
A fatal RETRY_EXC_ERR
B store va=0x1000 len=1024 sum=7
A timer 134000us
A timer off
B count icrc=1
A probe snd_una=+3 cwnd=17
B probe epsn=+4 conn=1
B memory mismatch=0
`

// BrokenFrames has the words that damage a frame.
const BrokenFrames = `
A>B WRITE_ONLY psn=+0 len=8
A>B WRITE_ONLY psn=+0 len=8 iplen=+1
A>B WRITE_ONLY psn=+0 len=8 udplen=-2
A>B WRITE_ONLY psn=+0 len=8 dport=4790
A>B WRITE_ONLY psn=+0 len=8 cut=4
A>B ACK psn=+0 msn=1 extra=4
A>B WRITE_ONLY psn=+0 len=8 df=0 tos=2 ttl=9 sport=77 id=5
A>B WRITE_ONLY psn=+0 len=5 byte=77:1
A>B WRITE_ONLY psn=+0 len=8 fill=1 qp=0x99 icrc=bad
A>B WRITE_ONLY psn=+0 len=8 got ttl=63
A>B WRITE_ONLY psn=+0 len=8 raw=off sum=9
A>B OP_0x15 psn=+0
`

// MiddleLoss is the drawing of a lost packet, as every document of the project shows it.
const MiddleLoss = `
@0.088..5.088 A>B WRITE_FIRST psn=+0 len=1024
@0.176..5.176 A>B WRITE_MIDDLE psn=+1 len=1024
@0.264 A>X WRITE_MIDDLE psn=+2 len=1024 cause=drop[0]
@5.358..10.358 B>A NAK psn=+2 msn=0 PSN_SEQ_ERR
@20.628 A cqe wr=1
`

// Everything has every fate, two connections and most events.
const Everything = `qp conn=1 start=7
A post wr=1 WRITE len=2048
A>B WRITE_FIRST psn=+0 len=1024
A>B WRITE_LAST psn=+1 len=1024 A got WRITE_LAST psn=+1 len=1024 A icrc=bad
A>B WRITE_FIRST psn=+0 len=1024 copy cause=duplicate
X>B WRITE_ONLY psn=-1 len=8
X>A NAK psn=+1 msn=0 PSN_SEQ_ERR
B>X ACK psn=+1 msn=1
B>A ACK psn=+1 msn=1 got cut=4
A>B SEND_ONLY psn=+0 len=4 conn=1 A
B>A ACK psn=+0 msn=1 credit=3 conn=1
A>B ATOMIC_WRITE psn=+1 len=8 cut=12
A timer 5us
A timeout psn=+1
A timer off
B store va=0x10 len=9 sum=1
B recv wr=3 SEND len=4 conn=1
B receive wr=4 len=64
B probe epsn=+2
A fatal RETRY_EXC_ERR
A cqe wr=1 RETRY_EXC_ERR
`

// LossyRun is a long one-way run with retransmissions, losses and reordering, from a seed.
func LossyRun(seed uint64, n int) string {
	rng := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	at := 1.0
	for i := 0; i < n; i++ {
		at += 0.1 + rng.Float64()
		line := func(to string, delay float64) {
			fmt.Fprintf(&b, "@%.3f..%.3f A>%s SEND_ONLY psn=+%d len=16 A\n", at, at+delay, to, i)
		}
		for rng.IntN(10) == 0 {
			line("X", 0)
			at += 100 + 50*rng.Float64()
		}
		line("B", 20+rng.Float64()*3)
		if rng.IntN(4) == 0 {
			fmt.Fprintf(&b, "@%.3f..%.3f B>A ACK psn=+%d msn=%d\n", at+30, at+50+rng.Float64(), i, i+1)
		}
	}
	return b.String() + fmt.Sprintf("@%.3f A>B SEND_ONLY psn=-1 len=1\n", at+1e6)
}

// Frames is a capture.Source.
type Frames struct {
	List []capture.Frame // the next first
	Lost uint64          // frames that the source reports as lost
}

// Next implements capture.Source.
func (l *Frames) Next(f *capture.Frame) error {
	if len(l.List) == 0 {
		return io.EOF
	}
	*f = l.List[0]
	f.Kept = len(f.Raw)
	l.List = l.List[1:]
	return nil
}

// Stats returns the number of lost frames.
func (l *Frames) Stats() capture.Stats { return capture.Stats{Dropped: l.Lost} }

// Epoch is vtime 0 in the frames of FramesAt.
var Epoch = time.Unix(1_700_000_000, 0)

// WriteTaps writes the captures of a fixture into a folder.
func WriteTaps(t testing.TB, f *fixture.Trace, dir string, taps ...trace.Side) {
	t.Helper()
	for _, side := range taps {
		file, err := os.Create(filepath.Join(dir, side.String()+".pcapng"))
		if err != nil {
			t.Fatal(err)
		}
		w, err := capture.NewWriter(file, &f.Header, capture.Tap{Side: side,
			Device: strings.ToLower(side.String()) + "0"}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		f.Play(trace.NewTimeline(&f.Header, w))
		if _, err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// WritePcap writes frames as another tool would: classic pcap, no comments.
func WritePcap(t testing.TB, path string, snap int, frames []capture.Frame) {
	t.Helper()
	var b bytes.Buffer
	w := pcapgo.NewWriterNanos(&b)
	if err := w.WriteFileHeader(uint32(snap), layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		n := min(len(f.Raw), snap)
		if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: f.Wall, CaptureLength: n, Length: len(f.Raw)},
			f.Raw[:n]); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// FramesAt returns the frames of a fixture that a tap sees.
func FramesAt(f *fixture.Trace, tap trace.Side) (list []capture.Frame) {
	f.Play(trace.NewTimeline(&f.Header, SightFunc(func(s *trace.Sight) {
		if s.Tap == tap {
			list = append(list, capture.Frame{Wall: time.Unix(1_700_000_000, int64(s.At)/1000),
				Raw: bytes.Clone(s.Raw)})
		}
	})))
	return list
}

// Foreign are three frames that are not RoCEv2: ARP, a datagram to another port, and one that is too short.
func Foreign(f capture.Frame) []capture.Frame {
	arp := make([]byte, 60)
	arp[12], arp[13] = 8, 6
	dns := bytes.Clone(f.Raw)
	dns[36], dns[37] = 0, 53
	return []capture.Frame{{Raw: arp, Wall: f.Wall}, {Raw: dns, Wall: f.Wall}, {Raw: []byte{1}, Wall: f.Wall}}
}

// NDJSON writes a fixture as NDJSON.
func NDJSON(t testing.TB, f *fixture.Trace) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := ndjson.NewWriter(&b, &f.Header)
	if err != nil {
		t.Fatal(err)
	}
	f.Play(w)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// SightFunc is a viewer of sights alone.
type SightFunc func(*trace.Sight)

// Sight implements trace.Viewer.
func (f SightFunc) Sight(s *trace.Sight) { f(s) }

// Event implements trace.Viewer.
func (SightFunc) Event(*trace.Event) {}

// End implements trace.Viewer.
func (SightFunc) End(vtime.Time) {}

// Discard is a sink that keeps nothing.
type Discard struct{}

// Packet implements trace.Sink.
func (Discard) Packet(*trace.Record) {}

// Event implements trace.Sink.
func (Discard) Event(*trace.Event) {}

// End implements trace.Sink.
func (Discard) End(vtime.Time) {}

// Playing returns the play function of a fixture, as recording.Open does.
func Playing(f *fixture.Trace) func(trace.Sink) error {
	return func(s trace.Sink) error { f.Play(s); return nil }
}
