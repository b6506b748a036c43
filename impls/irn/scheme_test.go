package irn

import (
	"math/rand/v2"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var starts = []psn.PSN{0, psn.Half - 2, psn.Mask - 2}

// TestBitmap compares every operation with a set of offsets, over windows that move and wrap.
func TestBitmap(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 0))
		window := 1 + rng.IntN(300)
		b := newBitmap(window)
		una, set := starts[seed%3], map[psn.PSN]bool{}
		for range 2000 {
			p := una.Add(rng.IntN(window))
			switch rng.IntN(4) {
			case 0:
				b.clear(p)
				delete(set, p)
			case 1:
				b.clearRange(una, p)
				for ; una.Less(p); una = una.Next() {
					delete(set, una)
				}
			default:
				b.set(p)
				set[p] = true
			}
			if b.has(p) != set[p] {
				t.Fatalf("seed %d: bit %d is %v", seed, p, b.has(p))
			}
			from := una.Add(rng.IntN(window))
			to, want := una.Add(window), from
			for want.Less(to) && set[want] {
				want = want.Next()
			}
			if got := b.nextClear(from, to); got != want {
				t.Fatalf("seed %d: nextClear(+%d, +%d) is +%d, want +%d", seed, from.Sub(una), to.Sub(una),
					got.Sub(una), want.Sub(una))
			}
		}
	}
}

// TestReceiver lets packets arrive at random and compares expectedSeq, the codes and the number of held packets with a
// map.
func TestReceiver(t *testing.T) {
	cfg := Config{Cap: 64}
	codes := []code{partly, whole, waiting}
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 1))
		start := starts[seed%3]
		r, next, got := newReceiver(&cfg, start), 0, map[int]code{}
		for range 1000 {
			off := next - 4 + rng.IntN(80)
			what := r.arrive(start.Add(off))
			want := early
			switch {
			case off < next:
				want = old
			case off >= next+cfg.Cap:
				want = beyond
			case off == next:
				want = inOrder
			case got[off] != absent:
				want = repeated
			}
			if what != want {
				t.Fatalf("seed %d: +%d at +%d is %d, want %d", seed, off, next, what, want)
			}
			switch what {
			case early:
				got[off] = codes[rng.IntN(3)]
				r.record(start.Add(off), got[off])
			case inOrder:
				for r.pass(); r.code(r.expected) != absent; r.pass() {
					if r.code(r.expected) != got[r.expected.Sub(start)] {
						t.Fatalf("seed %d: +%d has code %b", seed, r.expected.Sub(start), r.code(r.expected))
					}
				}
				for next++; got[next] != absent; next++ {
					delete(got, next)
				}
			}
			if r.expected != start.Add(next) || r.held != len(got) {
				t.Fatalf("seed %d: expectedSeq +%d with %d held, want +%d with %d", seed, r.expected.Sub(start),
					r.held, next, len(got))
			}
		}
	}
}

// TestSenderSendsHolesOnce plays windows with random losses whose retransmissions all arrive, over a line that keeps
// order: each lost packet is retransmitted once, no other is, and recovery ends.
func TestSenderSendsHolesOnce(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 2))
		cfg := Config{Cap: 128}
		start := starts[seed%3]
		s, r := newSender(&cfg, start), newReceiver(&cfg, start)
		type ack struct {
			cum, sack psn.PSN
			nack      bool
		}
		var wire []psn.PSN
		var back []ack
		lost, again := map[psn.PSN]bool{}, map[psn.PSN]int{}
		const total = 400
		for steps := 0; s.una != start.Add(total); steps++ {
			if steps > 10*total {
				t.Fatalf("seed %d: stuck at +%d: %+v", seed, s.una.Sub(start), s)
			}
			switch {
			case s.doRetransmit:
				p := s.retransmit()
				again[p]++
				wire = append(wire, p)
			case s.room() && s.next != start.Add(total):
				p := s.sent()
				if last := p == start.Add(total-1); rng.IntN(10) == 0 && !last {
					lost[p] = true
				} else {
					wire = append(wire, p)
				}
			}
			if len(wire) > 0 && (len(wire) > 20 || rng.IntN(2) == 0) {
				p := wire[0]
				wire = wire[1:]
				switch r.arrive(p) {
				case early:
					r.record(p, partly)
					back = append(back, ack{r.expected, p, true})
				case inOrder:
					for r.pass(); r.code(r.expected) != absent; r.pass() {
					}
					back = append(back, ack{r.expected, 0, false})
				default:
					t.Fatalf("seed %d: +%d arrives again", seed, p.Sub(start))
				}
			}
			if len(back) > 0 && (len(back) > 20 || rng.IntN(2) == 0) {
				if a := back[0]; a.nack {
					s.nack(a.cum, a.sack)
				} else {
					s.ack(a.cum)
				}
				back = back[1:]
			}
		}
		for p := range again {
			if !lost[p] || again[p] != 1 {
				t.Fatalf("seed %d: +%d was sent again %d times, lost: %v", seed, p.Sub(start), again[p], lost[p])
			}
		}
		if len(again) != len(lost) || s.doRetransmit {
			t.Fatalf("seed %d: %d of %d lost packets were sent again: %+v", seed, len(again), len(lost), s)
		}
	}
}

const (
	sourceVA = 1 << 32
	targetVA = 2 << 32
	size     = 1 << 20
)

// ends returns a requester and its responder.
func ends(t testing.TB) (engine.Requester, engine.Responder) {
	t.Helper()
	var mem memory.Host
	for _, r := range []memory.Region{
		{RKey: 1, Base: sourceVA, Len: size, Access: engine.LocalWrite, Bytes: make([]byte, size)},
		{RKey: 2, Base: targetVA, Len: size, Access: engine.AllAccess, Bytes: make([]byte, size)},
	} {
		if err := mem.Register(r); err != nil {
			t.Fatal(err)
		}
	}
	qp := engine.QP{MTU: 1024, QueueDepth: 4, ReceiveDepth: 4, MaxRdAtomic: 4, MaxDestRd: 4, RTO: vtime.Second,
		RetryCount: 7, Access: engine.AllAccess}
	req, resp, err := Implementation().New(qp, &mem)
	if err != nil {
		t.Fatal(err)
	}
	return req, resp
}

// carry passes every packet from one half to the other and back, except those with a number in lose.
func carry(p *roce.Packet, req engine.Requester, resp engine.Responder, lose map[int]bool) (completed int) {
	n := 0
	for moved := true; moved; {
		moved = false
		for ; req.PollTransmit(0, p); n++ {
			if moved = true; !lose[n] {
				resp.HandlePacket(0, p)
			}
		}
		for ; resp.PollTransmit(0, p); moved = true {
			req.HandlePacket(0, p)
		}
	}
	for _, ok := req.PollEvent(); ok; _, ok = req.PollEvent() {
		completed++
	}
	return completed
}

// TestRecoveryAllocatesNothing repeats losses and their repair.
func TestRecoveryAllocatesNothing(t *testing.T) {
	for _, op := range []engine.Op{engine.OpWrite, engine.OpRead} {
		var p roce.Packet
		req, resp := ends(t)
		wr := engine.WorkRequest{Op: op, Len: 32 << 10, LocalVA: sourceVA, RemoteVA: targetVA, RKey: 2}
		lose := map[int]bool{3: true, 4: true, 17: true}
		completed := 0
		once := func() {
			if err := req.Post(0, wr); err != nil {
				t.Fatal(err)
			}
			completed += carry(&p, req, resp, lose)
		}
		if op == engine.OpRead {
			clear(lose) // a request and READ_ACKs, whose loss only the timer would find
		}
		for range 20 {
			once()
		}
		if n := testing.AllocsPerRun(50, once); n != 0 || completed != 71 {
			t.Errorf("%s: %v allocations per message, %d of 71 messages completed; want none", op, n, completed)
		}
	}
}

// BenchmarkTransfer is a WRITE of 64 packets from Post to completion, both halves.
func BenchmarkTransfer(b *testing.B) {
	for _, bc := range []struct {
		name string
		lose map[int]bool
	}{{"clean", nil}, {"two losses", map[int]bool{7: true, 20: true}}} {
		b.Run(bc.name, func(b *testing.B) {
			var p roce.Packet
			req, resp := ends(b)
			b.ReportAllocs()
			for b.Loop() {
				if err := req.Post(0, engine.WorkRequest{Len: 64 << 10, Op: engine.OpWrite, LocalVA: sourceVA,
					RemoteVA: targetVA, RKey: 2}); err != nil {
					b.Fatal(err)
				}
				if carry(&p, req, resp, bc.lose) != 1 {
					b.Fatal("the WRITE did not complete")
				}
			}
		})
	}
}
