package dut

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

var (
	mine = Identity{Addr: netip.MustParseAddr("10.77.0.1"), QPN: 0x11, PSN: 0xFFFFFE, Key: 0x1000,
		Buffer: 0x2000_0000_0000}
	theirs = Identity{Addr: netip.MustParseAddr("10.77.0.2"), QPN: 0x12, PSN: 0x34d1f2, Key: 0x8f1,
		Buffer: 0x7f3a_1c00_2000}
)

// Lines that the stock tools were observed to send: perftest 6.06 and libibverbs 44, about a soft-RoCE device at
// 10.77.0.2.
const (
	perftestLine = "0000:0010:000012:34d1f2:000008f1:00007f3a1c002000:" +
		"00:00:00:00:00:00:00:00:00:00:ff:ff:0a:4d:00:02:00000000:"
	otherLine = "0000:0000:000011:abcdef:000001ff:0000000000005000:" +
		"00:00:00:00:00:00:00:00:00:00:ff:ff:0a:4d:00:01:00000000:"
	pingpongLine = "0000:000012:34d1f2:00000000000000000000ffff0a4d0002"
)

// fake plays a tool: each of its steps sends a text and receives one of a given length.
type fake struct {
	conn  net.Conn
	first bool // the client, which sends first
	keys  string
	heard []string
}

// trade sends a message and receives one of n bytes, in the order of its role.
func (f *fake) trade(say string, n int) {
	out := append([]byte(say), make([]byte, n-len(say))...)
	in := make([]byte, n)
	if f.first {
		_, _ = f.conn.Write(out)
	}
	_, err := io.ReadFull(f.conn, in)
	if err == nil && !f.first {
		_, _ = f.conn.Write(out)
	}
	f.heard = append(f.heard, strings.TrimRight(string(in), "\x00"))
}

// perftest plays the exchange of perftest.
func (f *fake) perftest(version string, syncs int) {
	f.trade(version, 16)
	f.trade("\x00\x00\x10\x00", 4)
	f.trade("\x00\x00\x00\x40", 4)
	f.trade("3", 2)
	for range 1 + syncs {
		f.trade(cmp.Or(f.keys, perftestLine), 108)
	}
}

// meet introduces a tool to a fake one.
func meet(t *testing.T, tool Tool, play func(*fake)) (*Meeting, *fake, chan struct{}, error) {
	t.Helper()
	here, there := net.Pipe()
	t.Cleanup(func() { _ = there.Close() })
	f, done := &fake{conn: there, first: tool.Active}, make(chan struct{})
	go func() {
		defer close(done)
		play(f)
	}()
	m, err := tool.Meet(here, mine)
	return m, f, done, err
}

func TestPerftestExchange(t *testing.T) {
	for _, c := range []struct {
		op    engine.Op
		syncs int
	}{{engine.OpWrite, 2}, {engine.OpRead, 2}, {engine.OpSend, 3}} {
		for _, active := range []bool{false, true} {
			tool := Tool{Op: c.op, MTU: 1024, Active: active}
			tool.choose()
			m, f, done, err := meet(t, tool, func(f *fake) { f.perftest("6.06", c.syncs) })
			if err != nil {
				t.Fatal(err)
			}
			if active { // the tool starts to send when it has the last line
				select {
				case <-done:
					t.Errorf("%s: the tool may send before Begin", c.op)
				default:
				}
				if err := m.Begin(); err != nil {
					t.Error(err)
				}
			}
			<-done
			if m.Peer != told {
				t.Errorf("%s: peer %+v, want %+v", c.op, m.Peer, told)
			}
			reads := map[bool]string{true: "0010", false: "0000"}[c.op == engine.OpRead]
			want := "0000:" + reads +
				":000011:fffffe:00001000:0000200000000000:00:00:00:00:00:00:00:00:00:00:ff:ff:0a:4d:00:01:00000000:"
			if f.heard[0] != "6.06" || f.heard[3] != "3" || f.heard[4] != want {
				t.Errorf("%s: the tool heard %q; want the keys %q", c.op, f.heard, want)
			}
		}
	}
}

// TestLatencyExchange: ib_write_lat sends its keys four times, and the passive end begins after Begin.
func TestLatencyExchange(t *testing.T) {
	for _, active := range []bool{false, true} {
		tool := Tool{Op: engine.OpWrite, MTU: 1024, Active: active, Answers: true, turns: scenario.WriteTurns}
		tool.choose()
		m, _, done, err := meet(t, tool, func(f *fake) { f.perftest("6.06", 3) })
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-done:
			t.Error("the tool may WRITE before Begin")
		default:
		}
		if err := m.Begin(); err != nil {
			t.Error(err)
		}
		if <-done; m.Peer != told {
			t.Errorf("peer %+v, want %+v", m.Peer, told)
		}
	}
}

func TestPerftestOfAnotherVersion(t *testing.T) {
	tool := Tool{Op: engine.OpWrite, MTU: 1024}
	tool.choose()
	_, _, _, err := meet(t, tool, func(f *fake) { f.trade("5.60", 16) })
	if want := `dut: ib_write_bw: it speaks version "5.60" of perftest's protocol, and this program speaks 6.06`; err ==
		nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

func TestToolThatHangsUp(t *testing.T) {
	tool := Tool{Op: engine.OpSend, MTU: 1024}
	tool.choose()
	_, _, _, err := meet(t, tool, func(f *fake) { f.trade("6.06", 16); _ = f.conn.Close() })
	if err == nil || !strings.Contains(err.Error(), "dut: ib_send_bw: ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v, want a line that names the tool", err)
	}
}

func TestPingpongExchange(t *testing.T) {
	for _, active := range []bool{false, true} {
		tool := Tool{Program: "ibv_rc_pingpong", Active: active, MTU: 1024, kind: pingpong{}}
		m, f, done, err := meet(t, tool, func(f *fake) {
			f.trade(pingpongLine, 52)
			if !f.first {
				in := make([]byte, 5)
				_, _ = io.ReadFull(f.conn, in)
				f.heard = append(f.heard, string(in))
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Begin(); err != nil {
			t.Error(err)
		}
		<-done
		want := []string{"0000:000011:fffffe:00000000000000000000ffff0a4d0001"}
		if !active {
			want = append(want, "done\x00")
		}
		if !slices.Equal(f.heard, want) {
			t.Errorf("active %v: the tool heard %q, want %q", active, f.heard, want)
		}
		if got := fmt.Sprint(m.Peer.Addr, m.Peer.QPN, m.Peer.PSN); got != fmt.Sprint(theirs.Addr,
			theirs.QPN, theirs.PSN) {
			t.Errorf("active %v: peer %s", active, got)
		}
	}
}

// FuzzKeys: any line of a tool is parsed or refused.
func FuzzKeys(f *testing.F) {
	f.Add([]byte(perftestLine + "\x00"))
	f.Add([]byte(pingpongLine + "\x00"))
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, parse := range []func([]byte) (Identity, error){parsePerftestKeys, parsePingpong} {
			if i, err := parse(line); err == nil && (i.QPN == 0 || !i.Addr.IsValid()) {
				t.Errorf("%q gives %+v", line, i)
			}
		}
	})
}

// told is the identity theirs as perftest sends it, with the number of READs that its device can have outstanding.
var told = func() Identity {
	i := theirs
	i.Reads = 16
	return i
}()
