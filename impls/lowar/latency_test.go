package lowar_test

import (
	"fmt"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// arrival is the time at which the receiver had all data of a WRITE with immediate.
type arrival struct{ at vtime.Time }

func (*arrival) Packet(*trace.Record) {}
func (*arrival) End(vtime.Time)       {}

// Event implements trace.Sink.
func (a *arrival) Event(e *trace.Event) {
	if e.Kind == trace.Recv {
		a.at = e.At
	}
}

// megabyte moves 1 MiB over a 10 Gb/s LAN and returns how long the receiver waited for it: "We test these two types of
// latency in a 10Gbps LAN with 1MB messages" (VI-B).
func megabyte(t *testing.T, impl engine.Implementation, statements ...string) vtime.Duration {
	t.Helper()
	s := scenario.Default()
	for _, l := range append([]string{"link rate=10G delay=5us queue=100000", "qp rto=20ms receives=1 receive-len=4096",
		"post-write wr=1 len=1048576 imm=1"}, statements...) {
		if err := s.Line(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	var a arrival
	w, err := sim.New(s, [2]engine.Implementation{impl, impl}, sim.Options{Bytes: true, Sink: &a})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	if a.at == 0 {
		t.Fatal("nothing arrived")
	}
	return vtime.Duration(a.at)
}

// TestLosslessLatency: without loss only the repair packets add latency. "the additional latency at the receiver's end
// aligns closely with the transmission latency of these packets, exhibiting a direct correlation with the redundancy
// rate" (VI-B). Those of the last block follow the data and add none.
func TestLosslessLatency(t *testing.T) {
	plain := megabyte(t, gbn.Implementation())
	for _, k := range []struct{ r, c int }{{8, 1}, {32, 1}, {64, 8}, {128, 16}} {
		extra := megabyte(t, overGBN(), fmt.Sprintf("param r=%d c=%d", k.r, k.c)) - plain
		// A repair packet of full length is 1130 bytes at layer 1, or 1146 with the RETH of the first packet in it.
		repairs := (1024/k.r - 1) * k.c
		want := vtime.Duration(repairs) * 1130 * 8 * vtime.Nanosecond / 10
		t.Logf("(%d,%d): %.1f us for %d repair packets", k.r, k.c, extra.Seconds()*1e6, repairs)
		if float64(extra) < 0.97*float64(want) || float64(extra) > 1.03*float64(want) {
			t.Errorf("(%d,%d): %.2f us more than go-back-N, want the %.2f us of %d repair packets", k.r, k.c,
				extra.Seconds()*1e6, want.Seconds()*1e6, repairs)
		}
	}
}

// TestRecoveringLatency compares the latency of a run with a loss and one without. The paper measures a time "roughly
// proportional to the size of the coding block" and attributes it to "the reordering and draining of out-of-order
// packets" (VI-B). Here draining takes no time, so a loss costs only the wait for its repair packet: nothing when other
// blocks follow, because they take longer, and in the last block the repair packets up to that one. It is never more
// than the duration of a block.
func TestRecoveringLatency(t *testing.T) {
	const packet = 8848 * vtime.Duration(100) // a MIDDLE packet of 1106 bytes at 10 Gb/s, in picoseconds
	for _, k := range []struct{ r, c int }{{8, 1}, {32, 1}, {128, 16}} {
		code := fmt.Sprintf("param r=%d c=%d", k.r, k.c)
		clean := megabyte(t, overGBN(), code)
		first := 1024 - k.r // of the last block
		one := megabyte(t, overGBN(), code, fmt.Sprintf("drop A psn=+%d tx=1", first)) - clean
		burst := megabyte(t, overGBN(), code, fmt.Sprintf("drop A psn=+%d..+%d tx=1", first, first+k.c-1)) - clean
		early := megabyte(t, overGBN(), code, "drop A psn=+0 tx=1") - clean
		span := vtime.Duration(k.r+k.c) * packet * 11 / 10
		t.Logf("(%d,%d): one loss in the last block %.2f us, a burst of %d %.2f us", k.r, k.c, one.Seconds()*1e6, k.c,
			burst.Seconds()*1e6)
		wait := vtime.Duration(k.c) * packet * 11 / 10
		if one <= 0 || one > packet*11/10 || burst < one || burst > wait || wait > span {
			t.Errorf("(%d,%d): one loss costs %v, want a repair packet; a burst %v, want at most %v", k.r,
				k.c, one, burst, wait)
		}
		if early != 0 {
			t.Errorf("(%d,%d): a loss in the first block delays the message by %v, which it need not", k.r, k.c, early)
		}
	}
}
