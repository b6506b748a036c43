package drive

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// fake is half a QP whose actions a test sets.
type fake struct {
	posted   []engine.WorkRequest
	receives []engine.ReceiveRequest
	depth    int            // requests that Post accepts; 0 for any number
	events   []engine.Event // to be polled
	onSend   *engine.Event  // becomes an event when a packet is sent
	packets  int            // left to send; negative for endless
	again    int            // the first of these are retransmissions and urgent
	out      roce.Opcode
	timer    vtime.Time
	stuck    bool // the timer keeps its time when it fires
	handled  int
	woken    int
	polled   int
	flushed  int
}

func (f *fake) HandlePacket(vtime.Time, *roce.Packet) { f.handled++ }

func (f *fake) HandleTimer(now vtime.Time) {
	f.woken++
	if now >= f.timer && !f.stuck {
		f.timer = vtime.Never
	}
}

func (f *fake) PollTransmit(_ vtime.Time, p *roce.Packet) bool {
	f.polled++
	if f.packets == 0 {
		return false
	}
	f.packets--
	f.again = max(0, f.again-1)
	p.Opcode = f.out
	if f.onSend != nil {
		f.events, f.onSend = append(f.events, *f.onSend), nil
	}
	return true
}

func (f *fake) PollEvent() (engine.Event, bool) {
	if len(f.events) == 0 {
		return engine.Event{}, false
	}
	ev := f.events[0]
	f.events = f.events[1:]
	return ev, true
}

func (f *fake) Urgent() bool { return f.again > 0 }

func (f *fake) PollTimer() (vtime.Time, bool) { return f.timer, f.timer != vtime.Never }
func (f *fake) Flush(vtime.Time)              { f.flushed++ }

func (f *fake) Post(_ vtime.Time, wr engine.WorkRequest) error {
	if f.depth > 0 && len(f.posted) == f.depth {
		return engine.ErrQueueFull
	}
	f.posted = append(f.posted, wr)
	return nil
}

func (f *fake) PostReceive(_ vtime.Time, rr engine.ReceiveRequest) error {
	if f.depth > 0 && len(f.receives) == f.depth {
		return engine.ErrQueueFull
	}
	f.receives = append(f.receives, rr)
	return nil
}

func (f *fake) Vars(list []engine.Var) []engine.Var {
	return append(list, engine.Var{Name: "handled", Value: int64(f.handled)})
}

// complete completes the request with an ID.
func (f *fake) complete(id uint64, s engine.Status) {
	f.events = append(f.events, engine.Event{Kind: engine.CQE, ID: id, Status: s})
}

// bed is an endpoint with fake engines.
type bed struct {
	*Endpoint
	req, resp []*fake
	seen      []trace.Event
}

func (b *bed) Event(e *trace.Event) { b.seen = append(b.seen, *e) }

// count returns the number of reported events of a kind.
func (b *bed) count(k trace.EventKind) int {
	n := 0
	for i := range b.seen {
		if b.seen[i].Kind == k {
			n++
		}
	}
	return n
}

// lines builds a Spec without receives from statements.
func lines(tb testing.TB, text ...string) *scenario.Spec {
	tb.Helper()
	s := scenario.Default()
	s.Receives = 0
	for _, l := range text {
		if err := s.Line(l); err != nil {
			tb.Fatal(err)
		}
	}
	return s
}

// newBed builds side A of a Spec.
func newBed(tb testing.TB, opts Options, text ...string) *bed {
	tb.Helper()
	b := &bed{}
	impl := engine.Implementation{Name: "fake",
		New: func(engine.QP, engine.Memory) (engine.Requester, engine.Responder, error) {
			b.req, b.resp = append(b.req, &fake{timer: vtime.Never}), append(b.resp, &fake{timer: vtime.Never})
			return b.req[len(b.req)-1], b.resp[len(b.resp)-1], nil
		}}
	opts.Observer = b
	var err error
	if b.Endpoint, err = New(lines(tb, text...), trace.A, impl, opts); err != nil {
		tb.Fatal(err)
	}
	return b
}

// good returns a packet that passes all checks: an ACK for connection i of side A.
func (b *bed) good(i int) roce.Packet {
	p, err := roce.ParsePacket("ACK psn=0 msn=1")
	if err != nil {
		panic(err)
	}
	p.DestQP = b.spec.Ends(i)[trace.A].QPN
	return p
}

// frameOf encodes a packet that the peer sends on connection 0.
func (b *bed) frameOf(p roce.Packet) []byte {
	var f roce.Frame
	Frame(&f, trace.B, 0, &p)
	return f.AppendTo(nil)
}

// order sends packets, n at most, and lists them by connection: "0Q 1A", requests Q and responses A.
func (b *bed) order(n int) string {
	var list []string
	for range n {
		var p roce.Packet
		i, ok := b.Transmit(0, &p)
		if !ok {
			break
		}
		list = append(list, fmt.Sprintf("%d%s", i, map[bool]string{true: "A", false: "Q"}[p.Opcode.IsResponse()]))
	}
	return strings.Join(list, " ")
}

// rouse has both halves of connection i asked for packets, as a request that arrives does.
func (b *bed) rouse(i int) {
	req := b.good(i)
	req.Opcode = roce.ReadRequest
	b.Receive(0, &req)
}
