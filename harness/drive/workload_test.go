package drive

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// tell completes requests as an ACK would.
func (b *bed) tell(status engine.Status, ids ...uint64) {
	for _, id := range ids {
		b.req[0].complete(id, status)
	}
	p := b.good(0)
	b.Receive(b.out.now, &p)
}

// ask gives the responder a request, after which its events are polled.
func (b *bed) ask() {
	p := b.good(0)
	p.Opcode = roce.SendOnly
	b.Receive(b.out.now, &p)
}

// ids returns the IDs of the requests posted on connection 0.
func (b *bed) ids() []uint64 {
	var out []uint64
	for _, wr := range b.req[0].posted {
		out = append(out, wr.ID)
	}
	return out
}

// The loop keeps the queue full: it posts a new request for each completion until the count is reached.
func TestClosedLoop(t *testing.T) {
	b := newBed(t, Options{}, "qp qd=3", "load write msg=100 count=5", "load send from=B msg=1 count=9")
	b.Start(0)
	want := []uint64{0, 1, 2}
	for id := uint64(0); id < 5; id++ {
		if d := cmp.Diff(want, b.ids()); d != "" || b.work.pending != len(want)-int(id) || b.Idle() {
			t.Fatalf("after %d completions: %d pending, posts -want +got\n%s", id, b.work.pending, d)
		}
		if next := uint64(len(want)); next < 5 {
			want = append(want, next)
		}
		b.tell(engine.StatusSuccess, id)
	}
	if b.work.pending != 0 || !b.Idle() || b.Share() != 1 {
		t.Errorf("at the end %d pending, share %v", b.work.pending, b.Share())
	}
}

// A load that may be one message ahead of its peer posts the next when the peer's has come, and not when its own is
// done.
func TestLoadThatAnswers(t *testing.T) {
	b := newBed(t, Options{}, "qp receives=3", "load send msg=8 count=3 ahead=1", "load send from=B msg=8 count=3")
	b.Start(0)
	for n := 1; n <= 3; n++ {
		b.tell(engine.StatusSuccess, uint64(n-1))
		if got := len(b.ids()); got != n {
			t.Fatalf("%d messages of the peer, %d own done: %d posted", n-1, n, got)
		}
		b.resp[0].events = []engine.Event{{Kind: engine.ReceiveCQE, ID: uint64(n - 1)}}
		b.ask()
	}
	if len(b.ids()) != 3 || !b.Idle() {
		t.Errorf("%d posted at the end, idle %v", len(b.ids()), b.Idle())
	}
}

// With CQ moderation the application gets every m-th completion, and the last of the posted requests.
func TestCQModeration(t *testing.T) {
	for _, tt := range []struct {
		qp    string
		count string
		want  []int // posted after each completion
	}{
		{"qp qd=4 cqmod=2", "8", []int{4, 6, 6, 8, 8, 8, 8, 8}},
		{"qp qd=4 cqmod=0", "6", []int{5, 6, 6, 6, 6, 6}},
		// at most the queue depth, or the loop would stop
		{"qp qd=4 cqmod=100", "8", []int{4, 4, 4, 8, 8, 8, 8, 8}},
		{"qp qd=4 cqmod=3", "5", []int{4, 4, 5, 5, 5}},
	} {
		b := newBed(t, Options{}, tt.qp, "load write msg=1 count="+tt.count)
		b.Start(0)
		for id, want := range tt.want {
			b.tell(engine.StatusSuccess, uint64(id))
			if got := len(b.ids()); got != want {
				t.Errorf("%s: %d posted after %d completions, want %d", tt.qp, got, id+1, want)
			}
		}
		if !b.Idle() {
			t.Errorf("%s: not idle at the end", tt.qp)
		}
	}
}

// After a fatal error both halves are flushed once, and nothing more is posted.
func TestFailedQP(t *testing.T) {
	b := newBed(t, Options{}, "qp qd=2 receives=3", "load write msg=1 count=9")
	b.Start(0)
	b.req[0].complete(0, engine.StatusRetryExceeded)
	b.req[0].events = append(b.req[0].events, engine.Event{Kind: engine.Fatal}, engine.Event{Kind: engine.Fatal})
	b.tell(engine.StatusFlushed, 1)
	b.resp[0].events = []engine.Event{{Kind: engine.ReceiveCQE, Status: engine.StatusFlushed}}
	b.ask()
	if got := len(b.ids()); got != 2 || b.req[0].flushed != 1 || b.resp[0].flushed != 1 ||
		len(b.resp[0].receives) != 3 {
		t.Errorf("%d posts, flushed %d and %d times, %d receives", got, b.req[0].flushed, b.resp[0].flushed,
			len(b.resp[0].receives))
	}
	if b.work.pending != 0 || b.Share() != 0 || b.count(trace.Fatal) != 2 || b.count(trace.CQE) != 2 {
		t.Errorf("%d pending, share %v, %d completions", b.work.pending, b.Share(), b.count(trace.CQE))
	}
	if got := b.Shortfall(); got != "QP 0 of A failed with 9 of its 9 messages undone" {
		t.Errorf("shortfall %q", got)
	}
}

// When the responder fails, the completions of the requester are polled although it was not called.
func TestFailedResponder(t *testing.T) {
	b := newBed(t, Options{}, "qp qd=1", "load write msg=1 count=9")
	b.Start(0)
	b.req[0].complete(0, engine.StatusFlushed)
	b.resp[0].events = []engine.Event{{Kind: engine.Fatal}}
	b.ask()
	if b.work.pending != 0 || b.count(trace.CQE) != 1 || len(b.ids()) != 1 {
		t.Errorf("%d pending, %d completions, %d posts", b.work.pending, b.count(trace.CQE), len(b.ids()))
	}
}

// A timed run posts until its time is over.
func TestTimedLoad(t *testing.T) {
	b := newBed(t, Options{}, "qp qd=1", "load write msg=1", "run for=10us")
	b.Start(0)
	b.out.now = vtime.Time(10*vtime.Microsecond) - 1
	b.tell(engine.StatusSuccess, 0)
	b.out.now++
	b.tell(engine.StatusSuccess, 1)
	if got := len(b.ids()); got != 2 || !b.Idle() {
		t.Errorf("%d posts; want one at the start and one just before the end", got)
	}
}

// Scripted requests keep their IDs, loads use higher IDs, and completions go to the right one.
func TestScriptAndLoads(t *testing.T) {
	b := newBed(t, Options{}, "qp qd=1", "load write msg=1 count=2", "load send msg=1 count=1",
		"post-write wr=0 len=8", "post-write wr=1 len=8 at=5us", "post-write wr=1 at=1us len=8")
	b.Start(0)
	if got, want := b.Deadline(), vtime.Time(vtime.Microsecond); got != want {
		t.Errorf("next post at %d, want %d", got, want)
	}
	b.Wake(vtime.Time(vtime.Microsecond))
	want := []uint64{1e9, 2e9, 0, 1}
	if d := cmp.Diff(want, b.ids()); d != "" {
		t.Fatalf("-want +got\n%s", d)
	}
	b.tell(engine.StatusSuccess, want...)
	b.tell(engine.StatusSuccess, 1e9+1)
	if b.work.pending != 0 || b.Idle() || b.Share() != 1 {
		t.Errorf("%d pending, idle %v", b.work.pending, b.Idle())
	}
	b.Wake(vtime.Time(5 * vtime.Microsecond))
	b.tell(engine.StatusSuccess, 1)
	if !b.Idle() {
		t.Error("not idle at the end")
	}
}

// Unsignalled requests are not waited for, but complete when they fail.
func TestUnsignalled(t *testing.T) {
	b := newBed(t, Options{}, "post-write wr=1 signal=0", "post-write wr=2", "post-write wr=3 signal=0",
		"post-write wr=4")
	b.Start(0)
	if b.work.pending != 2 {
		t.Fatalf("%d pending, want 2", b.work.pending)
	}
	b.tell(engine.StatusSuccess, 2)
	b.tell(engine.StatusRetryExceeded, 3)
	b.tell(engine.StatusFlushed, 4)
	if b.work.pending != 0 {
		t.Errorf("%d pending, want 0", b.work.pending)
	}
	var done []bool
	for _, w := range b.Posted(0) {
		done = append(done, w.Done)
	}
	if d := cmp.Diff([]bool{true, true, false, false}, done); d != "" {
		t.Errorf("done -want +got\n%s", d)
	}
}

// A completion belongs to the first uncompleted request with its ID.
func TestRequestsOfOneID(t *testing.T) {
	b := newBed(t, Options{}, "post-write", "post-write", "post-write")
	b.Start(0)
	b.tell(engine.StatusSuccess, 0)
	if w := b.Posted(0); !w[0].Done || w[1].Done || w[2].Done {
		t.Errorf("done %v %v %v, want the first", w[0].Done, w[1].Done, w[2].Done)
	}
}

// A scripted post that the engine refuses is counted and not tried again; a load tries again when there is room.
func TestFullQueue(t *testing.T) {
	b := newBed(t, Options{}, "qp qd=2", "load write msg=1 count=2", "post-write wr=7", "post-receive from=A len=5",
		"post-receive from=A len=6",
		"post-receive from=A len=7")
	b.req[0].depth, b.resp[0].depth = 1, 2
	b.Start(0)
	if got := b.Counters()["refused_post"]; got != 2 || len(b.ids()) != 1 || b.work.pending != 1 {
		t.Errorf("%d refused, %d posted, %d pending", got, len(b.ids()), b.work.pending)
	}
	b.req[0].posted = nil
	b.tell(engine.StatusSuccess, 1e9)
	if d := cmp.Diff([]uint64{1e9 + 1}, b.ids()); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// A receive that completes is replaced, unless the Spec says replenish=0.
func TestReceives(t *testing.T) {
	for _, tt := range []struct {
		qp   string
		want int
	}{{"qp receives=3", 4}, {"qp receives=3 replenish=0", 3}} {
		b := newBed(t, Options{}, tt.qp, "load write msg=100 count=1")
		b.Start(0)
		b.resp[0].events = []engine.Event{{Kind: engine.ReceiveCQE, ID: 0}}
		b.ask()
		got := b.resp[0].receives
		if len(got) != tt.want || b.count(trace.Receive) != tt.want || b.count(trace.Recv) != 1 {
			t.Fatalf("%s: %d receives, want %d", tt.qp, len(got), tt.want)
		}
		if got[1].VA-got[0].VA != 128 || got[1].Len != 128 || len(got) > 3 && got[3].VA != got[0].VA {
			t.Errorf("%s: receives at %+v", tt.qp, got)
		}
	}
}

// A few QPs get all the receives of the Spec; of thousands, each gets the receives that its peer can use.
func TestReceivesOfManyQPs(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		want  int
	}{
		{"few", []string{"qp count=10 receives=512", "load write msg=1 count=1"}, 512},
		{"no taker", []string{"qp count=1000 receives=512", "load write msg=1 count=1", "load send msg=1 count=1"}, 0},
		{"a taker", []string{"qp count=1000 receives=512", "qp B qd=7", "load send from=B msg=1 count=1"}, 7},
		{"with an immediate",
			[]string{"qp count=1000 receives=5", "qp B qd=7", "load write-imm from=B msg=1 count=1"}, 5},
		{"posted", []string{"qp count=1000 receives=512 qd=3", "post-send from=B len=1"}, 3},
		{"not replaced", []string{"qp count=1000 receives=512 replenish=0", "load write msg=1 count=1"}, 512},
		{"crafted", []string{"qp count=1000 receives=512", "load write msg=1 count=1",
			"inject B at=10us : SEND_ONLY psn=+3 len=8"}, 512},
	} {
		b := newBed(t, Options{}, c.lines...)
		b.Start(0)
		if got := len(b.resp[0].receives); got != c.want {
			t.Errorf("%s: %d receives, want %d", c.name, got, c.want)
		}
	}
}

// A slot of the inbox has room for a message wherever messages or scripted receives use it.
func TestInboxOfManyQPs(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		want  uint64
	}{
		{"nobody sends", []string{"qp count=1000 receives=512", "load write msg=4KiB count=1"}, readOnlyLen},
		{"somebody sends", []string{"qp count=1000 receives=512", "load send from=B msg=4KiB count=1"}, 4096},
		{"few", []string{"qp receives=2", "load write msg=4KiB count=1"}, 4096},
		{"scripted", []string{"qp receives=0", "post-receive from=A len=4096", "post-send from=B len=4096"}, 4096},
		{"scripted, many", []string{"qp count=1000 receives=0", "post-receive from=A len=4096",
			"post-send from=B len=4096"}, 4096},
	} {
		l := newLayout(lines(t, c.lines...), trace.A)
		if l.inSlot != c.want {
			t.Errorf("%s: room for %d bytes, want %d", c.name, l.inSlot, c.want)
		}
	}
}

// TestFill: a device that sends from the memory in which it receives must get the bytes that are already there.
func TestFill(t *testing.T) {
	for line, plain := range map[string]bool{"device B qpn=7 fill=0x7b": true, "device B qpn=7": false} {
		l := newLayout(lines(t, line, "load send msg=4KiB count=9"), trace.A)
		var h memory.Host
		if err := l.register(&h, true); err != nil {
			t.Fatal(err)
		}
		sent := h.Load(l.source(0), 4096)
		if len(sent) != 4096 || bytes.Equal(sent, bytes.Repeat([]byte{0x7b}, 4096)) != plain {
			t.Errorf("%s: sends %d bytes, %x…", line, len(sent), sent[:8])
		}
	}
}
