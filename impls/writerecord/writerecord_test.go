package writerecord

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Regions of the tests.
const (
	from, to, inbox = 1 << 30, 1 << 40, 1 << 41
	size            = 1 << 20
	tag             = 2
)

// pair is a source and a target without a link between them.
type pair struct {
	source *Source
	target *Target
	mem    memory.Host
	host   *Host
	now    vtime.Time
}

func newPair(t testing.TB, given engine.Params) *pair {
	t.Helper()
	return newPairOf(t, given, size)
}

// newPairOf is newPair with regions of n bytes.
func newPairOf(t testing.TB, given engine.Params, n int) *pair {
	t.Helper()
	p := &pair{}
	for _, r := range []memory.Region{
		{RKey: 1, Base: from, Len: uint64(n), Access: engine.LocalWrite, Bytes: make([]byte, n)},
		{RKey: tag, Base: to, Len: uint64(n), Access: engine.AllAccess, Bytes: make([]byte, n)},
		{RKey: 3, Base: inbox, Len: uint64(n), Access: engine.LocalWrite, Bytes: make([]byte, n)},
	} {
		if err := p.mem.Register(r); err != nil {
			t.Fatal(err)
		}
	}
	p.mem.Fill(from, n, 1)
	h, err := NewHost(given)
	if err != nil {
		t.Fatal(err)
	}
	req, resp, err := h.New(engine.QP{QPN: 0x11, DestQPN: 0x12, QueueDepth: 64, ReceiveDepth: 64,
		Access: engine.AllAccess, Params: given}, &p.mem)
	if err != nil {
		t.Fatal(err)
	}
	p.source, p.target, p.host = req.(*Source), resp.(*Target), h
	return p
}

// carry posts a request and passes the datagrams that keep selects to the target.
func (p *pair) carry(t testing.TB, wr engine.WorkRequest, keep func(n int) bool) {
	if err := p.source.Post(p.now, wr); err != nil {
		t.Fatal(err)
	}
	var packet roce.Packet
	for n := 0; p.source.PollTransmit(p.now, &packet); n++ {
		if keep(n) {
			p.target.HandlePacket(p.now, &packet)
		}
	}
}

func every(int) bool { return true }

func (p *pair) events(e engine.Engine) (list []engine.Event) {
	for ev, ok := e.PollEvent(); ok; ev, ok = e.PollEvent() {
		list = append(list, ev)
	}
	return list
}

var write = engine.WorkRequest{Op: engine.OpWrite, Len: 200_000, LocalVA: from, RemoteVA: to, RKey: tag}
var send = engine.WorkRequest{Op: engine.OpSend, Len: 200_000, LocalVA: from}

// A failed half accepts nothing, sends nothing, and completes the outstanding requests in order.
func TestFlush(t *testing.T) {
	p := newPair(t, nil)
	for i := range 5 {
		wr := write
		wr.ID = uint64(i)
		if err := p.source.Post(0, wr); err != nil {
			t.Fatal(err)
		}
	}
	p.source.Flush(0)
	p.target.Flush(0)
	got := p.events(p.source)
	for i, ev := range got {
		if ev.ID != uint64(i) || ev.Status != engine.StatusFlushed {
			t.Errorf("event %d: %+v", i, ev)
		}
	}
	var packet roce.Packet
	if len(got) != 5 || p.source.PollTransmit(0, &packet) {
		t.Errorf("%d completions, or a packet after the flush", len(got))
	}
	if err := p.source.Post(0, write); !errors.Is(err, engine.ErrQPState) {
		t.Errorf("Post: %v", err)
	}
	if err := p.target.PostReceive(0, engine.ReceiveRequest{}); !errors.Is(err, engine.ErrQPState) {
		t.Errorf("PostReceive: %v", err)
	}
}

func TestPostRefuses(t *testing.T) {
	p := newPair(t, nil)
	for _, op := range []engine.Op{engine.OpRead, engine.OpWriteImm, engine.OpSendInv, engine.OpFetchAdd} {
		if err := p.source.Post(0, engine.WorkRequest{Op: op, Len: 8}); err == nil {
			t.Errorf("%v was taken", op)
		}
	}
	for range 64 {
		if err := p.source.Post(0, write); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.source.Post(0, write); !errors.Is(err, engine.ErrQueueFull) {
		t.Errorf("the 65th: %v", err)
	}
	bad := newPair(t, nil)
	bad.carry(t, engine.WorkRequest{Op: engine.OpWrite, Len: 8, LocalVA: 5}, every)
	if got := bad.events(bad.source); len(got) != 1 || got[0].Status != engine.StatusLocalProtection {
		t.Errorf("from memory that is not there: %+v", got)
	}
}

func TestParamsAreChecked(t *testing.T) {
	for given, want := range map[string]string{
		"segment=10": "want a number from 64 to 65473", "segment=65474": "want a number",
		"map=bits":   "want chunks or aggregate",
		"t_reasm=0s": "want a time", "t_rec=200s": "want a time", "link_mtu=68": "want a number from 576",
		"log=x":    "want a number",
		"mtu=1500": "parameter mtu is not known; known are link_mtu",
	} {
		name, value, _ := strings.Cut(given, "=")
		if _, err := NewHost(engine.Params{name: value}); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want %q", given, err, want)
		}
	}
	for _, qp := range []engine.QP{{QueueDepth: 0}, {QueueDepth: 1, ReceiveDepth: -1}, {QueueDepth: 1 << 21}} {
		h, _ := NewHost(nil)
		if _, _, err := h.New(qp, nil); err == nil {
			t.Errorf("%+v was taken", qp)
		}
	}
}

// With any loss, order and duplication of segments: declared bytes hold the data sent, bytes that are not declared and
// were in no segment that arrived are unchanged, and a received message is complete.
func TestDeclaredIsValid(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := newPair(t, engine.Params{"segment": "1000",
			"map": rapid.SampledFrom([]string{"chunks", "aggregate"}).Draw(rt, "map")})
		n := rapid.IntRange(0, 9000).Draw(rt, "length")
		wr := write
		if rapid.Bool().Draw(rt, "send") {
			wr = send
			if err := p.target.PostReceive(0, engine.ReceiveRequest{ID: 7, VA: inbox, Len: 10_000}); err != nil {
				rt.Fatal(err)
			}
		}
		wr.Len = uint32(n)
		var sent []roce.Packet
		if err := p.source.Post(0, wr); err != nil {
			rt.Fatal(err)
		}
		for packet := (roce.Packet{}); p.source.PollTransmit(0, &packet); {
			packet.Payload = append([]byte(nil), packet.Payload...)
			sent = append(sent, packet)
		}
		arrived := make([]bool, n)
		last := false
		for range rapid.IntRange(0, 2*len(sent)).Draw(rt, "arrivals") {
			i := rapid.IntRange(0, len(sent)-1).Draw(rt, "which")
			p.target.HandlePacket(0, &sent[i])
			last = last || i == len(sent)-1
			for k := i * 1000; k < min(n, (i+1)*1000); k++ {
				arrived[k] = true
			}
		}
		p.judge(rt, &wr, arrived, last)
	})
}

// judge compares events and memory with the bytes that arrived.
func (p *pair) judge(rt *rapid.T, wr *engine.WorkRequest, arrived []bool, last bool) {
	want, base := p.mem.Load(from, len(arrived)), uint64(to)
	if wr.Op == engine.OpSend {
		base = inbox
	}
	got := p.mem.Load(base, len(arrived))
	whole, declared := last, make([]bool, len(arrived))
	for k, has := range arrived {
		whole = whole && has
		if has != (got[k] == want[k]) && want[k] != 0 {
			rt.Fatalf("byte %d arrived: %v, and it is %d for %d", k, has, got[k], want[k])
		}
	}
	completions, entries := 0, 0
	for _, ev := range p.events(p.target) {
		switch ev.Kind {
		case engine.ReceiveCQE:
			if completions++; ev.Status != engine.StatusSuccess || int(ev.Len) != len(arrived) {
				rt.Fatalf("%+v", ev)
			}
		case engine.Declared:
			entries++
			for k := ev.VA - base; k < ev.VA-base+uint64(ev.Len); k++ {
				if declared[k] {
					rt.Fatalf("byte %d is declared twice", k)
				}
				declared[k] = true
			}
		default:
			rt.Fatalf("%+v", ev)
		}
	}
	if wr.Op == engine.OpSend {
		if (completions == 1) != whole || completions > 1 {
			rt.Fatalf("%d completions of a message that is whole: %v", completions, whole)
		}
		return
	}
	for k := range declared {
		if declared[k] != (arrived[k] && last) {
			rt.Fatalf("byte %d arrived: %v, and is declared: %v; the last segment came: %v", k, arrived[k],
				declared[k], last)
		}
	}
	if (entries > 0) != last {
		rt.Fatalf("%d entries; the last segment came: %v", entries, last)
	}
}

// With any number of messages without their end the log is bounded, and empty after t_rec.
func TestLogIsBounded(t *testing.T) {
	p := newPair(t, engine.Params{"segment": "64", "log": "100"})
	wr := write
	wr.Len = 128
	for range 100_000 {
		p.carry(t, wr, func(n int) bool { return n == 0 })
		if p.host.messages > 100 {
			t.Fatalf("%d messages are remembered", p.host.messages)
		}
		p.now = p.now.Add(vtime.Microsecond)
	}
	at, ok := p.target.PollTimer()
	for ; ok; at, ok = p.target.PollTimer() {
		p.target.HandleTimer(at)
	}
	if p.host.messages != 0 || len(p.target.table) != 0 {
		t.Errorf("%d messages are left", p.host.messages)
	}
}

// "It does not have to keep information regarding connections" (IV-A): ten thousand silent peers share the state of
// one.
func TestSilentPeersCostNothing(t *testing.T) {
	h, err := NewHost(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10_000 {
		_, resp, err := h.New(engine.QP{QPN: 0x11, DestQPN: uint32(i), QueueDepth: 1, ReceiveDepth: 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if peer := resp.(*Target); peer.table != nil || peer.sends.all.Len()+peer.records.all.Len() > 0 {
			t.Fatalf("peer %d has state before it has sent anything", i)
		}
	}
	if h.messages != 0 || len(h.spare) != 0 {
		t.Errorf("%d messages, %d spare", h.messages, len(h.spare))
	}
}

// A packet allocates nothing once queues and tables have grown.
func TestAllocations(t *testing.T) {
	p := newPair(t, engine.Params{"segment": "1400", "t_reasm": "1ms", "t_rec": "1ms"})
	lossy := rand.New(rand.NewPCG(1, 1))
	step := func() {
		_ = p.target.PostReceive(p.now, engine.ReceiveRequest{VA: inbox, Len: size})
		for _, wr := range []engine.WorkRequest{write, send} {
			wr.Len = 14_000
			p.carry(t, wr, func(int) bool { return lossy.IntN(20) > 0 })
		}
		for _, e := range []engine.Engine{p.source, p.target} {
			for _, ok := e.PollEvent(); ok; _, ok = e.PollEvent() {
			}
		}
		p.now = p.now.Add(100 * vtime.Microsecond)
		p.target.HandleTimer(p.now)
	}
	for range 1000 {
		step()
	}
	if n := testing.AllocsPerRun(1000, step); n > 0 {
		t.Errorf("%v allocations for twenty datagrams", n)
	}
}

// FuzzTarget passes datagrams with good CRCs and any content to a target: it must neither panic nor write where the tag
// does not allow.
func FuzzTarget(f *testing.F) {
	for _, text := range []string{"WREC msg=0 off=0 mlen=20 stag=0x2 to=0x10000000000 len=20 L",
		"SEND msn=1 mo=0 len=20 L", "SEND msn=1 mo=4294967295 len=9",
		"WREC msg=0 off=4294967280 mlen=4294967295 stag=0x2 to=0xffffffffffffffff len=20",
		"TERMINATE msn=1 mo=0 len=4 L"} {
		s, err := iwarp.Parse(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(s.Append(nil), s.Append(nil))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		p := newPairOf(t, nil, 1<<12)
		p.mem.Watch = func(va uint64, _ []byte, n int) {
			if (va < to || va+uint64(n) > to+1<<12) && (va < inbox || va+uint64(n) > inbox+1000) {
				t.Fatalf("%d bytes at %#x", n, va)
			}
		}
		_ = p.target.PostReceive(0, engine.ReceiveRequest{VA: inbox, Len: 1000})
		for _, body := range [][]byte{a, b, a} {
			if len(body) > iwarp.MaxDatagram-iwarp.CRCLen {
				return
			}
			d := iwarp.AppendCRC(
				append(iwarp.AppendUDP(nil, 1, iwarp.Port, len(body)+iwarp.CRCLen), body...), len(body))
			packet := roce.Packet{Payload: d, Len: len(d)}
			packet.Opcode = roce.UDP
			p.target.HandlePacket(p.now, &packet)
			p.events(p.target)
			p.target.Vars(nil)
			p.now = p.now.Add(60 * vtime.Millisecond)
			p.target.HandleTimer(p.now)
		}
	})
}

func BenchmarkRecord(b *testing.B) {
	p := newPair(b, nil)
	b.SetBytes(int64(write.Len))
	for b.Loop() {
		p.carry(b, write, every)
		p.events(p.source)
		p.events(p.target)
		p.now = p.now.Add(vtime.Millisecond)
	}
}
