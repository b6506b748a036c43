package drive

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// implementation returns an Implementation whose constructor fails with err.
func implementation(err error) engine.Implementation {
	return engine.Implementation{Name: "fake",
		New: func(engine.QP, engine.Memory) (engine.Requester, engine.Responder, error) {
			return &fake{}, &fake{}, err
		}}
}

func TestRejectedAttribute(t *testing.T) {
	_, err := New(lines(t), trace.B, implementation(errors.New("QueueDepth 0: want 1 or more")), Options{})
	if want := "fake at B: QueueDepth 0: want 1 or more"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// 5 000 QPs with packets to send get the same number of turns, one packet each.
func TestFairness(t *testing.T) {
	const qps, rounds = 5000, 3
	b := newBed(t, Options{}, fmt.Sprintf("qp count=%d qd=1", qps), "load write msg=1 count=1")
	for _, f := range b.req {
		f.packets, f.out = -1, roce.WriteOnly
	}
	b.Start(0)
	var p roce.Packet
	for n := range qps * rounds {
		if i, ok := b.Transmit(0, &p); !ok || i != n%qps {
			t.Fatalf("packet %d is from connection %d, %v; want %d", n, i, ok, n%qps)
		}
	}
}

// Retransmissions go before new packets, also those of other QPs, which then continue in their order. Several QPs with
// retransmissions take turns.
func TestUrgentFirst(t *testing.T) {
	b := newBed(t, Options{}, "qp count=4 qd=1", "load write msg=1 count=1")
	for _, f := range b.req {
		f.packets, f.out = -1, roce.WriteOnly
	}
	b.Start(0)
	got := ""
	send := func(n int) {
		for range n {
			var p roce.Packet
			i, ok := b.Transmit(0, &p)
			if !ok {
				t.Fatal("nothing to send")
			}
			got += fmt.Sprint(i)
		}
	}
	again := func(i, n int) {
		b.req[i].again = n
		ack := b.good(i)
		b.Receive(0, &ack)
	}
	send(2)
	again(3, 2)
	again(1, 3)
	send(5)
	send(6)
	if want := "01" + "31311" + "230123"; got != want {
		t.Errorf("order %s, want %s", got, want)
	}
}

// One retransmission of a QP goes first, and its answers do not go with it ahead of the other QP.
func TestUrgencyIsOfTheRequester(t *testing.T) {
	b := newBed(t, Options{}, "qp count=2 qd=1", "load write msg=1 count=1")
	for i := range b.req {
		b.req[i].packets, b.req[i].out = -1, roce.WriteOnly
		b.resp[i].packets, b.resp[i].out = 3, roce.Acknowledge
	}
	b.Start(0)
	b.req[0].again = 1
	b.rouse(0)
	b.rouse(1)
	if got, want := b.order(8), "0Q 0A 0Q 1A 1Q 0A 0Q 1A"; got != want {
		t.Errorf("order %s, want %s", got, want)
	}
}

// Answers of a QP with many retransmissions leave between them.
func TestAnswersBetweenRetransmissions(t *testing.T) {
	b := newBed(t, Options{}, "qp qd=1", "load write msg=1 count=1")
	b.req[0].packets, b.req[0].again, b.req[0].out = 4, 4, roce.WriteOnly
	b.resp[0].packets, b.resp[0].out = 2, roce.Acknowledge
	b.Start(0)
	b.rouse(0)
	if got, want := b.order(9), "0Q 0A 0Q 0A 0Q 0Q"; got != want {
		t.Errorf("order %s, want %s", got, want)
	}
}

// A QP that was urgent keeps its one turn among the others, and is then asked even if it has nothing left.
func TestUrgentLeavesNoTrace(t *testing.T) {
	b := newBed(t, Options{}, "qp count=2 qd=1", "load write msg=1 count=1")
	b.Start(0)
	b.req[0].packets, b.req[0].again = 2, 1
	for range 3 {
		ack := b.good(0)
		b.Receive(0, &ack)
	}
	var p roce.Packet
	for want := 2; want >= 0; want-- {
		if i, ok := b.Transmit(0, &p); ok != (want > 0) || i != 0 {
			t.Fatalf("connection %d, %v with %d to send", i, ok, want)
		}
	}
	if b.Ready() || b.req[0].polled != 3 {
		t.Errorf("ready %v, asked %d times", b.Ready(), b.req[0].polled)
	}
}

// A QP that becomes ready waits for the QPs before it. A QP without packets is not asked again before an event.
func TestOnlyReadyQPsAreAsked(t *testing.T) {
	b := newBed(t, Options{}, "qp count=3 qd=1", "load write msg=1 count=1")
	b.req[1].packets = 1
	b.Start(0)
	var p roce.Packet
	for want := 1; want >= 0; want-- {
		if i, ok := b.Transmit(0, &p); ok != (want == 1) || ok && i != 1 {
			t.Fatalf("connection %d, %v", i, ok)
		}
	}
	for i, f := range b.req {
		if want := 1 + i%2; f.polled != want || b.Ready() {
			t.Errorf("connection %d was asked %d times, want %d", i, f.polled, want)
		}
	}
	ack := b.good(2)
	b.Receive(0, &ack)
	b.req[2].packets = 1
	if i, ok := b.Transmit(0, &p); !ok || i != 2 || b.req[0].polled != 1 {
		t.Errorf("connection %d, %v; connection 0 was asked %d times", i, ok, b.req[0].polled)
	}
}

// Acknowledgements go before requests. READ responses take turns with requests, so that neither half starves the other.
func TestTurnsOfTheHalves(t *testing.T) {
	for _, tt := range []struct {
		answer roce.Opcode
		want   string
	}{{roce.Acknowledge, "0A 0A 0A 0Q 0Q 0Q"}, {roce.ReadRespMiddle, "0A 0Q 0A 0Q 0A 0Q"}} {
		b := newBed(t, Options{}, "qp qd=1", "load write msg=1 count=1")
		b.req[0].packets, b.req[0].out = 3, roce.WriteMiddle
		b.resp[0].packets, b.resp[0].out = 3, tt.answer
		b.Start(0)
		b.rouse(0)
		if got := b.order(9); got != tt.want {
			t.Errorf("%s: order %s, want %s", tt.answer, got, tt.want)
		}
	}
}

// An event of sending a packet is reported at once, and may give the QP a new packet to send.
func TestEventsOfSending(t *testing.T) {
	b := newBed(t, Options{}, "qp qd=1", "load write msg=1 count=2")
	b.Start(0)
	b.req[0].packets, b.req[0].onSend = 1, &engine.Event{Kind: engine.CQE, ID: 0}
	var p roce.Packet
	if _, ok := b.Transmit(0, &p); !ok || b.count(trace.CQE) != 1 || len(b.req[0].posted) != 2 || !b.Ready() {
		t.Errorf("sent %v, %d completions, %d posts, ready %v", ok, b.count(trace.CQE), len(b.req[0].posted), b.Ready())
	}
}

func TestTimers(t *testing.T) {
	b := newBed(t, Options{}, "qp count=3 qd=1", "load write msg=1 count=1", "report detail")
	b.req[0].timer, b.resp[1].timer, b.req[2].timer = 30, 20, 40
	b.Start(0)
	if b.Deadline() != 20 || b.count(trace.Timer) != 2 {
		t.Errorf("deadline %d, %d timer events; want 20 and the 2 of the requesters", b.Deadline(),
			b.count(trace.Timer))
	}
	b.Wake(30)
	if b.req[0].woken != 1 || b.resp[1].woken != 1 || b.req[2].woken != 0 || b.Deadline() != 40 ||
		b.count(trace.Timer) != 3 {
		t.Errorf("woken %d, %d and %d; deadline %d", b.req[0].woken, b.resp[1].woken, b.req[2].woken, b.Deadline())
	}
	ack := b.good(2)
	for _, at := range []vtime.Time{90, vtime.Never} { // later, without an update of the heap
		b.req[2].timer = at
		b.Receive(35, &ack)
		if b.Settle() || b.Deadline() != at || !b.Settle() {
			t.Errorf("after settling the deadline is %d, want %d", b.Deadline(), at)
		}
	}
}

// An engine whose timer does not advance does not hang the endpoint.
func TestStuckTimer(t *testing.T) {
	b := newBed(t, Options{}, "qp count=2 qd=1", "load write msg=1 count=1")
	b.req[0].timer, b.req[0].stuck, b.req[1].timer = 5, true, 6
	b.Start(0)
	b.Wake(7)
	if b.req[0].woken != 1 || b.req[1].woken != 1 || b.Deadline() != 8 {
		t.Errorf("woken %d and %d times, next at %d; want once each and 8", b.req[0].woken,
			b.req[1].woken, b.Deadline())
	}
}

// BenchmarkIdleQPs measures that the cost of a packet does not grow with the number of idle QPs.
func BenchmarkIdleQPs(b *testing.B) {
	for _, qps := range []int{1, 100, 10000} {
		b.Run(fmt.Sprintf("qps=%d", qps), func(b *testing.B) {
			bed := newBed(b, Options{}, fmt.Sprintf("qp count=%d qd=1", qps), "load write msg=1 count=1")
			bed.Start(0)
			for _, f := range bed.req {
				f.timer = 1 << 40
			}
			bed.Wake(0)
			ack := bed.good(qps / 2)
			var p roce.Packet
			for bed.Ready() {
				bed.Transmit(0, &p)
			}
			bed.req[qps/2].packets = -1
			bed.out.observer = nil
			b.ReportAllocs()
			for b.Loop() {
				bed.Receive(1, &ack)
				bed.Transmit(1, &p)
			}
		})
	}
}

// Receiving and sending a packet need no allocation.
func TestNoAllocation(t *testing.T) {
	b := newBed(t, Options{}, "qp qd=1", "load write msg=1 count=1")
	b.out.observer = nil
	b.Start(0)
	b.req[0].packets = -1
	frame := b.frameOf(b.good(0))
	var p roce.Packet
	if n := testing.AllocsPerRun(1000, func() {
		b.ReceiveFrame(1, frame)
		b.Transmit(1, &p)
	}); n != 0 || b.req[0].handled == 0 {
		t.Errorf("%v allocations per packet, %d handled", n, b.req[0].handled)
	}
}

func TestVars(t *testing.T) {
	b := newBed(t, Options{}, "load write msg=1 count=1")
	b.resp[0].handled = 7
	if v := b.Vars(0); len(v) != 2 || v[0].Value != 0 || v[1].Value != 7 {
		t.Errorf("variables %v; want the requester's first", v)
	}
}

// The implementation may change every frame that is sent or received, and Alters reports that it does.
func TestEmit(t *testing.T) {
	b := newBed(t, Options{}, "load write msg=1 count=1")
	if got := string(b.Emit([]byte("x"))); got != "x" || b.Alters() {
		t.Errorf("emits %q", got)
	}
	b.port.frames.Out = func(f []byte) []byte { return append([]byte("y"), f...) }
	if got := string(b.Emit([]byte("x"))); got != "yx" || !b.Alters() {
		t.Errorf("emits %q", got)
	}
	good := b.frameOf(b.good(0))
	b.port.frames.In = func([]byte) []byte { return good }
	b.ReceiveFrame(0, []byte(strings.Repeat("z", 60)))
	if b.req[0].handled != 1 {
		t.Error("what took its place did not arrive")
	}
}

// While other QPs wait, an answer does not use the turn of its QP, which else would never send a request if a packet
// needed an answer in every round.
func TestAnswersLeaveRequestsTheirTurn(t *testing.T) {
	b := newBed(t, Options{}, "qp count=2 qd=1", "load write msg=1 count=1")
	for i := range 2 {
		b.req[i].packets, b.req[i].out = 2, roce.WriteMiddle
		b.resp[i].packets, b.resp[i].out = 3, roce.Acknowledge
	}
	b.Start(0)
	for i := range 2 {
		req := b.good(i)
		req.Opcode = roce.ReadRequest
		b.Receive(0, &req)
	}
	got := ""
	var p roce.Packet
	for i, ok := b.Transmit(0, &p); ok; i, ok = b.Transmit(0, &p) {
		got += fmt.Sprint(i) + map[bool]string{true: "A", false: "Q"}[p.Opcode.IsResponse()]
	}
	if want := "0A0Q1A1Q0A0Q1A1Q0A1A"; got != want {
		t.Errorf("order %s, want %s", got, want)
	}
}
