package dut

import (
	"errors"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

func parse(t *testing.T, text string) *scenario.Spec {
	t.Helper()
	s, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		text string
		side trace.Side
		want string // command line
	}{
		{"load write msg=64KiB count=20\n", trace.B,
			"ib_write_bw -F -d rxe0 -x 1 -p 99 -m 1024 -s 65536 -n 100000 -u 14 -N"},
		{"load write msg=64KiB count=20\n", trace.A,
			"ib_write_bw -F -d rxe0 -x 1 -p 99 -m 1024 -s 65536 -n 20 -u 14 -N -Q 1 -t 20 127.0.0.1"},
		{"qp mtu=256 rto=60ms qd=4\npost-send len=300\n", trace.A,
			"ib_send_bw -F -d rxe0 -x 1 -p 99 -m 256 -s 300 -n 5 -u 14 -N -Q 1 -t 4 127.0.0.1"},
		{"load send msg=4KiB count=50\nload send from=B msg=4KiB count=50\n", trace.B,
			"ibv_rc_pingpong -d rxe0 -g 1 -p 99 -m 1024 -s 4096 -n 50"},
		{"qp receive-len=1500\npost-send len=2048\n", trace.B,
			"ib_send_bw -F -d rxe0 -x 1 -p 99 -m 1024 -s 1500 -n 100000 -u 14 -N"},
		{"qp rto=70ms\npost-read len=300\n", trace.B,
			"ib_read_bw -F -d rxe0 -x 1 -p 99 -m 1024 -s 300 -n 100000 -u 15 -N"},
		{"turns write from=A msg=64 count=30\n", trace.B,
			"ib_write_lat -F -d rxe0 -x 1 -p 99 -m 1024 -s 64 -n 30 -u 14 127.0.0.1"},
		{"turns write from=A msg=64 count=30\n", trace.A,
			"ib_write_lat -F -d rxe0 -x 1 -p 99 -m 1024 -s 64 -n 30 -u 14"},
		{"cm on\nload read msg=64KiB count=20\n", trace.A,
			"ib_read_bw -R -F -d rxe0 -x 1 -p 99 -m 4096 -s 65536 -n 20 -u 14 -N -Q 1 -t 20 10.77.0.1"},
		{"cm on\nload send msg=64KiB count=20\n", trace.B,
			"ib_send_bw -R -F -d rxe0 -x 1 -p 99 -m 1024 -s 65536 -n 100000 -u 14 -N"},
		{"turns rping from=A msg=64 count=30\n", trace.A, "rping -c -a 10.77.0.1 -I 10.77.0.2 -V -C 30 -p 99 -S 64"},
		{"qp B access=r\npost-write len=300\n", trace.B,
			"ib_read_bw -F -d rxe0 -x 1 -p 99 -m 1024 -s 300 -n 100000 -u 14 -N"},
		{"cm on\nturns rping from=A msg=64 count=30\n", trace.B, "rping -s -d -a 10.77.0.2 -p 99 -S 64"},
	} {
		tool, s, err := Fit(parse(t, c.text), c.side)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := tool.Program + " " + strings.Join(tool.Args(Setting{Device: "rxe0", GID: 1, Port: 99,
			Own: theirs.Addr, Peer: mine.Addr}), " "); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.text, got, c.want)
		}
		if q := s.QP[c.side]; s.Impl[c.side] != Name || q.RTO != 0 || q.RetryCount != 7 ||
			q.MinRNRTimer != rnrTimer(tool) || s.Limit != Longest {
			t.Errorf("%s: the Spec does not say what the tool chooses: %s %+v", c.text, s.Impl[c.side], q)
		}
	}
}

// TestFitRepeats: a tool that sends has one message and no script.
func TestFitRepeats(t *testing.T) {
	given := parse(t, "post-write len=5120\npost-write at=5ms len=5120\n")
	_, s, err := Fit(given, trace.A)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Posts) != 0 || len(s.Loads) != 1 || s.Loads[0].Count != 5 || s.Loads[0].Msg != 5120 {
		t.Errorf("%d posts and loads %+v; want five messages of 5120 bytes", len(s.Posts), s.Loads)
	}
	if len(given.Posts) != 2 || given.Impl[0] == Name {
		t.Error("the Spec that was given has changed")
	}
}

// TestFitKeepsReceives: an endpoint without receives gets them by the script, one for each message of the tool.
func TestFitKeepsReceives(t *testing.T) {
	_, s, err := Fit(parse(t, "qp receives=0\npost-send len=100\npost-receive wr=1 at=10ms len=128\n"), trace.A)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Posts); n != 5 || s.Posts[0].At != 10*vtime.Millisecond+Lead || s.Posts[4].WR.ID != 5 ||
		s.Posts[4].At != s.Posts[0].At || s.Receives != 0 {
		t.Errorf("%d receives: %+v", n, s.Posts)
	}
}

func TestFitRefuses(t *testing.T) {
	for _, text := range []string{
		"qp count=2\nload write msg=1024 count=9\n",
		"load write msg=1024 count=9\nload read msg=1024 count=9\n",
		"load write msg=1024 count=9\nload write from=B msg=1024 count=9\n",
		"load send msg=1024 count=9\nload send from=B msg=1024 count=8\n",
		"post-write len=8 imm=3\n",
		"post-atomic op=add value=1\n",
		"qp receives=0\npost-send len=100\n",
		"qp B access=ra\npost-write len=100\n",
		"post-send len=100\npost-receive from=B at=5ms len=100\n",
		"cm on\nturns write msg=8 count=8\n",
		"run for=1s\nload write msg=1024\n",
	} {
		if tool, _, err := Fit(parse(t, text), trace.B); !errors.Is(err, ErrUnfit) {
			t.Errorf("%s: %v, %v; want that no tool does that", text, tool, err)
		}
	}
	if _, _, err := Fit(parse(t, "post-write len=8\npost-write len=16\n"), trace.A); !errors.Is(err, ErrUnfit) {
		t.Errorf("two sizes by a tool that sends: %v", err)
	}
}

// rnrTimer is the timer code that a tool, or the kernel for the tool, chooses.
func rnrTimer(t *Tool) roce.RNRTimer {
	if t.Program == "rping" {
		return 0
	}
	return 12
}
