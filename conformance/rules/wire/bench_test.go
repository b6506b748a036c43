package wire

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// stream is a run without bytes, as the judge of these rules sees it: WRITE_MIDDLEs that arrive, every 16th
// acknowledged.
type stream struct {
	judge *rule.Judge
	rec   trace.Record
	pkt   roce.Packet
	next  psn.PSN
}

func newStream() *stream {
	var h trace.Header
	h.Taps = [2]bool{true, true}
	h.Conns = make([]trace.Conn, 1)
	for i := range h.Conns[0].Ends {
		e := &h.Conns[0].Ends[i]
		e.Known, e.QP = true, engine.QP{QPN: 7, DestQPN: 7, PKey: roce.DefaultPKey, MTU: 1024}
	}
	s := &stream{judge: rule.NewJudge(h, Rules(), rule.Options{})}
	s.see(roce.WriteFirst, trace.A)
	for range 64 { // the tracker's window has its size
		s.step()
	}
	return s
}

func (s *stream) step() {
	s.see(roce.WriteMiddle, trace.A)
	if s.next%16 == 0 {
		s.see(roce.Acknowledge, trace.B)
	}
}

// see passes a packet to the judge at both taps.
func (s *stream) see(o roce.Opcode, from trace.Side) {
	s.pkt = roce.Packet{BTH: roce.BTH{Opcode: o, PKey: roce.DefaultPKey, DestQP: 7, PSN: s.next}}
	if o == roce.Acknowledge {
		s.pkt.PSN, s.pkt.AETH.Syndrome = s.next.Prev(), roce.SyndromeACK
	} else {
		s.pkt.Len, s.pkt.RETH.DMALen = 1024, 1<<30
		s.next = s.next.Next()
	}
	s.rec = trace.Record{From: from, Fate: trace.Delivered, Packet: s.pkt}
	sight := trace.Sight{Tap: from, Out: true, Rec: &s.rec, Pkt: &s.pkt}
	s.judge.Sight(&sight)
	sight.Tap, sight.Out = from.Other(), false
	s.judge.Sight(&sight)
}

func TestNoAllocations(t *testing.T) {
	s := newStream()
	if n := testing.AllocsPerRun(1000, s.step); n != 0 {
		t.Errorf("%v allocations per packet", n)
	}
}

// BenchmarkPacket measures all rules of the family that need no bytes, and the tracker, per packet.
func BenchmarkPacket(b *testing.B) {
	s := newStream()
	b.ReportAllocs()
	for b.Loop() {
		s.step()
	}
}
