package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/recording"
)

// descendants returns the command lines of the processes below pid.
func descendants(pid int) map[int]string {
	out := map[int]string{}
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		raw, _ := os.ReadFile(list) // the thread may be gone
		for _, word := range strings.Fields(string(raw)) {
			child, _ := strconv.Atoi(word)
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
			out[child] = strings.ReplaceAll(string(line), "\x00", " ")
			for p, l := range descendants(child) {
				out[p] = l
			}
		}
	}
	return out
}

// alive reports whether a process exists and is no zombie.
func alive(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(raw, []byte(") "))
	return len(rest) > 0 && rest[0] != 'Z'
}

// pending is a run in progress.
type pending struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	dir, scratch   string
	processes      map[int]string
	links          []string
}

// begin starts a long run and waits until ready of its processes run and, for more than one, until there is traffic.
func begin(t *testing.T, impl string, ready int) *pending {
	t.Helper()
	needNetns(t)
	p := &pending{dir: filepath.Join(t.TempDir(), "r"), scratch: t.TempDir(), links: left(t, "/sys/class/net")}
	p.cmd = command(t, t.TempDir(), "run", "--impl", impl, "--bench", "netns", "--json", "--rate", "50M", "--rtt",
		"10ms", "--duration", "60s", "--out", p.dir)
	p.cmd.Env = append(os.Environ(), "TMPDIR="+p.scratch)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	must(t, p.cmd.Start())
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if p.processes = descendants(p.cmd.Process.Pid); p.roles() >= ready {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after 20 s these run: %v", p.processes)
		}
	}
	// The spools of all taps have grown: that of a box's LAN does so before the WAN has carried a message.
	for deadline := time.Now().Add(30 * time.Second); p.spooled() < ready-1; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no traffic within 30 s")
		}
	}
	return p
}

// roles counts the processes that the run has started for a role. It leaves out the short-lived child of the Go runtime
// at the start of each, before the program can handle a signal.
func (p *pending) roles() (n int) {
	for _, line := range p.processes {
		if strings.Contains(line, " process ") {
			n++
		}
	}
	return n
}

// spooled returns the number of files without a name, such as spools of taps, of at least 1 MiB.
func (p *pending) spooled() (n int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.cmd.Process.Pid))
	for _, f := range files {
		target, _ := os.Readlink(f)
		if info, err := os.Stat(f); err == nil && strings.HasSuffix(target, "(deleted)") && info.Size() >= 1<<20 {
			n++
		}
	}
	return n
}

// find returns the process ID of a role.
func (p *pending) find(t *testing.T, role string) int {
	t.Helper()
	for pid, line := range p.processes {
		if strings.Contains(line, "process "+role+" ") {
			return pid
		}
	}
	t.Fatalf("no %s in %v", role, p.processes)
	return 0
}

// gone checks that only the folder of the run is left.
func (p *pending) gone(t *testing.T) {
	t.Helper()
	for pid, line := range p.processes {
		for deadline := time.Now().Add(3 * time.Second); alive(pid); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Errorf("process %d lives on: %s", pid, line)
				break
			}
		}
	}
	if names := left(t, p.scratch); len(names) > 0 {
		t.Errorf("scratch files: %v", names)
	}
	if links := left(t, "/sys/class/net"); !slices.Equal(links, p.links) {
		t.Errorf("devices were %v, are %v", p.links, links)
	}
}

// Whatever ends a run, none of its processes is left, one line states the reason, and the trace up to then is kept.
func TestEndings(t *testing.T) {
	for _, c := range []struct {
		name  string
		impl  string
		ready int // processes to wait for, in order of their start: relays, then endpoints and middlebox
		kill  func(t *testing.T, p *pending)
		says  string
		whole bool // there was traffic, so a trace must be left
	}{
		{"interrupt", "gbn", 3, signalled(syscall.SIGINT), "interrupt", true},
		{"terminate", "gbn", 3, signalled(syscall.SIGTERM), "interrupted: terminated", true},
		{"hang up", "gbn", 3, signalled(syscall.SIGHUP), "interrupted: hangup", true},
		{"interrupt at once", "gbn", 1, signalled(syscall.SIGINT), "interrupt", false},
		{"endpoint killed", "gbn", 3, killed("endpoint"), " ended in the middle of the run: signal: killed", true},
		{"relay killed", "gbn", 3, killed("relay"), "relay ended in the middle of the run: signal: killed", true},
		{"interrupt with a box", "pseudoack", 5, signalled(syscall.SIGINT), "interrupt", true},
		{"box killed", "pseudoack", 5, killed("box"), "box ended in the middle of the run: signal: killed", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := begin(t, c.impl, c.ready)
			c.kill(t, p)
			_ = p.cmd.Wait()
			p.gone(t)
			o := exited{p.cmd.ProcessState.ExitCode(), p.stdout.String(), p.stderr.String()}
			if o.code != exitBroken || !strings.Contains(o.stderr, c.says) || strings.Count(o.stderr, "\n") != 1 {
				t.Errorf("exit %d, %q; want %q", o.code, o.stderr, c.says)
			}
			r := o.result(t)
			if r.Status != "ERROR" || !strings.Contains(r.Reason, c.says) || c.whole &&
				(r.Packets == 0 || r.Messages == 0) {
				t.Errorf("%s %q, %d packets, %d messages", r.Status, r.Reason, r.Packets, r.Messages)
			}
			names := left(t, p.dir)
			for _, name := range inFolder {
				if !slices.Contains(names, name) && (c.whole || name != "trace.ndjson") {
					t.Errorf("no %s", name)
				}
			}
			if _, _, err := recording.Open(p.dir); c.whole && err != nil {
				t.Error(err)
			}
		})
	}
}

func signalled(s syscall.Signal) func(*testing.T, *pending) {
	return func(t *testing.T, p *pending) { must(t, p.cmd.Process.Signal(s)) }
}

func killed(role string) func(*testing.T, *pending) {
	return func(t *testing.T, p *pending) { must(t, syscall.Kill(p.find(t, role), syscall.SIGKILL)) }
}

// The kernel ends the children of a process that was killed, and its run folder is recognised as that of a killed run.
func TestNothingSurvivesSIGKILL(t *testing.T) {
	for impl, processes := range map[string]int{"gbn": 3, "pseudoack": 5} {
		p := begin(t, impl, processes)
		must(t, p.cmd.Process.Kill())
		_ = p.cmd.Wait()
		p.gone(t)
		killedRun(t, p.dir)
	}
}

// A full disk is reported in one line, and what was written before can be read.
func TestFullDisk(t *testing.T) {
	if topology.Privileged() != nil || os.Getuid() != 0 {
		t.Skip("a small file system needs root")
	}
	for _, c := range []struct {
		name, size, args string
		says             string
		read             []string
	}{
		{"run folder, sim", "200k", "--bench sim --out tiny/r",
			"run: write tiny/r/trace.ndjson: no space left on device", []string{"tiny/r/spec.txt"}},
		{"run folder, netns", "1m", "--bench netns --out tiny/r",
			"netns: write tiny/r/taps/A.pcapng: no space left on device", []string{"tiny/r/spec.txt"}},
		{"scratch", "64k", "--bench netns --out r", "netns: spool of tap ",
			[]string{"r/spec.txt", "r/result.json", "r/report.html"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.Mkdir(filepath.Join(dir, "tiny"), 0o755))
			script := `mount -t tmpfs -o size=` + c.size + ` none tiny && "$@"; code=$?; cp -r tiny kept; exit $code`
			cmd := command(t, dir,
				strings.Fields("run --rate 100M --rtt 2ms --msg 64KiB --count 100 --quiet "+c.args)...)
			cmd.Args = append([]string{"unshare", "-m", "sh", "-c", script, "sh"},
				append([]string{cmd.Path}, cmd.Args[1:]...)...)
			var err error
			if cmd.Path, err = exec.LookPath("unshare"); err != nil {
				t.Skip(err)
			}
			cmd.Env = os.Environ()
			if c.name == "scratch" {
				cmd.Env = append(cmd.Env, "TMPDIR="+filepath.Join(dir, "tiny"))
			}
			o := finish(t, cmd)
			if o.code != exitBroken || !strings.Contains(o.stderr, c.says) || strings.Count(o.stderr, "\n") != 1 {
				t.Errorf("exit %d, %q; want %q", o.code, o.stderr, c.says)
			}
			if strings.HasPrefix(c.name, "run folder") {
				killedRun(t, filepath.Join(dir, "kept", "r"))
			}
			for _, name := range c.read {
				name = strings.Replace(name, "tiny", "kept", 1)
				if raw, err := os.ReadFile(filepath.Join(dir, name)); err != nil || len(raw) == 0 {
					t.Errorf("%s: %d bytes, %v", name, len(raw), err)
				}
			}
		})
	}
}
