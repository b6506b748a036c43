package rc

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// post queues a request of a QP with the smallest packets.
func post(t *testing.T, q *SendQueue, wr engine.WorkRequest) {
	t.Helper()
	packets, err := CheckRequest(&engine.QP{MTU: 256, MaxRdAtomic: 8}, &wr)
	if err != nil {
		t.Fatal(err)
	}
	q.Push(Request{WorkRequest: wr, Packets: packets})
}

// TestLargestMessage sends 2^31 bytes in 2^23 packets, half the PSN space, and another message.
func TestLargestMessage(t *testing.T) {
	const start = psn.PSN(1<<24 - 3)
	q := NewSendQueue(0)
	post(t, &q, engine.WorkRequest{ID: 1, Op: engine.OpWrite, Len: MaxMessage})
	post(t, &q, engine.WorkRequest{ID: 2, Op: engine.OpSend})
	for _, tc := range []struct {
		packet int
		want   uint64
	}{{0, 1}, {1, 1}, {psn.Half - 1, 1}, {psn.Half, 2}} {
		if w := q.Next(start.Add(tc.packet), 0, 1); w == nil || w.ID != tc.want {
			t.Fatalf("packet %d is of %+v, want request %d", tc.packet, w, tc.want)
		}
	}
	una := start.Add(psn.Half - 1)
	if q.At(0).Done(una, 0) || !q.At(0).Done(una.Next(), 0) || q.Owner(una).ID != 1 || q.Owner(una.Next()).ID != 2 {
		t.Error("the first request does not end with its last packet")
	}
}

// TestReadSpan: a READ whose responses would reach 2^23 PSNs beyond the expected one, where PSN order ends, is delayed,
// and so is the SEND after it.
func TestReadSpan(t *testing.T) {
	q := NewSendQueue(7)
	for id := range uint64(4) {
		post(t, &q, engine.WorkRequest{ID: id, Op: engine.OpRead, Len: 1 << 29}) // a quarter of 2^23 packets
	}
	post(t, &q, engine.WorkRequest{ID: 4, Op: engine.OpSend})
	for i := range 3 {
		if w := q.Next(psn.PSN(i), 7, 8); w == nil || w.ID != uint64(i) || w.SN != uint32(i) ||
			w.Data != psn.PSN(7).Add(i<<21) {
			t.Fatalf("READ %d is %+v", i, w)
		}
	}
	if w := q.Next(3, 7, 8); w != nil {
		t.Errorf("%+v goes, and its last response has a PSN that is before the expected one", w)
	}
	if w := q.Next(3, 8, 8); w == nil || w.ID != 3 {
		t.Errorf("after a response comes %+v, want READ 3", w)
	}
	if w := q.Fetch(psn.PSN(6).Add(4 << 21)); w == nil || w.ID != 3 {
		t.Errorf("the last response is of %+v, want READ 3", w)
	}
}

// TestRefused: a request fails in its turn, and no new packet is sent before.
func TestRefused(t *testing.T) {
	var events ring.Ring[engine.Event]
	q := NewSendQueue(0)
	for id := range uint64(3) {
		post(t, &q, engine.WorkRequest{ID: id, Op: engine.OpWrite, Len: 300, Unsignal: true})
	}
	q.Next(0, 0, 0)
	q.Next(2, 0, 0)
	q.Refuse(3, engine.StatusRemoteAccess)
	if w := q.Next(4, 0, 0); w != nil {
		t.Errorf("%+v goes after a refusal", w)
	}
	if q.Refused() != engine.StatusSuccess {
		t.Error("the request before fails")
	}
	q.Complete(engine.StatusSuccess, &events)
	s := q.Refused()
	if s != engine.StatusRemoteAccess {
		t.Errorf("the request fails with %v", s)
	}
	q.Complete(s, &events)
	q.Flush(4, &events)
	for _, want := range []engine.Event{
		{Kind: engine.CQE, Op: engine.OpWrite, Status: engine.StatusRemoteAccess, ID: 1, PSN: 3},
		{Kind: engine.CQE, Op: engine.OpWrite, Status: engine.StatusFlushed, ID: 2, PSN: 5},
	} {
		if e, _ := events.Pop(); e != want {
			t.Errorf("event %+v, want %+v", e, want)
		}
	}
}

// TestFetches accepts the agreed number of READs, and one more when the oldest has been answered, but no more PSNs than
// the half space.
func TestFetches(t *testing.T) {
	q := NewFetches(100)
	q.Add(Fetch{Packets: 3})
	if !q.Room(2, 1, 100, 100) {
		t.Error("no room for the second of two")
	}
	q.Add(Fetch{Packets: 1})
	if q.Room(2, 1, 100, 102) || !q.Room(2, 1, 100, 103) {
		t.Error("the oldest of two gives way before its last response is sent, or not after it")
	}
	if q.Room(3, psn.Half-4, 100, 100) || !q.Room(3, psn.Half-5, 100, 100) {
		t.Error("the span of PSNs does not end at 2^23")
	}
	for p, want := range map[psn.PSN]uint32{100: 0, 102: 0, 103: 1} {
		if x := q.Owner(p); x.SN != want {
			t.Errorf("response %d is of %+v", p, x)
		}
	}
	if q.Next(100).SN != 0 || q.Next(102).SN != 0 || q.Next(103).SN != 1 || q.Next(104) != nil {
		t.Error("responses are not sent in order")
	}
	q.Forget(103)
	q.Add(Fetch{Packets: 1})
	if q.Len() != 2 || q.Owner(103).SN != 1 || q.Next(104).SN != 2 {
		t.Errorf("%d are left, want the second and the third", q.Len())
	}
}
