package drive_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/impls/rciwarp"
)

// pipe is one end of a connection in memory. It accepts as many bytes as it has room for and delivers a few at a time,
// as a kernel may.
type pipe struct {
	peer    *pipe
	rng     *rand.Rand
	room    int    // capacity of wire, in bytes
	wire    []byte // written, and not yet read by the peer
	written uint64
	state   drive.SocketState
	closed  bool
}

func (p *pipe) MSS() int { return 1448 }

func (p *pipe) Write(b []byte) int {
	n := min(len(b), p.room-len(p.wire))
	p.wire, p.written = append(p.wire, b[:n]...), p.written+uint64(n)
	return n
}

func (p *pipe) Read() []byte {
	w := &p.peer.wire
	if len(*w) == 0 || p.rng.IntN(3) == 0 {
		return nil
	}
	n := 1 + p.rng.IntN(len(*w))
	b := append([]byte(nil), (*w)[:n]...)
	*w = append((*w)[:0], (*w)[n:]...)
	return b
}

func (p *pipe) Acked() uint64 { return p.written - uint64(len(p.wire)) }

func (p *pipe) State() drive.SocketState {
	if p.state == drive.SocketOpen && p.peer.closed && len(p.peer.wire) == 0 {
		return drive.SocketPeerClosed
	}
	return p.state
}

func (p *pipe) CloseWrite() { p.closed = true }

// joined is two endpoints of iWARP whose connections are pipes.
type joined struct {
	tb    testing.TB
	end   [2]*drive.Endpoint
	pipes [2][]*pipe
	seen  [2]seen
	qps   int
}

// seen counts the completions of a side by status.
type seen map[engine.Status]int

func (s seen) Event(e *trace.Event) {
	if e.Kind == trace.CQE {
		s[e.Body.Status]++
	}
}

func join(tb testing.TB, seed uint64, room int, text ...string) *joined {
	tb.Helper()
	s := scenario.Default()
	for _, l := range text {
		if err := s.Line(l); err != nil {
			tb.Fatal(err)
		}
	}
	j := &joined{tb: tb, seen: [2]seen{{}, {}}, qps: s.QPs}
	rng := rand.New(rand.NewPCG(seed, 1))
	for side := range j.end {
		var err error
		j.end[side], err = drive.New(s, trace.Side(side), rciwarp.Implementation(), drive.Options{Bytes: true,
			Observer: j.seen[side], Streams: true})
		if err != nil {
			tb.Fatal(err)
		}
		for i := range s.QPs {
			p := &pipe{rng: rng, room: room}
			j.pipes[side] = append(j.pipes[side], p)
			j.end[side].Attach(i, p)
		}
	}
	for i, p := range j.pipes[0] {
		p.peer, j.pipes[1][i].peer = j.pipes[1][i], p
	}
	return j
}

// run serves both sides until they have nothing left to do, at most for the given number of rounds.
func (j *joined) run(rounds int) {
	for _, e := range j.end {
		e.Start(0)
	}
	for range rounds {
		for _, e := range j.end {
			for i := range j.qps {
				e.Serve(1, i)
			}
			e.Carry(1)
		}
		if j.end[0].Idle() && j.end[1].Idle() {
			return
		}
	}
	j.tb.Error("the work never ended: ", j.end[0].Shortfall(), j.end[1].Shortfall())
}

// TestStreams runs every operation of iWARP over sockets that split and join their bytes anywhere, and compares memory.
func TestStreams(t *testing.T) {
	for seed := range uint64(20) {
		j := join(t, seed, 500+int(seed)*700, "qp count=3", "load write msg=5000 count=6", "load send msg=1500 count=4",
			"load read from=B msg=3000 count=3", "load write from=B msg=1 count=2")
		j.run(100_000)
		for i := range j.qps {
			for side, e := range j.end {
				wrong, guard, ok := e.Verify(2, i, j.end[1-side].Posted(i))
				if !ok || wrong+guard != 0 {
					t.Errorf("seed %d, QP %d at %s: %d bytes wrong, %d changed that nobody named", seed, i,
						trace.Side(side), wrong, guard)
				}
			}
		}
		if a, b := j.seen[0][engine.StatusSuccess], j.seen[1][engine.StatusSuccess]; a != 30 || b != 15 {
			t.Errorf("seed %d: %d and %d requests completed, want 30 and 15", seed, a, b)
		}
	}
}

// TestStreamEnds ends the connection under a request, which fails with the status for the state of the socket.
func TestStreamEnds(t *testing.T) {
	for state, want := range map[drive.SocketState]engine.Status{
		drive.SocketPeerClosed: engine.StatusRemoteOp, drive.SocketReset: engine.StatusRemoteOp,
		drive.SocketTimedOut: engine.StatusRetryExceeded,
	} {
		j := join(t, 1, 0, "load write msg=100 count=2") // a pipe without capacity
		j.end[0].Start(0)
		j.end[0].Serve(1, 0)
		j.pipes[0][0].state = state
		for range 2 { // the second time changes nothing
			j.end[0].Serve(2, 0)
			j.end[0].Carry(2)
		}
		if got := j.seen[0]; got[want] != 1 || got[engine.StatusFlushed] != 1 || !j.pipes[0][0].closed {
			t.Errorf("state %d: %v, closed %v; want one %v and one flushed", state, got, j.pipes[0][0].closed, want)
		}
	}
}

// TestTerminateLeaves makes the peer refuse a request: the Terminate arrives, and both halves are closed.
func TestTerminateLeaves(t *testing.T) {
	j := join(t, 1, 4000, "post-write wr=1 len=64 rkey=bad")
	j.run(1000)
	for range 100 {
		for _, e := range j.end {
			e.Serve(2, 0)
			e.Carry(2)
		}
	}
	if !j.pipes[0][0].closed || !j.pipes[1][0].closed || j.seen[0][engine.StatusRemoteAccess]+
		j.seen[0][engine.StatusSuccess] != 1 {
		t.Errorf("closed %v and %v, completions %v", j.pipes[0][0].closed, j.pipes[1][0].closed, j.seen[0])
	}
}

func TestStreamsRejectRateControl(t *testing.T) {
	s := scenario.Default()
	if err := s.Line("qp cc=dcqcn"); err != nil {
		t.Fatal(err)
	}
	_, err := drive.New(s, trace.A, rciwarp.Implementation(), drive.Options{Streams: true})
	if err == nil || !strings.Contains(err.Error(), "cc=dcqcn around the kernel's TCP") {
		t.Errorf("New says %v", err)
	}
}
