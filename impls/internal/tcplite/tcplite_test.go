package tcplite

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/tcp"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

const (
	gap   = 10 * vtime.Microsecond // time that a segment occupies the wire
	delay = 5 * vtime.Millisecond
)

// config returns the configuration of one side; mark distinguishes the sides.
func config(active bool, iss tcp.Seq) Config {
	c := Config{LocalPort: 7, RemotePort: 9, ISS: iss, MSS: 1000, Window: 1 << 20, MinRTO: 200 * vtime.Millisecond,
		Retries: 8, Active: active}
	if !active {
		c.LocalPort, c.RemotePort = 9, 7
	}
	return c
}

// end is one side of a connection, with the bytes that its application sent and received.
type end struct {
	conn  *Conn
	tx    []byte // still to be written
	close bool   // close when all is written
	rx    []byte
	free  vtime.Time
}

// flight is a segment on the wire.
type flight struct {
	at   vtime.Time
	to   int
	data []byte
}

// pair is a connection over a wire that applies fate to the n-th segment.
type pair struct {
	t    testing.TB
	now  vtime.Time
	ends [2]*end
	wire []flight
	sent int
	log  []string
	fate func(n, from int, h tcp.Header, data []byte) (drop, twice bool, extra vtime.Duration)
	base [2]tcp.Seq
}

func newPair(t testing.TB, change func(*Config), iss ...tcp.Seq) *pair {
	t.Helper()
	p := &pair{t: t, base: [2]tcp.Seq{100, 5000}}
	copy(p.base[:], iss)
	for i := range p.ends {
		cfg := config(i == 0, p.base[i])
		if change != nil {
			change(&cfg)
		}
		c, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		p.ends[i] = &end{conn: c}
	}
	return p
}

// run drives the connection until no event is left.
func (p *pair) run() {
	p.t.Helper()
	p.ends[0].conn.Open()
	for range 2_000_000 {
		next := vtime.Never
		moved := false
		for i, e := range p.ends {
			p.application(e)
			if e.free > p.now {
				next = min(next, e.free)
			} else if p.transmit(i) {
				moved = true
			}
			if at, ok := e.conn.PollTimer(); ok {
				next = min(next, at)
			}
		}
		if moved {
			continue
		}
		if len(p.wire) > 0 {
			next = min(next, p.wire[0].at)
		}
		if next == vtime.Never {
			return
		}
		p.now = max(p.now, next)
		p.deliver()
		for _, e := range p.ends {
			e.conn.HandleTimer(p.now)
		}
	}
	p.t.Fatalf("the connection does not come to rest: %s", strings.Join(p.log[max(0, len(p.log)-20):], "\n"))
}

func (p *pair) application(e *end) {
	for len(e.tx) > 0 && e.conn.Room() {
		n := min(len(e.tx), e.conn.MSS())
		e.conn.Write(e.tx[:n])
		e.tx = e.tx[n:]
	}
	if len(e.tx) == 0 && e.close && e.conn.State() == Established {
		e.conn.Close()
	}
}

func (p *pair) transmit(from int) bool {
	e := p.ends[from]
	b := make([]byte, 2000)
	n, ok := e.conn.Poll(p.now, b)
	if !ok {
		return false
	}
	b = b[:n]
	h, data, err := tcp.Decode(b)
	if err != nil {
		p.t.Fatal(err)
	}
	p.log = append(p.log, fmt.Sprintf("%.2f ms  %s  %s seq=+%d ack=+%d len=%d", ms(p.now), []string{"A>B", "B>A"}[from],
		h.Flags, h.Seq.Sub(p.base[from]), h.Ack.Sub(p.base[1-from]), len(data)))
	e.free = p.now.Add(gap)
	var drop, twice bool
	var extra vtime.Duration
	if p.fate != nil {
		drop, twice, extra = p.fate(p.sent, from, h, data)
	}
	p.sent++
	if drop {
		p.log[len(p.log)-1] += " X"
		return true
	}
	p.insert(flight{e.free.Add(delay + extra), 1 - from, b})
	if twice {
		p.insert(flight{e.free.Add(2*delay + extra), 1 - from, b})
	}
	return true
}

func (p *pair) insert(f flight) {
	i := len(p.wire)
	for i > 0 && p.wire[i-1].at > f.at {
		i--
	}
	p.wire = slices.Insert(p.wire, i, f)
}

func (p *pair) deliver() {
	for len(p.wire) > 0 && p.wire[0].at <= p.now {
		f := p.wire[0]
		p.wire = p.wire[1:]
		e := p.ends[f.to]
		e.conn.HandleSegment(p.now, f.data)
		for b := e.conn.Read(); b != nil; b = e.conn.Read() {
			e.rx = append(e.rx, b...)
		}
	}
}

// ms returns a time in milliseconds.
func ms(t vtime.Time) float64 { return float64(t) / float64(vtime.Millisecond) }

// text returns n bytes that differ between nearby positions.
func text(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

// TestSequence is the shortest conversation, segment by segment.
func TestSequence(t *testing.T) {
	p := newPair(t, nil)
	p.ends[0].tx, p.ends[0].close = text(1500), true
	p.ends[1].close = true
	p.run()
	var got []string
	for _, l := range p.log {
		_, l, _ = strings.Cut(l, "ms  ")
		got = append(got, l)
	}
	want := []string{
		"A>B  SYN seq=+0 ack=+-5000 len=0",
		"B>A  SYN,ACK seq=+0 ack=+1 len=0",
		"A>B  PSH,ACK seq=+1 ack=+1 len=1000",
		"A>B  PSH,ACK seq=+1001 ack=+1 len=500",
		"A>B  FIN,ACK seq=+1501 ack=+1 len=0",
		"B>A  FIN,ACK seq=+1 ack=+1001 len=0",
		"B>A  ACK seq=+2 ack=+1501 len=0",
		"B>A  ACK seq=+2 ack=+1502 len=0",
		"A>B  ACK seq=+1502 ack=+2 len=0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for i, e := range p.ends {
		if e.conn.End() != Orderly || !e.conn.PeerClosed() {
			t.Errorf("end %d: %v", i, e.conn.End())
		}
	}
	if !bytes.Equal(p.ends[1].rx, text(1500)) || p.ends[0].conn.Acked() != 1500 {
		t.Errorf("%d bytes arrived, %d are acknowledged", len(p.ends[1].rx), p.ends[0].conn.Acked())
	}
}

// nth returns a fate that drops the n-th data segment of side 0 (from 0), the first time.
func nth(drop ...int) func(int, int, tcp.Header, []byte) (bool, bool, vtime.Duration) {
	seen := 0
	highest := tcp.Seq(0)
	return func(_, from int, h tcp.Header, data []byte) (bool, bool, vtime.Duration) {
		if from != 0 || len(data) == 0 || h.Seq.AtMost(highest) {
			return false, false, 0
		}
		highest = h.Seq
		seen++
		return slices.Contains(drop, seen-1), false, 0
	}
}

// TestOneLossOneFastRetransmit: three duplicate ACKs cause one retransmission, without a timeout.
func TestOneLossOneFastRetransmit(t *testing.T) {
	p := newPair(t, nil)
	p.ends[0].tx = text(40_000)
	p.fate = nth(5)
	p.run()
	c := p.ends[0].conn.Counts()
	if c.Resent != 1 || c.FastRetransmits != 1 || c.Timeouts != 0 || !bytes.Equal(p.ends[1].rx, text(40_000)) {
		t.Errorf("%+v and %d bytes", c, len(p.ends[1].rx))
	}
}

// TestPartialACKsRepairOneHolePerRoundTrip is NewReno: two losses of a window, one fast retransmit, one partial ACK.
func TestPartialACKsRepairOneHolePerRoundTrip(t *testing.T) {
	p := newPair(t, nil)
	p.ends[0].tx = text(60_000)
	p.fate = nth(3, 5, 7)
	p.run()
	c := p.ends[0].conn.Counts()
	if c.Resent != 3 || c.FastRetransmits != 1 || c.Timeouts != 0 || !bytes.Equal(p.ends[1].rx, text(60_000)) {
		t.Errorf("%+v and %d bytes", c, len(p.ends[1].rx))
	}
}

// TestTailLossWaitsForTheTimer: after the last segment none draws duplicate ACKs.
func TestTailLossWaitsForTheTimer(t *testing.T) {
	p := newPair(t, nil)
	p.ends[0].tx = text(5000)
	p.fate = nth(4)
	p.run()
	c := p.ends[0].conn.Counts()
	if c.Resent != 1 || c.Timeouts != 1 || c.FastRetransmits != 0 || !bytes.Equal(p.ends[1].rx, text(5000)) {
		t.Errorf("%+v and %d bytes", c, len(p.ends[1].rx))
	}
	if p.now < vtime.Time(200*vtime.Millisecond) || p.now > vtime.Time(300*vtime.Millisecond) {
		t.Errorf("it took %.1f ms, want little more than the least RTO", ms(p.now))
	}
}

// TestWindowAfterLossIsHalf checks cwnd: ten segments and one for each ACK, half of the flight after the loss.
func TestWindowAfterLossIsHalf(t *testing.T) {
	p := newPair(t, nil)
	p.ends[0].tx = text(30_000)
	flightAtLoss := 0
	inner := nth(12)
	p.fate = func(n, from int, h tcp.Header, data []byte) (bool, bool, vtime.Duration) {
		if c := p.ends[0].conn; c.cong.active && flightAtLoss == 0 {
			flightAtLoss = c.cong.ssthresh
			if _, flight := c.Window(); c.cong.ssthresh > flight/2+1000 {
				t.Errorf("threshold %d with %d in flight", c.cong.ssthresh, flight)
			}
		}
		return inner(n, from, h, data)
	}
	p.run()
	if flightAtLoss == 0 {
		t.Fatal("no recovery")
	}
	if c := &p.ends[0].conn.cong; c.active || c.cwnd > flightAtLoss+2000 {
		t.Errorf("cwnd %d after recovery, threshold was %d", c.cwnd, flightAtLoss)
	}
}

// TestDeadWireTimesOut: the backoff doubles, and the connection fails after its retries.
func TestDeadWireTimesOut(t *testing.T) {
	p := newPair(t, func(c *Config) { c.Retries = 3 })
	p.ends[0].tx = text(500)
	p.fate = func(n, _ int, _ tcp.Header, data []byte) (bool, bool, vtime.Duration) { return len(data) > 0, false, 0 }
	p.run()
	c := p.ends[0].conn
	if c.End() != TimedOut || c.State() != Closed || c.Counts().Timeouts != 3 || c.Counts().Resent != 3 {
		t.Errorf("%v %v %+v", c.End(), c.State(), c.Counts())
	}
	if at := ms(p.now); at < 200*15 || at > 200*15+50 {
		t.Errorf("failed after %.1f ms, want 200+400+800+1600", at)
	}
}

// TestLostHandshake loses each segment of the handshake in turn.
func TestLostHandshake(t *testing.T) {
	for lost := range 3 {
		p := newPair(t, nil)
		p.ends[0].tx = text(2500)
		p.ends[1].tx = text(2500)
		p.fate = func(n, _ int, _ tcp.Header, _ []byte) (bool, bool, vtime.Duration) { return n == lost, false, 0 }
		p.run()
		if !bytes.Equal(p.ends[1].rx, text(2500)) || !bytes.Equal(p.ends[0].rx, text(2500)) {
			t.Errorf("segment %d lost: %d and %d bytes arrived", lost, len(p.ends[0].rx), len(p.ends[1].rx))
		}
	}
}

func TestAbortResetsThePeer(t *testing.T) {
	p := newPair(t, nil)
	p.ends[0].tx = text(10)
	p.run()
	p.ends[1].conn.Abort()
	p.run()
	for i, e := range p.ends {
		if e.conn.End() != Reset {
			t.Errorf("end %d: %v", i, e.conn.End())
		}
	}
	before := p.sent
	p.run()
	if p.sent != before {
		t.Error("a reset connection sends")
	}
}

// TestBadWireDeliversTheStream: with losses, duplicates and reordering both streams arrive as sent, from start numbers
// that wrap.
func TestBadWireDeliversTheStream(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := newPair(t, func(c *Config) { c.Retries = 40; c.Window = 64 << 10 }, 0xFFFFF000, 0x7FFFF000)
		for i, e := range p.ends {
			e.tx, e.close = text(30_000+10_000*i), true
		}
		p.fate = func(int, int, tcp.Header, []byte) (bool, bool, vtime.Duration) {
			return r.Float64() < 0.05, r.Float64() < 0.05, vtime.Duration(r.IntN(3)) * 10 * gap
		}
		p.run()
		for i, e := range p.ends {
			if !bytes.Equal(e.rx, text(30_000+10_000*(1-i))) {
				t.Fatalf("seed %d: end %d got %d bytes that are not the stream", seed, i, len(e.rx))
			}
			if e.conn.End() != Orderly {
				t.Errorf("seed %d: end %d ended %v", seed, i, e.conn.End())
			}
		}
	}
}

// TestWindowIsNeverExceeded: no byte is in flight beyond the peer's window.
func TestWindowIsNeverExceeded(t *testing.T) {
	p := newPair(t, func(c *Config) { c.Window = 8 << 10 })
	p.ends[0].tx = text(200_000)
	p.fate = func(int, int, tcp.Header, []byte) (bool, bool, vtime.Duration) {
		if _, flight := p.ends[0].conn.Window(); flight > 8<<10 {
			t.Fatalf("%d bytes in flight, the window is 8 KiB", flight)
		}
		return false, false, 0
	}
	p.run()
	if !bytes.Equal(p.ends[1].rx, text(200_000)) {
		t.Errorf("%d bytes arrived", len(p.ends[1].rx))
	}
}

func TestNewRejects(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"MSS": func(c *Config) { c.MSS = 1 }, "window": func(c *Config) { c.Window = 0 }, "retries": func(c *Config) {
			c.Retries = -1
		},
		"least RTO": func(c *Config) { c.MinRTO = 0 },
	} {
		cfg := config(true, 0)
		change(&cfg)
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error about %s", err, want)
		}
	}
}

// TestSteadyStateAllocatesNothing moves segments both ways with occasional losses.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	p := newPair(t, nil)
	p.run()
	a, b := p.ends[0].conn, p.ends[1].conn
	buf, data := make([]byte, 2000), text(1000)
	now, n := p.now, 0
	once := func() {
		for range 20 {
			if a.Room() {
				a.Write(data)
			}
			for k, ok := a.Poll(now, buf); ok; k, ok = a.Poll(now, buf) {
				if n++; n%37 == 0 {
					continue
				}
				b.HandleSegment(now, buf[:k])
				for b.Read() != nil {
				}
			}
			for k, ok := b.Poll(now, buf); ok; k, ok = b.Poll(now, buf) {
				a.HandleSegment(now, buf[:k])
			}
			now = now.Add(gap)
			if at, ok := a.PollTimer(); ok && !a.Room() {
				now = max(now, at)
				a.HandleTimer(now)
			}
		}
	}
	for range 50 {
		once()
	}
	if n := testing.AllocsPerRun(100, once); n != 0 {
		t.Errorf("%v allocations per 20 segments, want none", n)
	}
	if a.Counts().Resent == 0 || a.State() != Established {
		t.Errorf("nothing was lost, or all: %v %+v", a.State(), a.Counts())
	}
}

// FuzzSegment: no segment makes a connection panic, grow without bound or deliver data outside its window.
func FuzzSegment(f *testing.F) {
	h := tcp.Header{SrcPort: 9, DstPort: 7, Seq: 5001, Ack: 101, Flags: tcp.ACK, Window: 10}
	b := make([]byte, h.Len())
	h.Put(b)
	f.Add(append(b, 1, 2, 3))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := newPair(t, nil)
		p.ends[0].tx = text(3000)
		p.run()
		c := p.ends[0].conn
		for range 3 {
			if len(b) >= 4 {
				copy(b, []byte{0, 9, 0, 7})
			}
			c.HandleSegment(p.now, b)
			total := 0
			for d := c.Read(); d != nil; d = c.Read() {
				total += len(d)
			}
			if total > len(b) {
				t.Errorf("%d bytes read from a segment of %d", total, len(b))
			}
			buf := make([]byte, 2000)
			for n := 0; ; n++ {
				if _, ok := c.Poll(p.now, buf); !ok {
					break
				}
				if n > 10 {
					t.Fatal("segments without end")
				}
			}
		}
	})
}
