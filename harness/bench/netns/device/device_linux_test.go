package device

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// TestPausedTool: a paused tool that polls uses no processor time, continues later, and can be ended while paused. A
// tool that sleeps by itself is not paused.
func TestPausedTool(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: runs in real time")
	}
	for text, polls := range map[string]bool{"load send msg=1024 count=5\n": true,
		"load write msg=1024 count=5\n": false} {
		s, err := scenario.Parse(strings.NewReader(text))
		must(t, err)
		tool, _, err := dut.Fit(s, trace.B)
		must(t, err)
		p := &process{exec.Command("sh", "-c", "while :; do :; done")}
		r := &running{side: trace.B, tool: tool, process: p, exited: make(chan struct{})}
		must(t, p.Start())
		go func() {
			_ = p.Wait()
			close(r.exited)
		}()
		r.pause()
		if got := comesTo(p.Process.Pid, "T"); got != polls {
			t.Errorf("%s: paused %v, want %v", tool, got, polls)
		}
		r.resume()
		if !comesTo(p.Process.Pid, "R") {
			t.Errorf("%s does not go on", tool)
		}
		r.pause()
		r.kill()
	}
}

// TestWokenTool: a tool that is paused between looks is not stopped any more after it is woken, and is stopped when the
// run is over.
func TestWokenTool(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: runs in real time")
	}
	s, err := scenario.Parse(strings.NewReader("load write msg=1024 count=5\n"))
	must(t, err)
	tool, _, err := dut.Fit(s, trace.A)
	must(t, err)
	if !tool.Waits() {
		t.Fatalf("%s does not wait", tool)
	}
	p := &process{exec.Command("sh", "-c", "while :; do :; done")}
	r := &running{tool: tool, process: p, done: make(chan struct{}), over: make(chan struct{}),
		enough: make(chan struct{})}
	must(t, p.Start())
	ended := make(chan struct{})
	go func() { r.glance(); close(ended) }()
	if !comesTo(p.Process.Pid, "T") {
		t.Error("it is not let look now and then")
	}
	r.wake()
	<-ended
	if !comesTo(p.Process.Pid, "R") || comesTo(p.Process.Pid, "T") {
		t.Error("it is stopped, though it was woken")
	}
	r.leave()
	if !comesTo(p.Process.Pid, "T") {
		t.Error("it goes on when the run is over")
	}
	p.Kill()
	_ = p.Wait()
}

// comesTo reports whether a process comes to a state, as in /proc, within the time that a busy machine may take.
func comesTo(pid int, state string) bool {
	for range 50 {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if _, rest, ok := strings.Cut(string(raw), ") "); err == nil && ok && strings.HasPrefix(rest, state) {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestCrashedTool: a tool that a signal ended is at fault, at its side. One that gave up, one that runs and one that
// the bench ended are not.
func TestCrashedTool(t *testing.T) {
	tools := func(script string) *Tools {
		p := &process{exec.Command("sh", "-c", script)}
		r := &running{side: trace.B, tool: &dut.Tool{Program: "ib_write_bw"}, process: p, said: &contract.Log{},
			exited: make(chan struct{})}
		must(t, p.Start())
		go func() {
			r.how = p.Wait()
			close(r.exited)
		}()
		return &Tools{first: r, places: [2]station.Place{trace.B: here{}},
			site: Site{Fault: func(side trace.Side, program string, err error) error {
				return fmt.Errorf("fault of %s at %s: %w", program, side, err)
			}}}
	}
	for script, want := range map[string]string{
		"kill -SEGV $$": "fault of ib_write_bw at B: netns: ib_write_bw at B ended in the middle of the run: " +
			"signal: segmentation fault",
		"exit 1": "", "exit 0": "",
	} {
		ts := tools(script)
		<-ts.first.exited
		if err := ts.Crashed(); want == "" && err != nil || want != "" &&
			(err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
	ts := tools("sleep 60")
	if err := ts.Crashed(); err != nil {
		t.Errorf("at work: %v", err)
	}
	ts.first.kill()
	if err := ts.Crashed(); err != nil {
		t.Errorf("ended by the bench: %v", err)
	}
	if err := (*Tools)(nil).Crashed(); err != nil {
		t.Errorf("no tools: %v", err)
	}
}
