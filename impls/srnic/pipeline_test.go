package srnic

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/irn"
)

const (
	sourceVA = 1 << 32
	targetVA = 2 << 32
	size     = 1 << 20
)

// table is two halves on one host, which share its pipeline, without a wire between them.
type table struct {
	host *Host
	req  engine.Requester
	resp engine.Responder
	now  vtime.Time
	p    roce.Packet
	next psn.PSN
	lose map[int]bool // packets of a message whose first transmission is lost
}

func newTable(t testing.TB, params engine.Params) *table {
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
	h, err := NewHost(params)
	if err != nil {
		t.Fatal(err)
	}
	req, resp, err := h.New(engine.QP{MTU: 1024, QueueDepth: 4, RTO: vtime.Second, RetryCount: 7,
		Access: engine.AllAccess}, &mem)
	if err != nil {
		t.Fatal(err)
	}
	return &table{host: h, req: req, resp: resp, lose: map[int]bool{}}
}

// write moves one message of 32 packets and reports whether it completed.
func (x *table) write(t testing.TB) bool {
	if err := x.req.Post(x.now, engine.WorkRequest{Op: engine.OpWrite, Len: 32 << 10, LocalVA: sourceVA,
		RemoteVA: targetVA, RKey: 2}); err != nil {
		t.Fatal(err)
	}
	for n, idle := 0, 0; idle < 200; {
		x.now = x.now.Add(100 * vtime.Nanosecond)
		x.req.HandleTimer(x.now)
		x.resp.HandleTimer(x.now)
		idle++
		if x.req.PollTransmit(x.now, &x.p) {
			idle = 0
			first := x.p.PSN == x.next
			if !first || !x.lose[n] {
				x.resp.HandlePacket(x.now, &x.p)
			}
			if first {
				n, x.next = n+1, x.next.Next()
			}
		}
		if x.resp.PollTransmit(x.now, &x.p) {
			x.req.HandlePacket(x.now, &x.p)
			idle = 0
		}
		if ev, ok := x.req.PollEvent(); ok {
			return ev.Status == engine.StatusSuccess
		}
	}
	return false
}

// TestStalls: without loss there is no query; a retransmission costs two queries at the receiver and one at the sender.
func TestStalls(t *testing.T) {
	x := newTable(t, nil)
	if !x.write(t) || x.host.pipe.queries != 0 || x.host.pipe.stalled != 0 {
		t.Errorf("without loss %d queries stall for %v", x.host.pipe.queries, x.host.pipe.stalled)
	}
	x.lose[5] = true
	if !x.write(t) || x.host.pipe.queries != 3 || x.host.pipe.stalled != 4200*vtime.Nanosecond {
		t.Errorf("with one loss %d queries stall for %v, want 3 and 4200ns", x.host.pipe.queries, x.host.pipe.stalled)
	}
}

// TestOrder: packets of all QPs pass in the order of their arrival, at the rate of the pipeline.
func TestOrder(t *testing.T) {
	h, err := NewHost(engine.Params{"rate": "8G"}) // a byte takes a nanosecond
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	var halves [3]*half
	for i := range halves {
		halves[i] = &half{inner: &recorder{i: i, got: &got}, pipe: &h.pipe}
	}
	ack := roce.Packet{BTH: roce.BTH{Opcode: roce.Acknowledge}}
	for _, i := range []int{2, 0, 1, 1, 0, 2} {
		halves[i].HandlePacket(0, &ack)
	}
	each := h.pipe.time(&ack) // 86 ns
	if at, _ := halves[1].PollTimer(); at != vtime.Time(2*each) {
		t.Errorf("the first packet of half 1 passes at %v, want %v", at, 2*each)
	}
	for now := range 6 {
		halves[now%3].HandleTimer(vtime.Time(now) * vtime.Time(each))
		if len(got) != now+1 {
			t.Errorf("after %d times %v %d packets have passed", now, each, len(got))
		}
	}
	for k, want := range []int{2, 0, 1, 1, 0, 2} {
		if got[k] != want {
			t.Fatalf("packets pass to %v", got)
		}
	}
}

// recorder is a half that records its packets.
type recorder struct {
	inner
	i   int
	got *[]int
}

func (r *recorder) HandlePacket(vtime.Time, *roce.Packet) { *r.got = append(*r.got, r.i) }
func (r *recorder) HandleTimer(vtime.Time)                {}
func (r *recorder) PollTimer() (vtime.Time, bool)         { return 0, false }
func (r *recorder) Lookups() (l irn.Lookups)              { return l }

// TestRecoveryAllocatesNothing repeats losses and their repair, with packets that wait.
func TestRecoveryAllocatesNothing(t *testing.T) {
	x := newTable(t, engine.Params{"rate": "40G"})
	x.lose = map[int]bool{3: true, 4: true, 17: true}
	completed := 0
	once := func() {
		if x.write(t) {
			completed++
		}
	}
	for range 20 {
		once()
	}
	if n := testing.AllocsPerRun(50, once); n != 0 || completed != 71 {
		t.Errorf("%v allocations per message, %d of 71 messages completed; want none", n, completed)
	}
}

func BenchmarkTransfer(b *testing.B) {
	x := newTable(b, nil)
	x.lose = map[int]bool{7: true, 20: true}
	b.ReportAllocs()
	for b.Loop() {
		if !x.write(b) {
			b.Fatal("the WRITE did not complete")
		}
	}
}
