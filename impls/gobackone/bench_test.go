package gobackone

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// write is a request of 64 KiB.
var write = engine.WorkRequest{Op: engine.OpWrite, Len: 64 << 10, LocalVA: 1 << 30, RemoteVA: 1 << 40, RKey: 2}

// lossy is a requester and a responder without delay except for one round trip; every n-th data packet is lost.
type lossy struct {
	req   *Requester
	resp  *Responder
	every int
	now   vtime.Time
	n     int
	back  []roce.Packet
}

func newLossy(t testing.TB, every int) *lossy {
	t.Helper()
	const size = 16 << 20
	qp := engine.QP{MTU: 1024, QueueDepth: 128, ReceiveDepth: 8, AckReqEvery: 16, MaxRdAtomic: 4, MaxDestRd: 4,
		RTO: vtime.Millisecond, RetryCount: 7, RNRRetry: 7, Access: engine.AllAccess, PKey: roce.DefaultPKey}
	var mem memory.Host
	for _, r := range []memory.Region{
		{RKey: 1, Base: 1 << 30, Len: size, Access: engine.AllAccess, Bytes: make([]byte, size)},
		{RKey: 2, Base: 1 << 40, Len: size, Access: engine.AllAccess, Bytes: make([]byte, size)},
	} {
		if err := mem.Register(r); err != nil {
			t.Fatal(err)
		}
	}
	req, resp, err := New(qp, &mem)
	if err != nil {
		t.Fatal(err)
	}
	return &lossy{req: req, resp: resp, every: every, back: make([]roce.Packet, 0, 4096)}
}

// message writes one message and carries packets until none is left. It returns the number of data packets.
func (l *lossy) message(t testing.TB) (sent int) {
	if err := l.req.Post(l.now, write); err != nil {
		t.Fatal(err)
	}
	var p roce.Packet
	for {
		for l.req.PollTransmit(l.now, &p) {
			sent++
			if l.n++; l.n%l.every != 0 {
				l.resp.HandlePacket(l.now, &p)
			}
			for l.resp.PollTransmit(l.now, &p) {
				l.back = append(l.back, p)
			}
		}
		for i := range l.back {
			l.req.HandlePacket(l.now, &l.back[i])
		}
		moved := len(l.back) > 0
		l.back = l.back[:0]
		if ev, ok := l.req.PollEvent(); ok && ev.Kind == engine.CQE {
			return sent
		}
		if at, ok := l.req.PollTimer(); !moved && ok {
			l.now = at
			l.req.HandleTimer(l.now)
		}
	}
}

// TestRecoveryAllocatesNothing runs over a wire that loses every 50th packet.
func TestRecoveryAllocatesNothing(t *testing.T) {
	l := newLossy(t, 50)
	for range 200 {
		l.message(t)
	}
	if n := testing.AllocsPerRun(200, func() { l.message(t) }); n != 0 {
		t.Errorf("%v allocations per message with loss, want none", n)
	}
	if l.req.resent == 0 {
		t.Error("nothing was lost")
	}
}

// TestOneLossCostsOnePacket: a message of 64 packets of which two are lost takes 66.
func TestOneLossCostsOnePacket(t *testing.T) {
	l := newLossy(t, 30)
	if sent := l.message(t); sent != 64+2 { // the 30th and the 60th
		t.Errorf("%d packets sent, want 66", sent)
	}
}

func BenchmarkMessage(b *testing.B) {
	for _, c := range []struct {
		name  string
		every int
	}{{"lossless", 1 << 30}, {"loss 2%", 50}} {
		b.Run(c.name, func(b *testing.B) {
			l := newLossy(b, c.every)
			b.ReportAllocs()
			b.SetBytes(int64(write.Len))
			for b.Loop() {
				l.message(b)
			}
		})
	}
}
