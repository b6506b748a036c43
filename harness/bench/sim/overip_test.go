package sim

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/recording"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ndjson"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// blast is a minimal transport over UDP: a message is one datagram, complete when it is sent.
type blast struct {
	engine.Engine
	qp     engine.QP
	mem    engine.Memory
	queue  []engine.WorkRequest
	events []engine.Event
	buf    []byte
	got    [][]byte
}

func (b *blast) Post(_ vtime.Time, wr engine.WorkRequest) error {
	b.queue = append(b.queue, wr)
	return nil
}
func (b *blast) PostReceive(vtime.Time, engine.ReceiveRequest) error { return nil }
func (b *blast) HandlePacket(_ vtime.Time, p *roce.Packet) {
	b.got = append(b.got, bytes.Clone(p.Payload))
}
func (b *blast) HandleTimer(vtime.Time)        {}
func (b *blast) PollTimer() (vtime.Time, bool) { return 0, false }
func (b *blast) Flush(vtime.Time)              {}
func (b *blast) PollEvent() (ev engine.Event, ok bool) {
	if ok = len(b.events) > 0; ok {
		ev, b.events = b.events[0], b.events[1:]
	}
	return ev, ok
}

func (b *blast) PollTransmit(_ vtime.Time, p *roce.Packet) bool {
	if len(b.queue) == 0 {
		return false
	}
	wr := b.queue[0]
	b.queue = b.queue[1:]
	s := iwarp.Segment{Opcode: iwarp.Send, DDP: 1, RDMAP: 1, Last: true, MSN: uint32(wr.ID) + 1,
		Payload: b.mem.Load(wr.LocalVA, int(wr.Len))}
	b.buf = iwarp.AppendDatagram(b.buf[:0], iwarp.PortOf(b.qp.QPN), iwarp.Port, &s)
	*p = roce.Packet{BTH: roce.BTH{Opcode: roce.UDP}, Payload: b.buf, Len: len(b.buf)}
	b.events = append(b.events, engine.Event{Kind: engine.CQE, ID: wr.ID})
	return true
}

// blasts returns the transport, which adds its responders to list in the order of New.
func blasts(list *[]*blast) engine.Implementation {
	return engine.Implementation{Name: "blast", Accepts: func(o roce.Opcode) bool { return o == roce.UDP },
		New: func(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
			resp := &blast{qp: qp}
			*list = append(*list, resp)
			return &blast{qp: qp, mem: mem}, resp, nil
		}}
}

func blastWorld(t *testing.T, text string, sink trace.Sink) (*World, []*blast) {
	t.Helper()
	s, err := scenario.Parse(strings.NewReader("impl blast\n" + text))
	if err != nil {
		t.Fatal(err)
	}
	var made []*blast
	impl := blasts(&made)
	w, err := New(s, [2]engine.Implementation{impl, impl}, Options{Sink: sink})
	if err != nil {
		t.Fatal(err)
	}
	return w, made
}

const blastSpec = "link rate=1G delay=1ms\nqp count=2\npost-send wr=1 len=5000\npost-send wr=2 len=100 qp=1\n"

// Datagrams cross the link in fragments, reach the QP of their port whole, and cost one frame per fragment.
func TestDatagramsAreCutAndJoined(t *testing.T) {
	var c trace.Collector
	w, made := blastWorld(t, blastSpec+"drop A type=FRAGMENT nth=20\n", &c)
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	if len(c.Records) != 5 {
		t.Fatalf("%d frames, want 4 fragments and a whole datagram", len(c.Records))
	}
	for i, want := range []roce.IP{{Fragment: roce.NewFragment(0, true)}, {Fragment: roce.NewFragment(1480, true)},
		{Fragment: roce.NewFragment(2960, true)},
		{Fragment: roce.NewFragment(4440, false)}, {ID: 1}} {
		if r := &c.Records[i]; r.Packet.IP != want || r.Packet.Opcode != roce.UDP || r.Conn != i/4 ||
			r.WireBytes > 1538 {
			t.Errorf("frame %d is %+v of connection %d, want %+v", i, r.Packet.IP, r.Conn, want)
		}
	}
	for i, want := range []int{5000, 100} {
		got := made[2+i].got
		if len(got) != 1 {
			t.Fatalf("connection %d got %d datagrams", i, len(got))
		}
		var d iwarp.Datagram
		if err := d.Decode(got[0]); err != nil || len(d.Segment.Payload) != want ||
			d.Src != iwarp.PortOf(0x11+uint32(i)) {
			t.Errorf("connection %d got %v of %d bytes from port %#x, %v", i, &d.Segment,
				len(d.Segment.Payload), d.Src, err)
		}
	}
}

// A datagram that loses a fragment never arrives, and the next one does.
func TestLostFragment(t *testing.T) {
	w, made := blastWorld(t, blastSpec+"drop A psn=+0 type=FRAGMENT nth=2\n", &trace.Collector{})
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	if len(made[2].got) != 0 || len(made[3].got) != 1 {
		t.Errorf("got %d and %d datagrams, want none and one", len(made[2].got), len(made[3].got))
	}
}

// A trace of datagrams reads back from NDJSON, from the captures, and from the captures without their notes.
func TestOverIPTraceReadsBack(t *testing.T) {
	var want trace.Collector
	w, _ := blastWorld(t, blastSpec+"drop A psn=+0 type=FRAGMENT nth=1\ncorrupt A psn=+1\n", &want)
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	h, dir := w.Header(), t.TempDir()
	write := func(name string, make func(f *os.File) (trace.Sink, func() error)) {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		sink, done := make(f)
		for i := range want.Records {
			sink.Packet(&want.Records[i])
		}
		sink.End(want.Ended)
		if err := done(); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	write("trace.ndjson", func(f *os.File) (trace.Sink, func() error) {
		out, err := ndjson.NewWriter(f, &h)
		if err != nil {
			t.Fatal(err)
		}
		return out, out.Flush
	})
	for _, side := range []trace.Side{trace.A, trace.B} {
		write(side.String()+".pcapng", func(f *os.File) (trace.Sink, func() error) {
			tap, err := capture.NewWriter(f, &h, capture.Tap{Side: side, Device: "x"}, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			return trace.NewTimeline(&h, tap), func() error { _, err := tap.Flush(); return err }
		})
	}
	for _, path := range []string{filepath.Join(dir, "trace.ndjson"), dir} {
		_, play, err := recording.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var got trace.Collector
		if err := play(&got); err != nil || len(got.Records) != len(want.Records) {
			t.Fatalf("%s: %d records, want %d, %v", path, len(got.Records), len(want.Records), err)
		}
		for i := range got.Records {
			g, r := &got.Records[i], &want.Records[i]
			if g.Packet.String() != r.Packet.String() || g.Conn != r.Conn || g.Fate != r.Fate ||
				(g.Changed == nil) != (r.Changed == nil) {
				t.Errorf("%s: record %d is\n%v of %d, %v; want\n%v of %d, %v", path, i, &g.Packet, g.Conn, g.Fate,
					&r.Packet, r.Conn, r.Fate)
			}
		}
	}
	if c := want.Records[4].Changed; c == nil || binary.BigEndian.Uint16(c.Packet.Payload) != iwarp.PortOf(0x12) {
		t.Error("the corruption is missing, or hit the ports")
	}
}
