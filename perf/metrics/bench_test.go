package metrics

import (
	"fmt"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// generator makes the sights of connections that send messages of 64 packets, each acknowledged a window later.
type generator struct {
	conns, window int
	at            vtime.Time
	n             int // requests made
	rec           trace.Record
	sight         trace.Sight
}

func newGenerator() *generator { return &generator{conns: 1, window: 1000} }

// show makes a sight of packet k of a connection; every 1000th request is lost.
func (g *generator) show(conn, k int, op roce.Opcode, from, tap trace.Side) *trace.Sight {
	r := &g.rec
	r.Conn, r.From, r.Fate, r.WireBytes = conn, from, trace.Delivered, 1106
	r.Packet.Opcode, r.Packet.PSN, r.Packet.Len = op, psn.New(uint32(k)), 1024
	r.Packet.AETH.Syndrome = roce.SyndromeACK
	g.sight = trace.Sight{At: g.at, Tap: tap, Out: tap == from, Rec: r, Pkt: &r.Packet}
	return &g.sight
}

// request makes the next request at the sender's tap.
func (g *generator) request() *trace.Sight {
	k := g.n / g.conns
	op := roce.WriteMiddle
	switch k % 64 {
	case 0:
		op = roce.WriteFirst
	case 63:
		op = roce.WriteLast
	}
	conn := g.n % g.conns
	g.n++
	g.at += vtime.Time(100 * vtime.Nanosecond)
	return g.show(conn, k, op, trace.A, trace.A)
}

// step shows one request at both taps and, every 16 requests of a connection, an ACK at both taps. It returns the
// number of sights.
func (g *generator) step(c *Collector) int {
	s := g.request()
	conn, k, op := s.Rec.Conn, g.n/g.conns, s.Pkt.Opcode
	c.Sight(s)
	if k%16 != 0 || k < g.window {
		return 1
	}
	c.Sight(g.show(conn, k-g.window/2, op, trace.A, trace.B))
	c.Sight(g.show(conn, k-g.window/2, roce.Acknowledge, trace.B, trace.B))
	c.Sight(g.show(conn, k-g.window, roce.Acknowledge, trace.B, trace.A))
	return 4
}

func BenchmarkSight(b *testing.B) {
	for _, conns := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprintf("conns=%d", conns), func(b *testing.B) {
			g := &generator{conns: conns, window: 40_000 / conns}
			c := NewCollector(&trace.Header{Taps: [2]bool{true, true}, Conns: make([]trace.Conn, conns)}, Options{})
			for range 200_000 {
				g.step(c)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n += g.step(c)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/sight")
		})
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	g := newGenerator()
	c := NewCollector(&trace.Header{Taps: [2]bool{true, true}, Conns: make([]trace.Conn, 1)}, Options{})
	for range 20_000 * 64 {
		g.step(c)
	}
	if n := testing.AllocsPerRun(20, func() {
		for range 10_000 {
			g.step(c)
		}
	}); n > 0 {
		t.Errorf("%v allocations in 10 000 packets", n)
	}
}
