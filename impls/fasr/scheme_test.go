package fasr

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/splitmix"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var starts = []psn.PSN{0, psn.Half - 2, psn.Mask - 2}

func host(t testing.TB, params engine.Params) *Host {
	t.Helper()
	h, err := NewHost(params)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestReceiverCountsWhatIsMissing lets packets arrive at random and compares lost-cnt, RCV-NXT and the pool with a set
// of the arrivals.
func TestReceiverCountsWhatIsMissing(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 0))
		start := starts[seed%3]
		h := host(t, engine.Params{"block_bits": fmt.Sprint(1 + seed%16), "blocks": "4096"})
		r := (&nic{host: h}).newReceiver(requestReceiver, start)
		arrived := map[int]bool{} // offsets that were accepted
		next, high := 0, -1       // the model's RCV-NXT, and the newest accepted offset
		for range 400 {
			off := next + rng.IntN(12)
			if rng.IntN(3) > 0 {
				off = max(next, high) + rng.IntN(3) // mostly new packets, with gaps
			}
			switch what := r.arrive(start.Add(off)); what {
			case inOrder:
				arrived[off] = true
				r.fill()
			case recorded:
				if off <= high {
					t.Fatalf("seed %d: +%d is recorded below +%d", seed, off, high)
				}
				arrived[off] = true
			case refused:
				if off <= next || off >= high {
					t.Fatalf("seed %d: +%d is refused, RCV-NXT +%d, sack-high +%d", seed, off, next, high)
				}
			case repeated, old:
			default:
				t.Fatalf("seed %d: +%d is %d", seed, off, what)
			}
			for arrived[next] {
				next++
			}
			for o := range arrived {
				high = max(high, o)
			}
			compare(t, seed, &r, start, arrived, next, high)
		}
	}
}

func compare(t *testing.T, seed uint64, r *receiver, start psn.PSN, arrived map[int]bool, next, high int) {
	t.Helper()
	p := r.nic.host.pool
	if r.next != start.Add(next) {
		t.Fatalf("seed %d: RCV-NXT %+d, want %+d", seed, r.next.Sub(start), next)
	}
	missing := 0
	for o := next; o < high; o++ {
		if !arrived[o] {
			missing++
		}
	}
	switch {
	case missing == 0:
		if r.sr != nil || p.unitMap.taken != 0 || p.blockMap.taken != 0 {
			t.Fatalf("seed %d: nothing is missing, %d units and %d blocks are taken", seed,
				p.unitMap.taken, p.blockMap.taken)
		}
	case r.sr == nil || r.sr.sackHigh != start.Add(high):
		t.Fatalf("seed %d: %d are missing below %+d: %+v", seed, missing, high, r.sr)
	case !r.sr.overflow && r.sr.lost != missing:
		t.Fatalf("seed %d: lost-cnt %d, want %d", seed, r.sr.lost, missing)
	case !r.sr.overflow && missing == 1 && p.blockMap.taken != 0:
		t.Fatalf("seed %d: fast path with %d blocks", seed, p.blockMap.taken)
	case r.sr.overflow && r.sr.lost != maxLost:
		t.Fatalf("seed %d: lost-cnt %d after an overflow, want %d", seed, r.sr.lost, maxLost)
	}
}

// TestTinyPool lets 40 QPs lose packets at the same time with a pool for three: every message arrives as sent, and the
// pool is never overdrawn and empty at the end.
func TestTinyPool(t *testing.T) {
	for _, params := range []engine.Params{
		{"units": "3", "blocks": "4"}, {"units": "0"}, {"units": "255", "blocks": "1"}, {"units": "3", "blocks": "4",
			"lostcnt_credit": "true"},
	} {
		l := newLine(t, params, 40, 0.05)
		l.run(t)
		for side, h := range l.hosts {
			p := h.pool
			if p.unitMap.taken != 0 || p.blockMap.taken != 0 || p.unitMap.high > p.unitMap.n ||
				p.blockMap.high > p.blockMap.n {
				t.Errorf("%v, end %d: %d units and %d blocks at the end, %d and %d at most", params, side,
					p.unitMap.taken, p.blockMap.taken, p.unitMap.high, p.blockMap.high)
			}
			if side == 1 && p.exhausted == 0 {
				t.Errorf("%v: the pool was never exhausted", params)
			}
		}
	}
}

// line is a set of QPs between two hosts, with a wire that loses packets and keeps their order.
type line struct {
	hosts [2]*Host
	mem   [2]*memory.Host
	req   [2][]engine.Requester
	resp  [2][]engine.Responder
	wire  []packet
	now   vtime.Time
	rng   *rand.Rand
	loss  float64
	done  int
	size  uint32
}

type packet struct {
	to, qp int
	at     vtime.Time
	p      roce.Packet
}

const (
	sourceVA = 1 << 32
	targetVA = 2 << 32
	slot     = 64 << 10
)

func newLine(t *testing.T, params engine.Params, qps int, loss float64) *line {
	l := &line{rng: rand.New(rand.NewPCG(7, 0)), loss: loss, size: 40_000}
	for side := range l.hosts {
		l.hosts[side], l.mem[side] = host(t, params), &memory.Host{}
		for _, r := range []memory.Region{
			{RKey: 1, Base: sourceVA, Len: uint64(qps * slot), Access: engine.LocalWrite},
			{RKey: 2, Base: targetVA, Len: uint64(qps * slot), Access: engine.AllAccess},
		} {
			r.Bytes = make([]byte, r.Len)
			memory.Pattern(r.Bytes, splitmix.Stream(uint64(side)<<8|uint64(r.RKey)), 0)
			if err := l.mem[side].Register(r); err != nil {
				t.Fatal(err)
			}
		}
		for i := range qps {
			req, resp, err := l.hosts[side].New(engine.QP{QPN: uint32(i), DestQPN: uint32(i), MTU: 1024,
				SendPSN: starts[i%3], RecvPSN: starts[i%3],
				RTO: 300 * vtime.Microsecond, RetryCount: 7, QueueDepth: 4, AckReqEvery: 4, MaxRdAtomic: 2,
				MaxDestRd: 2, Access: engine.AllAccess}, l.mem[side])
			if err != nil {
				t.Fatal(err)
			}
			l.req[side], l.resp[side] = append(l.req[side], req), append(l.resp[side], resp)
		}
	}
	return l
}

// run writes from side 0 to side 1 and reads back to the first half of the source.
func (l *line) run(t *testing.T) {
	t.Helper()
	qps := len(l.req[0])
	for i := range qps {
		off := uint64(i * slot)
		for _, wr := range []engine.WorkRequest{
			{ID: 1, Op: engine.OpWrite, Len: l.size, LocalVA: sourceVA + off, RemoteVA: targetVA + off, RKey: 2},
			{ID: 2, Op: engine.OpRead, Len: l.size, LocalVA: targetVA + off, RemoteVA: targetVA + off, RKey: 2},
		} {
			if err := l.req[0][i].Post(0, wr); err != nil {
				t.Fatal(err)
			}
		}
	}
	for steps := 0; l.done < 2*qps; steps++ {
		if steps > 2_000_000 {
			t.Fatalf("after %v %d of %d requests are done", l.now, l.done, 2*qps)
		}
		l.step(t)
	}
	for i := range qps {
		off := uint64(i * slot)
		sent := l.mem[0].Load(sourceVA+off, int(l.size))
		if !slices.Equal(sent, l.mem[1].Load(targetVA+off, int(l.size))) ||
			!slices.Equal(sent, l.mem[0].Load(targetVA+off, int(l.size))) {
			t.Fatalf("QP %d: what was written and read back is not what was sent", i)
		}
	}
	l.settle(t)
}

// settle delivers the packets in flight, so that the pool is not in use.
func (l *line) settle(t *testing.T) {
	l.loss = 0
	for range 5_000_000 {
		if len(l.wire) == 0 && l.deadline() == vtime.Never {
			return
		}
		l.step(t)
	}
	t.Fatal("the line does not come to rest")
}

func (l *line) step(t *testing.T) {
	var x packet
	sent := false
	for side := range 2 {
		for i := range l.req[side] {
			if !l.resp[side][i].PollTransmit(l.now, &x.p) && !l.req[side][i].PollTransmit(l.now, &x.p) {
				continue
			}
			sent = true
			l.now = l.now.Add(100 * vtime.Nanosecond)
			if l.rng.Float64() >= l.loss {
				l.wire = append(l.wire, packet{1 - side, i, l.now.Add(20 * vtime.Microsecond), x.p})
			}
		}
	}
	if !sent {
		next := l.deadline()
		if len(l.wire) > 0 {
			next = min(next, l.wire[0].at)
		}
		l.now = max(l.now, next)
	}
	for len(l.wire) > 0 && l.wire[0].at <= l.now {
		w := &l.wire[0]
		if w.p.Opcode.IsResponse() {
			l.req[w.to][w.qp].HandlePacket(l.now, &w.p)
		} else {
			l.resp[w.to][w.qp].HandlePacket(l.now, &w.p)
		}
		l.wire = l.wire[1:]
	}
	l.events(t)
}

// deadline calls the timers that are due, and returns the next time at which something may happen.
func (l *line) deadline() vtime.Time {
	next := vtime.Never
	for side := range 2 {
		for i := range l.req[side] {
			for _, e := range []engine.Engine{l.req[side][i], l.resp[side][i]} {
				if at, ok := e.PollTimer(); ok && at <= l.now {
					e.HandleTimer(l.now)
					next = l.now // it may have a packet to send
				}
				if at, ok := e.PollTimer(); ok {
					next = min(next, at)
				}
			}
		}
	}
	return next
}

func (l *line) events(t *testing.T) {
	for side := range 2 {
		for i := range l.req[side] {
			for ev, ok := l.req[side][i].PollEvent(); ok; ev, ok = l.req[side][i].PollEvent() {
				if ev.Kind == engine.Fatal || ev.Status != engine.StatusSuccess {
					t.Fatalf("QP %d: %v", i, ev)
				}
				if ev.Kind == engine.CQE {
					l.done++
				}
			}
			for _, ok := l.resp[side][i].PollEvent(); ok; _, ok = l.resp[side][i].PollEvent() {
			}
		}
	}
}

func TestNewRejects(t *testing.T) {
	for _, tc := range []struct {
		want   string
		change func(*engine.QP)
	}{
		{"MTU 1000", func(qp *engine.QP) { qp.MTU = 1000 }},
		{"QPN 0x1000000", func(qp *engine.QP) { qp.QPN = 1 << 24 }},
		{"SendPSN 16777216", func(qp *engine.QP) { qp.SendPSN = 1 << 24 }},
		{"RetryCount 8", func(qp *engine.QP) { qp.RetryCount = 8 }},
		{"MinRNRTimer 32", func(qp *engine.QP) { qp.MinRNRTimer = 32 }},
		{"QueueDepth 0", func(qp *engine.QP) { qp.QueueDepth = 0 }},
		{"MaxDestRd -1", func(qp *engine.QP) { qp.MaxDestRd = -1 }},
		{"parameter cap is not known", set("cap", "500")},
		{"units", set("units", "256")},
		{"blocks", set("blocks", "-1")},
		{"block_bits", set("block_bits", "65")},
		{"window", set("window", "0")},
		{"lc1_exact", set("lc1_exact", "7")},
		{"rtt", set("rtt", "-1us")},
		{"rate", set("rate", "fast")},
		{"ack_delay", set("ack_delay", "4")},
	} {
		qp := engine.QP{MTU: 1024, QueueDepth: 1}
		tc.change(&qp)
		if _, _, err := Implementation().New(qp, &memory.Host{}); err == nil ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("New says %v, want an error with %q", err, tc.want)
		}
	}
}

// TestRTO: the timeout is the QP's timer if that is set or the path is not known, else max(3 RTT, RTT + W/2).
func TestRTO(t *testing.T) {
	for _, tc := range []struct {
		params engine.Params
		qp     engine.QP
		want   vtime.Duration
	}{
		{nil, engine.QP{Timeout: 1}, 8192 * vtime.Nanosecond},
		{engine.Params{"rtt": "6us"}, engine.QP{RTO: 50 * vtime.Microsecond}, 50 * vtime.Microsecond},
		{engine.Params{"rtt": "6us"}, engine.QP{Timeout: 14}, 18 * vtime.Microsecond},
		// 250 packets of 1106 bytes at 100 Gb/s take 22.12 us.
		{engine.Params{"rtt": "6us", "rate": "100G"}, engine.QP{MTU: 1024}, 28120 * vtime.Nanosecond},
		{engine.Params{"rtt": "40ms", "rate": "100G"}, engine.QP{MTU: 1024}, 120 * vtime.Millisecond},
	} {
		h := host(t, tc.params)
		if got := h.cfg.rto(&tc.qp); got != tc.want {
			t.Errorf("%v: RTO %v, want %v", tc.params, got, tc.want)
		}
	}
}

// TestReadAnsweredLate: data of a READ arrive after its RTO, before the request leaves the port. The READ must not be
// requested again, and the next READ must not use its PSN.
func TestReadAnsweredLate(t *testing.T) {
	for _, start := range starts {
		var mem memory.Host
		for _, r := range []memory.Region{
			{RKey: 1, Base: sourceVA, Len: slot, Access: engine.LocalWrite, Bytes: make([]byte, slot)},
			{RKey: 2, Base: targetVA, Len: slot, Access: engine.AllAccess, Bytes: make([]byte, slot)},
		} {
			if err := mem.Register(r); err != nil {
				t.Fatal(err)
			}
		}
		req, resp, err := host(t, nil).New(engine.QP{MTU: 1024, QueueDepth: 4, SendPSN: start, RecvPSN: start,
			RTO: vtime.Millisecond, RetryCount: 7,
			MaxRdAtomic: 1, MaxDestRd: 1, Access: engine.AllAccess}, &mem)
		if err != nil {
			t.Fatal(err)
		}
		read := func(va uint64) {
			if err := req.Post(0,
				engine.WorkRequest{Op: engine.OpRead, Len: 8, LocalVA: sourceVA, RemoteVA: va, RKey: 2}); err != nil {
				t.Fatal(err)
			}
		}
		read(targetVA)
		var p, late roce.Packet
		for req.PollTransmit(0, &p) {
			resp.HandlePacket(0, &p)
		}
		for resp.PollTransmit(0, &p) {
			if p.Opcode.IsReadResponse() {
				late = p
			} else {
				req.HandlePacket(0, &p)
			}
		}
		req.HandleTimer(vtime.Time(vtime.Millisecond))
		req.HandlePacket(vtime.Time(vtime.Millisecond), &late)
		read(targetVA + 64)
		for req.PollTransmit(vtime.Time(vtime.Millisecond), &p) {
			if p.Opcode.IsRead() && (p.PSN != start.Next() || p.RETH.VA != targetVA+64) {
				t.Errorf("READ psn=%d of %#x is sent, want psn=%d of %#x", p.PSN, p.RETH.VA, start.Next(), targetVA+64)
			}
		}
	}
}

// TestRecoveryAllocatesNothing repeats a loss and its repair on the slow path.
func TestRecoveryAllocatesNothing(t *testing.T) {
	h := host(t, nil)
	var mem memory.Host
	for _, r := range []memory.Region{
		{RKey: 1, Base: sourceVA, Len: slot, Access: engine.LocalWrite, Bytes: make([]byte, slot)},
		{RKey: 2, Base: targetVA, Len: slot, Access: engine.AllAccess, Bytes: make([]byte, slot)},
	} {
		if err := mem.Register(r); err != nil {
			t.Fatal(err)
		}
	}
	req, resp, err := h.New(engine.QP{MTU: 1024, QueueDepth: 4, RTO: vtime.Second, RetryCount: 7,
		Access: engine.AllAccess}, &mem)
	if err != nil {
		t.Fatal(err)
	}
	var p roce.Packet
	completed := 0
	once := func() {
		if err := req.Post(0, engine.WorkRequest{Op: engine.OpWrite, Len: 32 << 10, LocalVA: sourceVA,
			RemoteVA: targetVA, RKey: 2}); err != nil {
			t.Fatal(err)
		}
		for n := 0; req.PollTransmit(0, &p); n++ {
			if n != 3 && n != 4 && n != 17 {
				resp.HandlePacket(0, &p)
			}
			if n < 31 {
				continue
			}
			for resp.PollTransmit(0, &p) {
				req.HandlePacket(0, &p)
			}
		}
		for _, ok := req.PollEvent(); ok; _, ok = req.PollEvent() {
			completed++
		}
	}
	for range 20 {
		once()
	}
	if n := testing.AllocsPerRun(50, once); n != 0 || completed != 71 {
		t.Errorf("%v allocations per message with three losses, %d of 71 messages completed; want none", n, completed)
	}
	if h.pool.blockMap.high == 0 {
		t.Error("no bitmap was used")
	}
}
