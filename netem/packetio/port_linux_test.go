package packetio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// pair is a veth pair x-y in a namespace of its own.
type pair struct {
	ns    ns.NetNS
	clock *Clock
}

func newPair(tb testing.TB) *pair {
	tb.Helper()
	n, err := ns.TempNetNS()
	if err != nil {
		tb.Skipf("no network namespace: %v; run as root", err)
	}
	tb.Cleanup(func() { n.Close() })
	p := &pair{ns: n, clock: NewClock(Monotonic())}
	p.do(tb, func() error {
		err := os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	})
	h, err := netlink.NewHandleAt(netns.NsHandle(int(n.Fd())), unix.NETLINK_ROUTE)
	if err != nil {
		tb.Fatal(err)
	}
	defer h.Close()
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = "x", 9000
	veth := netlink.NewVeth(attrs)
	veth.PeerName, veth.PeerMTU = "y", 9000
	if err := h.LinkAdd(veth); err != nil {
		tb.Fatal(err)
	}
	for _, name := range []string{"x", "y"} {
		link, err := h.LinkByName(name)
		if err != nil {
			tb.Fatal(err)
		}
		if err := errors.Join(h.LinkSetARPOff(link), h.LinkSetUp(link)); err != nil {
			tb.Fatal(err)
		}
	}
	p.awaitCarrier(tb, h)
	return p
}

// awaitCarrier waits until the kernel reports the carrier of the pair, which may take a second.
func (p *pair) awaitCarrier(tb testing.TB, h *netlink.Handle) {
	tb.Helper()
	for range 300 {
		x, err := h.LinkByName("x")
		y, err2 := h.LinkByName("y")
		if err != nil || err2 != nil {
			tb.Fatal(err, err2)
		}
		if x.Attrs().OperState == netlink.OperUp && y.Attrs().OperState == netlink.OperUp {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	tb.Fatal("the veth pair has no carrier after 3 s")
}

func (p *pair) do(tb testing.TB, f func() error) {
	tb.Helper()
	if err := p.ns.Do(func(ns.NetNS) error { return f() }); err != nil {
		tb.Fatal(err)
	}
}

func (p *pair) open(tb testing.TB, device string, o Options) (port *Port) {
	tb.Helper()
	p.do(tb, func() (err error) {
		port, err = Open(device, p.clock, o)
		return err
	})
	tb.Cleanup(func() { port.Close() })
	return port
}

// receive waits up to a second for the wanted number of frames and returns copies of them.
func (p *pair) receive(tb testing.TB, port *Port, want int) (got []Packet) {
	tb.Helper()
	w := NewWaiter(p.clock, port.Fd())
	for until := p.clock.Now().Add(vtime.Second); len(got) < want && p.clock.Now() < until; {
		if err := w.Wait(until); err != nil {
			tb.Fatal(err)
		}
		frames, err := port.Receive()
		if err != nil {
			tb.Fatal(err)
		}
		for _, f := range frames {
			f.Data = append([]byte(nil), f.Data...)
			got = append(got, f)
		}
	}
	return got
}

func (p *pair) send(tb testing.TB, port *Port, frames ...[]byte) {
	tb.Helper()
	if n, err := port.Send(frames); n != len(frames) || err != nil {
		tb.Fatalf("sent %d of %d frames: %v", n, len(frames), err)
	}
}

// numbered returns a test frame with a number after a local experimental EtherType.
func numbered(n, size int) []byte {
	f := make([]byte, size)
	f[0] = 2 // no broadcast
	binary.BigEndian.PutUint16(f[12:], 0x88B5)
	binary.BigEndian.PutUint32(f[14:], uint32(n))
	return f
}

func TestFramesCrossInOrder(t *testing.T) {
	p := newPair(t)
	x, y := p.open(t, "x", Options{}), p.open(t, "y", Options{})
	time.Sleep(100 * time.Millisecond) // until the kernel stamps: see Open
	var frames [][]byte
	for n := range 1000 {
		frames = append(frames, numbered(n, 60+n%9000))
	}
	before := p.clock.Now()
	p.send(t, x, frames...)
	got := p.receive(t, y, len(frames))
	if len(got) != len(frames) {
		t.Fatalf("%d of %d frames", len(got), len(frames))
	}
	last := before
	for n, f := range got {
		if string(f.Data) != string(frames[n]) || f.Length != len(frames[n]) || f.Outgoing {
			t.Fatalf("frame %d differs: %d bytes, outgoing %v", n, f.Length, f.Outgoing)
		}
		if f.Time < last.Add(-vtime.Microsecond) || f.Time > p.clock.Now() {
			t.Fatalf("frame %d is stamped %s, after %s", n, f.Time.Micros(), last.Micros())
		}
		last = f.Time
	}
	c, err := y.Counts()
	if err != nil || c.Received != 1000 || c.Dropped != 0 {
		t.Errorf("counts %+v, %v", c, err)
	}
	if own, err := x.Receive(); err != nil || len(own) != 0 {
		t.Errorf("the sender received %d of its own frames, %v", len(own), err)
	}
}

// A qdisc with a limit of zero packets drops every frame. A Port that knows of the qdisc counts the frame as sent, one
// that does not tries again, and one that bypasses the qdisc is not affected.
// A new reading of the wall clock that is half a second off does not put a frame before those that came before it.
func TestFramesKeepTheirOrderInTime(t *testing.T) {
	p := newPair(t)
	x, y := p.open(t, "x", Options{}), p.open(t, "y", Options{})
	p.send(t, x, numbered(0, 64))
	first := p.receive(t, y, 1)
	p.clock.wall -= int64(time.Second / 2)
	p.send(t, x, numbered(1, 64))
	second := p.receive(t, y, 1)
	if len(first) != 1 || len(second) != 1 || second[0].Time < first[0].Time {
		t.Errorf("%d and %d frames, the second before the first", len(first), len(second))
	}
}

func TestQdisc(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: runs in real time")
	}
	p := newPair(t)
	plain, through, past := p.open(t, "x", Options{}), p.open(t, "x", Options{Qdisc: true}),
		p.open(t, "x", Options{Past: true})
	y := p.open(t, "y", Options{})
	p.do(t, func() error {
		x, err := net.InterfaceByName("x")
		if err != nil {
			return err
		}
		req := nl.NewNetlinkRequest(unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_EXCL|unix.NLM_F_ACK)
		req.AddData(&nl.TcMsg{Family: nl.FAMILY_ALL, Ifindex: int32(x.Index), Parent: netlink.HANDLE_ROOT})
		req.AddData(nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated("pfifo")))
		req.AddData(nl.NewRtAttr(nl.TCA_OPTIONS, make([]byte, 4))) // struct tc_fifo_qopt: the limit
		_, err = req.Execute(unix.NETLINK_ROUTE, 0)
		return err
	})
	if n, err := plain.Send([][]byte{numbered(1, 60)}); n != 0 || err != nil {
		t.Errorf("a Port that knows of no qdisc sent %d, %v", n, err)
	}
	p.send(t, through, numbered(2, 60), numbered(3, 60))
	p.send(t, past, numbered(4, 60), numbered(5, 60))
	got := p.receive(t, y, 3)
	if len(got) != 2 || binary.BigEndian.Uint32(got[0].Data[14:]) != 4 {
		t.Errorf("%d frames arrived; want the two that went past the qdisc", len(got))
	}
	p.send(t, y, numbered(6, 60))
	if frames := p.receive(t, plain, 1); len(frames) != 1 {
		t.Errorf("%d frames came back", len(frames))
	}
	if frames, err := past.Receive(); len(frames) != 0 || err != nil {
		t.Errorf("a Port that only sends received %d frames, %v", len(frames), err)
	}
}

func TestTapSeesBothDirections(t *testing.T) {
	p := newPair(t)
	x, y := p.open(t, "x", Options{}), p.open(t, "y", Options{})
	tap := p.open(t, "x", Options{Outgoing: true, Snap: 64})
	p.send(t, x, numbered(1, 500))
	p.send(t, y, numbered(2, 60))
	got := p.receive(t, tap, 2)
	if len(got) != 2 || !got[0].Outgoing || got[1].Outgoing {
		t.Fatalf("tap saw %+v", got)
	}
	if got[0].Length != 500 || len(got[0].Data) != 64 || got[1].Length != 60 {
		t.Errorf("lengths %d (%d kept) and %d; want 500 (64 kept) and 60", got[0].Length,
			len(got[0].Data), got[1].Length)
	}
}

func TestDropsAreCounted(t *testing.T) {
	p := newPair(t)
	x, y := p.open(t, "x", Options{}), p.open(t, "y", Options{Buffer: 4096})
	for n := range 200 {
		p.send(t, x, numbered(n, 1500))
	}
	got := p.receive(t, y, 1)
	c, err := y.Counts()
	if err != nil || c.Dropped == 0 || c.Received != 200 || int(c.Dropped)+len(got) != 200 {
		t.Errorf("%d arrived, counts %+v, %v", len(got), c, err)
	}
	if again, err := y.Counts(); err != nil || again != c {
		t.Errorf("a second reading gives %+v, %v; want the same sums", again, err)
	}
}

// udp returns a frame with only the fields that the filter reads.
func udp(version int, protocol byte, options, port int, fragment uint16) []byte {
	f := make([]byte, 120)
	if version == 6 {
		binary.BigEndian.PutUint16(f[12:], unix.ETH_P_IPV6)
		f[14], f[20] = 0x60, protocol
		binary.BigEndian.PutUint16(f[56:], uint16(port))
		return f
	}
	binary.BigEndian.PutUint16(f[12:], unix.ETH_P_IP)
	f[14], f[23] = byte(0x45+options), protocol
	binary.BigEndian.PutUint16(f[20:], fragment)
	binary.BigEndian.PutUint16(f[14+20+4*options+2:], uint16(port))
	return f
}

func TestRoCEFilter(t *testing.T) {
	vm, err := bpf.NewVM(roceFilter())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		frame []byte
		pass  bool
	}{
		"IPv4":                {udp(4, 17, 0, 4791, 0x4000), true},
		"IPv4 with options":   {udp(4, 17, 3, 4791, 0), true},
		"IPv4 first fragment": {udp(4, 17, 0, 4791, 0x2000), true},
		"IPv4 next fragment":  {udp(4, 17, 0, 4791, 0x2001), false},
		"IPv4 other port":     {udp(4, 17, 0, 4790, 0), false},
		"IPv4 TCP":            {udp(4, 6, 0, 4795, 0), true},
		"IPv4 ICMP":           {udp(4, 1, 0, 4791, 0), false},
		"IPv6":                {udp(6, 17, 0, 4791, 0), true},
		"IPv6 other port":     {udp(6, 17, 0, 53, 0), false},
		"IPv6 TCP":            {udp(6, 6, 0, 4791, 0), false},
		"another ethertype":   {numbered(0, 120), false},
		"another transport":   {append([]byte{2, 0, 0, 0x78}, udp(4, 6, 0, 80, 0)[4:]...), true},
		"too short":           {udp(4, 17, 0, 4791, 0)[:30], false},
	} {
		n, err := vm.Run(c.frame)
		if err != nil || (n > 0) != c.pass {
			t.Errorf("%s: keeps %d bytes, %v; want pass %v", name, n, err, c.pass)
		}
	}
	p := newPair(t) // the filter in the kernel
	x, y := p.open(t, "x", Options{}), p.open(t, "y", Options{RoCE: true})
	p.send(t, x, udp(4, 17, 0, 53, 0), udp(4, 17, 0, 4791, 0), numbered(0, 60), udp(6, 17, 0, 4791, 0))
	if got := p.receive(t, y, 2); len(got) != 2 || got[0].Data[14] != 0x45 || got[1].Data[14] != 0x60 {
		t.Errorf("the kernel let %d frames pass, want 2", len(got))
	}
}

// A VLAN tag, which the kernel takes out of a frame, is in the received frame and counts in its length.
func TestReceiveKeepsTheTag(t *testing.T) {
	p := newPair(t)
	x, y := p.open(t, "x", Options{}), p.open(t, "y", Options{})
	for _, kind := range []uint16{unix.ETH_P_8021Q, unix.ETH_P_8021AD, 0x88B5} {
		frame := numbered(7, 120)
		binary.BigEndian.PutUint16(frame[12:], kind)
		binary.BigEndian.PutUint16(frame[14:], 0xA005)
		p.send(t, x, frame)
		if got := p.receive(t, y, 1); len(got) != 1 || !bytes.Equal(got[0].Data, frame) || got[0].Length != len(frame) {
			t.Errorf("%#x: %+v, want %x", kind, got, frame)
		}
	}
}

func TestMuteTakesThePort(t *testing.T) {
	p := newPair(t)
	p.do(t, func() error {
		m, err := Mute(4791)
		if err != nil {
			return err
		}
		if _, err := Mute(4791); err == nil || !strings.Contains(err.Error(), "4791") {
			t.Errorf("the port was taken twice: %v", err)
		}
		if err := errors.Join(m.Close(), m.Close()); err != nil {
			t.Error(err)
		}
		again, err := Mute(4791)
		if err != nil {
			return err
		}
		return again.Close()
	})
}

// Without Mute the kernel answers a datagram for no socket with ICMP port unreachable; with Mute it does not.
func TestMuteSilencesICMP(t *testing.T) {
	p := newPair(t)
	p.do(t, func() error {
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		if err := netlink.LinkSetUp(lo); err != nil {
			return err
		}
		refused := func() bool {
			c, err := net.Dial("udp4", "127.0.0.1:4791")
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.Write([]byte("x"))
			c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			_, err = c.Read(make([]byte, 1))
			return errors.Is(err, unix.ECONNREFUSED)
		}
		if !refused() {
			t.Error("the kernel does not answer even without Mute, so this test shows nothing")
		}
		m, err := Mute(4791)
		if err != nil {
			return err
		}
		defer m.Close()
		if refused() {
			t.Error("the kernel answers a muted port")
		}
		return nil
	})
}

func TestOpenRefusals(t *testing.T) {
	if _, err := Open("nosuch0", NewClock(0), Options{}); err == nil || !strings.Contains(err.Error(), "nosuch0") {
		t.Errorf("unknown device: %v", err)
	}
	p := newPair(t)
	x := p.open(t, "x", Options{})
	if err := errors.Join(x.Close(), x.Close()); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	if _, err := x.Receive(); err == nil {
		t.Error("a closed port receives")
	}
	if _, err := x.Send([][]byte{numbered(0, 60)}); err == nil {
		t.Error("a closed port sends")
	}
}

// Sending and receiving packets needs no allocation.
func TestNoAllocationPerPacket(t *testing.T) {
	p := newPair(t)
	x, y := p.open(t, "x", Options{}), p.open(t, "y", Options{})
	frames := [][]byte{numbered(0, 1066), numbered(1, 1066)}
	w := NewWaiter(p.clock, y.Fd())
	lost := 0
	n := testing.AllocsPerRun(500, func() {
		if _, err := x.Send(frames); err != nil {
			t.Fatal(err)
		}
		for got := 0; got < len(frames); {
			if err := w.Wait(p.clock.Now().Add(vtime.Second)); err != nil {
				t.Fatal(err)
			}
			in, err := y.Receive()
			if err != nil || len(in) == 0 {
				lost++
				return
			}
			got += len(in)
		}
	})
	if n > 0 || lost > 0 {
		t.Errorf("%g allocations per two frames, %d frames lost", n, lost)
	}
}

// BenchmarkVeth measures the cost of one 1 KiB frame through a veth pair, sent and received in batches of 64.
func BenchmarkVeth(b *testing.B) {
	p := newPair(b)
	x, y := p.open(b, "x", Options{}), p.open(b, "y", Options{})
	var frames [][]byte
	for n := range 64 {
		frames = append(frames, numbered(n, 1066))
	}
	b.ReportAllocs()
	for sent := 0; sent < b.N; sent += len(frames) {
		p.send(b, x, frames...)
		for got := 0; got < len(frames); {
			in, err := y.Receive()
			if err != nil {
				b.Fatal(err)
			}
			got += len(in)
		}
	}
}
