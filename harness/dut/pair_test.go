package dut

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

func TestFitPair(t *testing.T) {
	given := parse(t, "qp qd=8 timeout=15\nload write from=B msg=64KiB count=20\n")
	tools, s, err := FitPair(given)
	if err != nil {
		t.Fatal(err)
	}
	for side, want := range [2]string{
		"ib_write_bw -F -d rxe0 -x 1 -p 99 -m 1024 -s 65536 -n 20 -u 15 -N",
		"ib_write_bw -F -d rxe0 -x 1 -p 99 -m 1024 -s 65536 -n 20 -u 15 -N -Q 1 -t 8 127.0.0.1",
	} {
		tool := tools[side]
		if got := tool.Program + " " +
			strings.Join(tool.Args(Setting{Device: "rxe0", GID: 1, Port: 99}), " "); got != want {
			t.Errorf("%s: %s\nwant %s", trace.Side(side), got, want)
		}
		if s.Impl[side] != Name || s.QP[side].RetryCount != toolRetries || s.QP[side].Timeout != 15 {
			t.Errorf("%s: the Spec does not say what the tool chooses: %s %+v", trace.Side(side),
				s.Impl[side], s.QP[side])
		}
	}
	if given.Impl[0] == Name {
		t.Error("the Spec that was given has changed")
	}
}

// TestFitPairReceives: the receives of a Spec are those of the tool that receives.
func TestFitPairReceives(t *testing.T) {
	tools, _, err := FitPair(parse(t, "qp receives=2 receive-len=1500\nload send msg=2048 count=9\n"))
	if err != nil {
		t.Fatal(err)
	}
	for side, want := range [2]string{"-s 2048 -n 9 ", "-s 1500 -n 9 "} {
		if got := strings.Join(tools[side].Args(Setting{}), " "); !strings.Contains(got, want) || strings.Contains(got,
			" -r 2") != (side == 1) {
			t.Errorf("%s: %s\nwant %s", trace.Side(side), got, want)
		}
	}
}

func TestFitPairRefuses(t *testing.T) {
	for _, text := range []string{
		"load send msg=4KiB count=50\nload send from=B msg=4KiB count=50\n",
		"load write msg=1024 count=9\nload read msg=1024 count=9\n",
		"post-write len=8\npost-write len=16\n",
		"qp B access=r\npost-write len=64\n",          // a passive tool always permits WRITEs
		"qp receives=0\nload send msg=1024 count=9\n", // and a tool that receives always posts receives
	} {
		if _, _, err := FitPair(parse(t, text)); !errors.Is(err, ErrUnfit) {
			t.Errorf("%s: %v; want that no tool does that", text, err)
		}
	}
}

// TestIntroduce introduces two fakes to each other: both identities are learnt, and the active one waits for Begin.
func TestIntroduce(t *testing.T) {
	tool := Tool{Op: engine.OpWrite, MTU: 1024, Active: true}
	tool.choose()
	var conns [2]net.Conn
	var done [2]chan struct{}
	fakes := [2]*fake{{first: true, keys: otherLine}, {}}
	for i := range conns {
		conns[i], fakes[i].conn = net.Pipe()
		done[i] = make(chan struct{})
		go func() {
			defer close(done[i])
			fakes[i].perftest("6.06", 2)
		}()
	}
	active, passive, err := Introduce(&tool, conns[0], conns[1])
	if err != nil {
		t.Fatal(err)
	}
	if want := (Identity{Addr: mine.Addr, QPN: 0x11, PSN: 0xabcdef, Key: 0x1ff, Buffer: 0x5000}); active.Peer != want ||
		passive.Peer != told || active.Wants != theirs.PSN || passive.Wants != want.PSN {
		t.Errorf("learnt %+v and %+v; want %+v and %+v", active.Peer, passive.Peer, want, told)
	}
	<-done[1]
	select {
	case <-done[0]:
		t.Error("the tool may send before Begin")
	case <-time.After(10 * time.Millisecond):
	}
	if err := active.Begin(); err != nil {
		t.Fatal(err)
	}
	<-done[0]
	if fakes[0].heard[4] != perftestLine || fakes[1].heard[4] != otherLine {
		t.Errorf("they heard %q and %q", fakes[0].heard, fakes[1].heard)
	}
	go fakes[0].conn.Close()
	active.Ended()
	if err := active.Close(); err != nil {
		t.Error(err)
	}
}

func TestIntroduceToolThatHangsUp(t *testing.T) {
	tool := Tool{Op: engine.OpWrite, MTU: 1024, Active: true}
	tool.choose()
	client, there := net.Pipe()
	server, _ := net.Pipe()
	go func() {
		_, _ = there.Write([]byte("6.06"))
		_ = there.Close()
	}()
	if _, _, err := Introduce(&tool, client, server); err == nil || !strings.Contains(err.Error(),
		"dut: ib_write_bw: it broke the exchange off") {
		t.Errorf("%v, want a line that names the tool", err)
	}
}
