package recording

import (
	"io"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/recording/evidence"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
)

// many is a capture of many connections between two hosts. Each sends five requests and gets five answers, a hundred
// connections at a time. Every other connection starts with the same PSN.
type many struct {
	conns, next int
	buf         []byte
}

const (
	together  = 100 // connections at a time
	exchanges = 5   // of each
)

// Next implements capture.Source.
func (m *many) Next(f *capture.Frame) error {
	batch, in := m.next/(2*exchanges*together), m.next%(2*exchanges*together)
	conn, turn := batch*together+in%together, in/together
	if conn >= m.conns {
		return io.EOF
	}
	at := tracetest.Epoch.Add(time.Duration(m.next) * time.Microsecond)
	m.next++
	start := psn.New(1000)
	if conn%2 == 1 {
		start = psn.New(uint32(conn) * 977)
	}
	h := roce.Frame{Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), SrcPort: 50000, TTL: 64}
	h.Packet.BTH = roce.BTH{Opcode: roce.SendOnly, DestQP: askerQP(conn) + 1<<20, PSN: start.Add(turn / 2),
		AckReq: true, PKey: roce.DefaultPKey}
	if turn%2 == 1 {
		h.Src, h.Dst = h.Dst, h.Src
		h.Packet.Opcode, h.Packet.DestQP, h.Packet.AckReq = roce.Acknowledge, askerQP(conn), false
		h.Packet.AETH = roce.AETH{Syndrome: roce.SyndromeACK}
	}
	m.buf = h.AppendTo(m.buf[:0])
	*f = capture.Frame{Wall: at, Raw: m.buf, Kept: len(m.buf)}
	return nil
}

// askerQP returns the QP number of the requester of a connection.
func askerQP(conn int) uint32 { return uint32(conn)*7%(1<<20) + 16 }

// A capture of many connections is learnt in linear memory and time. Each connection is paired correctly, those with
// equal start PSNs by the order of their answers.
func TestManyConnections(t *testing.T) {
	conns := 40_000
	if testing.Short() {
		conns = 4_000
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	l, err := learn([]capture.Source{&many{conns: conns}})
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := int(after.HeapAlloc-before.HeapAlloc) / (2 * conns); each > 1500 {
		t.Errorf("%d bytes a flow", each)
	}
	h := l.header()
	if len(h.Conns) != conns {
		t.Fatalf("%d connections, want %d", len(h.Conns), conns)
	}
	wrong := 0
	for i := range h.Conns {
		if e := &h.Conns[i].Ends; e[trace.B].QP.QPN != e[trace.A].QP.QPN+1<<20 {
			wrong++
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d connections are put together wrong", wrong, conns)
	}
	v := evidence.NewVantage(&h)
	if err := l.show(&h, nil, v.Follow); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := int(after.HeapAlloc-before.HeapAlloc) / (2 * conns); each > 3000 {
		t.Errorf("%d bytes a flow, with what tells where the tap stands", each)
	}
	runtime.KeepAlive(l)
	runtime.KeepAlive(v)
}
