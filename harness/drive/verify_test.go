package drive

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/drive/expect"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// pair is both endpoints of a Spec with bytes, whose requests the test executes in place of engines.
type pair struct {
	a, b *Endpoint
	req  *fake // of A
}

func newPair(tb testing.TB, text ...string) *pair {
	tb.Helper()
	p := &pair{req: &fake{}}
	impl := engine.Implementation{New: func(engine.QP, engine.Memory) (engine.Requester, engine.Responder, error) {
		return p.req, &fake{}, nil
	}}
	s := lines(tb, append([]string{"qp mtu=256 receives=4"}, text...)...)
	var err error
	if p.b, err = New(s, trace.B, implementation(nil), Options{Bytes: true}); err == nil {
		p.a, err = New(s, trace.A, impl, Options{Bytes: true})
	}
	if err != nil {
		tb.Fatal(err)
	}
	p.a.Start(0)
	p.b.Start(0)
	return p
}

// execute acts like requester and responder for the k-th posted request.
func (p *pair) execute(k, receive int) {
	wr := p.req.posted[k]
	n := int(wr.Len)
	switch wr.Op {
	case engine.OpWrite, engine.OpWriteImm:
		p.b.memory.memory.Store(wr.RemoteVA, p.a.memory.memory.Load(wr.LocalVA, n), n)
	case engine.OpRead:
		p.a.memory.memory.Store(wr.LocalVA, p.b.memory.memory.Load(wr.RemoteVA, n), n)
	case engine.OpFetchAdd, engine.OpCompareSwap:
		old := append([]byte(nil), p.b.memory.memory.Load(wr.RemoteVA, 8)...)
		if len(old) == 0 {
			return
		}
		p.a.memory.memory.Store(wr.LocalVA, old, 8)
		if wr.Op == engine.OpFetchAdd {
			old[0]++ // FETCH_ADD of one, to a first byte below 255
			p.b.memory.memory.Store(wr.RemoteVA, old, 8)
		}
	default:
		p.b.memory.memory.Store(p.b.layout.receive(0, receive).VA, p.a.memory.memory.Load(wr.LocalVA, n), n)
	}
}

// run executes and completes all posted requests.
func (p *pair) run() {
	receive := 0
	for k := 0; k < len(p.req.posted); k++ {
		p.execute(k, receive)
		if p.req.posted[k].Op.TakesReceive() {
			receive++
		}
		p.req.complete(p.req.posted[k].ID, engine.StatusSuccess)
		p.a.engines.drain(0, requester)
	}
}

// verify returns the results of both endpoints, B's first.
func (p *pair) verify(tb testing.TB) (found [4]int64) {
	tb.Helper()
	m, g, ok := p.b.Verify(0, 0, p.a.Posted(0))
	m2, g2, ok2 := p.a.Verify(0, 0, p.b.Posted(0))
	if !ok || !ok2 {
		tb.Fatal("there are bytes, and they were not compared")
	}
	return [4]int64{m, g, m2, g2}
}

// flip changes one byte of a host's memory.
func flip(e *Endpoint, va uint64) { e.memory.memory.Load(va, 1)[0] ^= 0x10 }

func TestVerify(t *testing.T) {
	source := func(p *pair) uint64 { return p.a.layout.source(0) }
	inbox := func(p *pair) uint64 { return p.b.layout.inbox(0) }
	tests := []struct {
		name  string
		text  []string
		spoil func(*pair)
		want  [4]int64 // mismatch and guard at B, then at A
	}{
		{"write", []string{"load write msg=100 count=300"}, func(*pair) {}, [4]int64{}},
		{"write, inside", []string{"load write msg=100 count=3"},
			func(p *pair) { flip(p.b, Target(0)+99) }, [4]int64{1}},
		{"write, outside", []string{"load write msg=100 count=3"}, func(p *pair) { flip(p.b, Target(0)+100) },
			[4]int64{0, 1}},
		{"write, source", []string{"load write msg=100 count=3"}, func(p *pair) { flip(p.a, source(p)+5) },
			[4]int64{0, 0, 0, 1}},
		{"read", []string{"load read msg=100 count=300"}, func(*pair) {}, [4]int64{}},
		{"read, inside", []string{"load read msg=100 count=3"}, func(p *pair) { flip(p.a, p.a.layout.land(0)) },
			[4]int64{0, 0, 1}},
		{"read, outside", []string{"load read msg=100 count=3"}, func(p *pair) { flip(p.a, p.a.layout.land(0)+100) },
			[4]int64{0, 0, 0, 1}},
		{"read, target", []string{"load read msg=100 count=3"}, func(p *pair) { flip(p.b, Target(0)) }, [4]int64{0, 1}},
		{"scripted read", []string{"post-read len=64"}, func(p *pair) { flip(p.a, source(p)+63) }, [4]int64{0, 0, 1}},
		{"send", []string{"load send msg=100 count=50"}, func(*pair) {}, [4]int64{}},
		{"send, inside", []string{"load send msg=100 count=50"},
			func(p *pair) { flip(p.b, inbox(p)+128+99) }, [4]int64{1}},
		{"send, outside", []string{"load send msg=100 count=50"}, func(p *pair) { flip(p.b, inbox(p)+128+100) },
			[4]int64{0, 1}},
		{"send, unused", []string{"load send msg=100 count=2"}, func(p *pair) { flip(p.b, inbox(p)+2*128) },
			[4]int64{0, 1}},
		{"write-imm", []string{"load write-imm msg=100 count=50"}, func(p *pair) { flip(p.b, inbox(p)) },
			[4]int64{0, 1}},
		{"scripted sends", []string{"post-send len=9", "post-write imm=1 len=9 remote=64",
			"post-send imm=3 len=5 local=70", "post-send len=100"},
			func(p *pair) { flip(p.b, inbox(p)+2*128) }, [4]int64{1}},
		{"two kinds of sends are not attributed", []string{"load send msg=9 count=1", "post-send len=9"},
			func(p *pair) { flip(p.b, inbox(p)) }, [4]int64{}},
		{"scripted receives are not attributed", []string{"load send msg=9 count=1", "post-receive len=9"},
			func(p *pair) { flip(p.b, inbox(p)) }, [4]int64{}},
		{"atomics", []string{"post-atomic value=1", "post-atomic value=1 local=8"}, func(*pair) {}, [4]int64{}},
		{"atomic, target", []string{"post-atomic value=1"}, func(p *pair) { flip(p.b, Target(0)) }, [4]int64{1}},
		{"atomic, result", []string{"post-atomic value=1"}, func(p *pair) { flip(p.a, source(p)+7) },
			[4]int64{0, 0, 1}},
		{"swap that does not", []string{"post-atomic op=swap compare=1 value=1"}, func(*pair) {}, [4]int64{}},
		{"later write wins", []string{"post-write len=64", "post-write len=32 local=64 remote=16"},
			func(*pair) {}, [4]int64{}},
		{"out of bounds", []string{"post-write len=64 remote=1000000", "post-write len=64 remote=-1",
			"post-atomic remote=-4", "post-read len=8 local=-1"},
			func(*pair) {}, [4]int64{}},
		{"a read of what is written is not judged", []string{"post-write len=64", "post-read len=64 local=64"},
			func(p *pair) { flip(p.a, source(p)+64) }, [4]int64{}},
		{"a write of what is read is not judged", []string{"post-read len=64", "post-write len=64"},
			func(p *pair) { flip(p.b, Target(0)); flip(p.a, source(p)) }, [4]int64{}},
		{"an atomic on open bytes is not judged", []string{"post-write len=4", "post-read len=4 local=64",
			"post-atomic value=1 local=128"},
			func(p *pair) { flip(p.b, Target(0)+7); flip(p.a, source(p)+128) }, [4]int64{}},
		{"script and load at odds are not judged", []string{"load write msg=64 count=1", "post-write len=8 local=64"},
			func(p *pair) { flip(p.b, Target(0)) }, [4]int64{}},
		{"script and load at one", []string{"load write msg=64 count=1", "post-write len=8"}, func(p *pair) {
			flip(p.b, Target(0))
		}, [4]int64{1}},
	}
	for _, tt := range tests {
		p := newPair(t, tt.text...)
		p.run()
		tt.spoil(p)
		if got := p.verify(t); got != tt.want {
			t.Errorf("%s: mismatch and guard at B and A %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Requests that did not complete may have been executed, or not, or in part.
func TestVerifyUnfinished(t *testing.T) {
	for _, op := range []string{"write", "read", "send", "write-imm"} {
		for executed := range 4 {
			p := newPair(t, "qp qd=3", "load "+op+" msg=100 count=3")
			for k := range executed {
				p.execute(k, k)
			}
			if got := p.verify(t); got != [4]int64{} {
				t.Errorf("%s, %d of 3 executed: %v", op, executed, got)
			}
			p.req.complete(0, engine.StatusSuccess)
			p.a.engines.drain(0, requester)
			if got := p.verify(t); (got[0]+got[2] > 0) != (executed == 0) || got[1]+got[3] != 0 {
				t.Errorf("%s, the first of 3 complete and %d executed: %v", op, executed, got)
			}
		}
	}
}

// The comparison accepts requests that were posted and executed in order, and finds a flipped byte unless the byte is
// open.
func TestVerifyProperty(t *testing.T) {
	verbs := []string{"post-write len=40", "post-write len=8", "post-read len=24", "post-atomic value=1",
		"post-send len=30"}
	rapid.Check(t, func(rt *rapid.T) {
		var text []string
		for range rapid.IntRange(1, 4).Draw(rt, "requests") {
			l := rapid.SampledFrom(verbs).Draw(rt, "verb") + rapid.SampledFrom([]string{"", " local=8",
				" local=64"}).Draw(rt, "local")
			if l[5] != 's' {
				l += rapid.SampledFrom([]string{"", " remote=8", " remote=64"}).Draw(rt, "remote")
			}
			text = append(text, l)
		}
		p := newPair(t, text...)
		p.run()
		if got := p.verify(t); got != [4]int64{} {
			rt.Fatalf("%q: %v", text, got)
		}
		at := rapid.Uint64Range(0, 127).Draw(rt, "flipped")
		flip(p.b, Target(0)+at)
		got := p.verify(t)
		isOpen := p.b.memory.replay(trace.A, 0, p.a.Posted(0)).Image(expect.Target).Open(at)
		if found := got[0] + got[1]; found != 1 && !isOpen || isOpen && found != 0 {
			rt.Fatalf("%q: flipped byte %d, open %v: %v", text, at, isOpen, got)
		}
	})
}

// Without bytes there is nothing to compare, and no result is reported.
func TestVerifyVirtual(t *testing.T) {
	b := newBed(t, Options{}, "load write msg=1 count=1")
	b.seen = nil
	if _, _, ok := b.Verify(0, 0, nil); ok || len(b.seen) != 0 {
		t.Errorf("compared %v, reported %v", ok, b.seen)
	}
}

// The result of the comparison is reported as two events.
func TestVerifyReports(t *testing.T) {
	b := newBed(t, Options{Bytes: true}, "qp qd=1", "load write msg=1 count=1")
	b.Start(0)
	b.seen = nil
	flip(b.Endpoint, Target(0))
	b.Verify(7, 0, nil)
	if len(b.seen) != 2 || b.seen[0].Name != "mismatch" || b.seen[0].Value != 0 || b.seen[1].Name != "guard" ||
		b.seen[1].Value != 1 || b.seen[1].At != 7 {
		t.Errorf("reported %+v", b.seen)
	}
}

// Posted lists the requests of a load that are still in a slot: here 2 of the target and 4 of the inbox.
func TestPosted(t *testing.T) {
	for op, want := range map[string]int{"write": 2, "send": 4} {
		p := newPair(t, "qp qd=2", "load "+op+" msg=64 count=9")
		for id := range uint64(5) {
			p.req.complete(id, engine.StatusSuccess)
			p.a.engines.drain(0, requester)
		}
		work := p.a.Posted(0)
		first, done := 7-want, want-2 // of 7 posted requests the last 2 are not done
		if len(work) != want || int(work[0].WR.ID) != first || !work[0].Loop {
			t.Fatalf("%s: listed %+v", op, work)
		}
		for k, w := range work {
			if w.Done != (k < done) {
				t.Errorf("%s: request %d: done %v", op, w.WR.ID, w.Done)
			}
		}
	}
}
