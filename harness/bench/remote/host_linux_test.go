package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/remote/supervise"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/harness/testbed"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// TestMain makes the test's own binary the one that is sent to a far host.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "process" && os.Args[2] == "supervise" {
		if err := supervise.Main(os.Stdin, os.Stdout, os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// plain is an ssh to this machine: it runs its last argument, as sshd does, in a session of its own.
const plain = `for last; do :; done
exec setsid -w sh -c "$last"
`

// options are for a host that a script reaches in place of ssh. What the far side makes is in a folder of the test.
func options(t *testing.T, script string) Options {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "ssh")
	must(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755))
	far := filepath.Join(dir, "far")
	must(t, os.Mkdir(far, 0o755))
	t.Setenv("TMPDIR", far)
	self, err := os.Executable()
	must(t, err)
	return Options{Host: testbed.Host{Name: "dut1", Device: "none0", Port: 1, Interface: "lo"}, Self: self, SSH: path}
}

func connect(t *testing.T, script string) *Host {
	t.Helper()
	h, err := Connect(context.Background(), options(t, script))
	must(t, err)
	t.Cleanup(func() { _ = h.Close() })
	return h
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// words is a log of a program.
type words struct {
	mu sync.Mutex
	bytes.Buffer
}

func (w *words) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Buffer.Write(b)
}

// gone reports whether a process ends within the time that a busy machine may take.
func gone(pid int) bool {
	for range 200 {
		if syscall.Kill(pid, 0) != nil {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// start starts a program that says its process.
func start(t *testing.T, h *Host, script string) (station.Process, int) {
	t.Helper()
	said := &words{}
	p, err := h.Start(trace.A, "sh", []string{"-c", "echo $$; " + script}, false, said)
	must(t, err)
	for range 500 {
		said.mu.Lock()
		pid, err := strconv.Atoi(strings.TrimSpace(said.String()))
		said.mu.Unlock()
		if err == nil {
			return p, pid
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("it says %q", said.String())
	return nil, 0
}

// A host's login may print what it likes; programs write, end and are signalled; and nothing is left, not even the
// binary while it runs.
func TestPrograms(t *testing.T) {
	h := connect(t, "printf 'Welcome\\n\\033[2J%05000d\\n' 7\n"+plain)
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if len(left) != 0 || err != nil {
		t.Errorf("%v, %v", left, err)
	}
	said := &words{}
	p, err := h.Start(trace.A, "sh", []string{"-c", "echo out; echo err >&2; exit 7"}, true, said)
	must(t, err)
	var exit *station.Exit
	if err := p.Wait(); !errors.As(err, &exit) || exit.Code != 7 || exit.Signal != "" || said.String() != "out\nerr\n" {
		t.Errorf("%v, %q", err, said.String())
	}
	p, _ = start(t, h, "exec sleep 60")
	p.Pause()
	p.Glance(nil, nil)
	p.Kill()
	if err := p.Wait(); !errors.As(err, &exit) || exit.Signal != "killed" {
		t.Errorf("%v", err)
	}
	if _, err := h.Start(trace.A, "no-such-tool", nil, false, said); err == nil || !strings.Contains(err.Error(),
		"remote: host dut1: supervise: no-such-tool is not installed") {
		t.Errorf("%v", err)
	}
	must(t, h.Close())
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// Memory of a program is read there.
func TestMemory(t *testing.T) {
	h := connect(t, plain)
	p, pid := start(t, h, "sleep 60; :")
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	must(t, err)
	at, _, _ := strings.Cut(string(maps), "-")
	va, err := strconv.ParseUint(at, 16, 64)
	must(t, err)
	if b, err := p.Memory(va, 4); err != nil || string(b) != "\x7fELF" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := p.Memory(0, 4); err == nil {
		t.Error("address 0 was read")
	}
}

// Connections with tools there go both ways, whoever makes them.
func TestConnections(t *testing.T) {
	h := connect(t, plain)
	port, accept, stop, err := h.Listen()
	must(t, err)
	client, err := h.Dial(port)
	must(t, err)
	server, err := accept(time.Now().Add(10 * time.Second))
	must(t, err)
	stop()
	for _, way := range [][2]io.ReadWriter{{client, server}, {server, client}} {
		_, err := way[0].Write([]byte("hello"))
		must(t, err)
		b := make([]byte, 5)
		if _, err := io.ReadFull(way[1], b); err != nil || string(b) != "hello" {
			t.Errorf("%q, %v", b, err)
		}
	}
	must(t, client.Close())
	if n, err := server.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("%d, %v; want the end", n, err)
	}
	free, err := h.FreePort()
	must(t, err)
	if _, err := h.Dial(free); err == nil || h.Err() != nil {
		t.Errorf("dialled a port where nobody listens: %v, %v", err, h.Err())
	}
}

// However the channel ends, what was started there ends, and who waits here hears why.
func TestEndOfChannel(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: runs in real time")
	}
	for name, end := range map[string]func(h *Host){
		"closed":                func(h *Host) { _ = h.Close() },
		"client killed":         func(h *Host) { h.kill() },
		"supervisor killed":     func(h *Host) { _ = syscall.Kill(h.PID, syscall.SIGKILL) },
		"supervisor terminated": func(h *Host) { _ = syscall.Kill(h.PID, syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			h := connect(t, plain)
			script := "sleep 60 & trap '' HUP TERM; wait; wait"
			// the kernel then kills what it has started, and not what that has: stock tools start nothing
			if name == "supervisor killed" {
				script = "trap '' HUP TERM; exec sleep 60"
			}
			p, pid := start(t, h, script)
			end(h)
			err := p.Wait()
			if err == nil || !strings.HasPrefix(err.Error(), "remote: host dut1: ") && err.Error() != "signal: killed" {
				t.Errorf("%v", err)
			}
			if !gone(pid) || !gone(h.PID) {
				t.Errorf("processes live on")
			}
			if strings.HasPrefix(err.Error(), "remote: ") && name != "closed" && h.Close() == nil {
				t.Error("the end of the channel is not told")
			}
			for range 100 { // the shell around the supervisor ends a little later
				if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) == 0 {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
			t.Error("files are left")
		})
	}
}

// What keeps a host from being used is one line with its name and what was said last.
func TestConnectFails(t *testing.T) {
	answerTime = 500 * time.Millisecond
	defer func() { answerTime = 40 * time.Second }()
	mark := `mark=$(printf %s "$last" | sed -n 's/.*echo \(gauntlet-[0-9a-f]*\) want.*/\1/p'); `
	for script, want := range map[string]string{
		"echo '@@@ WARNING @@@' >&2; echo 'Host key verification failed.' >&2; exit 255": "ssh ended: exit status " +
			"255: Host key verification failed.",
		"printf 'ssh: \\033[31mcould not " +
			"resolve\\n' >&2; exit 255": `ssh: \x1b[31mcould not resolve`,
		"exec sleep 60":                 "no answer within 500ms",
		"exec yes":                      "its login printed 64 KiB",
		"exec head -c 300000 /dev/zero": "its login printed 64 KiB",
		"uname() { echo Plan9; }\n" + "for last; do :; done; " + mark +
			`echo "$mark machine Plan9/mips"; exit 3`: "it is Plan9/mips, and this program is for Linux/",
		"for last; do :; done; " + mark +
			`echo "$mark want"; head -c 100 >/dev/null; echo "$mark short /tmp"; exit 3`: "could not keep the",
		"for last; do :; done; " + mark +
			`echo "$mark nowhere"; exit 3`: "no folder from which a program can be started",
		"for last; do :; done; " + mark +
			`echo "$mark have"; echo '{"event":"hello","version":99}'`: "is of version 99",
		"for last; do :; done; " + mark +
			`echo "$mark have"; echo hello`: `"hello" is no line of the supervisor's`,
		"for last; do :; done; " + mark +
			`echo "$mark have"; head -c 2000000 /dev/zero`: "line of more than 1048576 bytes",
		"exit 0": "ssh ended",
	} {
		_, err := Connect(context.Background(), options(t, script))
		if err == nil || !strings.HasPrefix(err.Error(), "remote: host dut1: ") || !strings.Contains(err.Error(),
			want) || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%s:\n%v; want %q", script, err, want)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := Connect(ctx, options(t, "exec sleep 60")); err == nil ||
		!strings.Contains(err.Error(), "interrupted") {
		t.Errorf("%v", err)
	}
}

// A supervisor that does not keep to the language ends the channel, and takes nothing here with it.
func TestHostileSupervisor(t *testing.T) {
	const head = `for last; do :; done; mark=$(printf %s "$last" | sed -n 's/.*echo \(gauntlet-[0-9a-f]*\) ` +
		`want.*/\1/p'); echo "$mark have"; echo '{"event":"hello","version":1}'; `
	for script, want := range map[string]string{
		`echo '{"id":77}'; exec cat >/dev/null`:                "it answers order 77, which was not given",
		`echo '{"event":"mirth","of":1}'; exec cat >/dev/null`: "event \"mirth\": unknown",
		`i=0; while [ $i -lt 10001 ]; do i=$((i+1)); echo "{\"event\":\"closed\",\"of\":$i}"; done; exec cat ` +
			`>/dev/null`: "more than 10000 programs",
		`read x; echo '{"id":1,"result":[]}'; exec cat >/dev/null`: "its answer to free-port is none",
		`read x; printf '{"id":1,"error":"\\u001b[2Jno\\n::error::"}\n'; exec cat ` +
			`>/dev/null`: `\x1b[2Jno\n::error::`,
		`echo last words >&2; exit 9`: "exit status 9: last words",
	} {
		h, err := Connect(context.Background(), options(t, head+script))
		must(t, err)
		if _, err = h.FreePort(); err == nil || !strings.HasPrefix(err.Error(), "remote: host dut1: ") ||
			!strings.Contains(err.Error(), want) || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%s:\n%v; want %q", script, err, want)
		}
		_ = h.Close()
	}
}

// A device that is another one after a run than before it is an error of the host, with both values, and stays one.
func TestDeviceChanges(t *testing.T) {
	const answers = `for last; do :; done; mark=$(printf %s "$last" | sed -n 's/.*echo \(gauntlet-[0-9a-f]*\) ` +
		`want.*/\1/p'); echo "$mark have"; echo '{"event":"hello","version":1}'; n=0; while read -r x; do ` +
		`id=$(printf %s "$x" | sed 's/^{"id":\([0-9]*\).*/\1/'); case $x in *'"identify"'*) n=$((n+1)); ` +
		`[ $n -lt 3 ] && r=BEFORE || r=AFTER; echo "{\"id\":$id,\"result\":$r}";; ` +
		`*) echo "{\"id\":$id}";; esac; done`
	const before = `{\"kernel\":\"6.1.0\",\"device\":{\"name\":\"mlx5_0\",\"firmware\":\"16.35.2000\"}}`
	for _, c := range []struct{ from, to, want string }{
		{"16.35.2000", "16.35.2000", ""},
		{"16.35.2000", "16.36.1010", "firmware was 16.35.2000 and is 16.36.1010"},
		{"6.1.0", "6.1.1", "kernel was 6.1.0 and is 6.1.1"},
		{`,\"firmware\":\"16.35.2000\"`, "", "firmware was 16.35.2000 and is not told"},
	} {
		h := connect(t, strings.NewReplacer("BEFORE", before, "AFTER",
			strings.Replace(before, c.from, c.to, 1)).Replace(answers))
		for i := range 4 {
			want := c.want
			if i < 2 {
				want = ""
			}
			_, err := h.Identify()
			if text := fmt.Sprint(err); (err == nil) != (want == "") || want != "" &&
				(!strings.HasPrefix(text, "remote: host dut1: "+want) || strings.ContainsAny(text, "\n")) {
				t.Errorf("%s, description %d: %v; want %q", c.to, i, err, want)
			}
		}
	}
}

// A binary that was kept is found again by its hash, one that was changed is not believed, and one of another program
// goes.
func TestKeep(t *testing.T) {
	o := options(t, plain)
	home := t.TempDir() + "/.cache" // a dot in the path, as most homes have
	t.Setenv("XDG_CACHE_HOME", home)
	o.Keep = true
	must(t, os.MkdirAll(home+"/gauntlet", 0o700))
	must(t, os.WriteFile(home+"/gauntlet/supervisor-of-before", nil, 0o700))
	must(t, os.WriteFile(home+"/gauntlet/kernel", nil, 0o600)) // another command's
	for i, change := range []func(path string){func(string) {}, func(path string) {
		must(t, os.WriteFile(path, []byte("#!/bin/sh\necho mine\n"), 0o700))
	}, func(string) {}} {
		h, err := Connect(context.Background(), o)
		if err != nil {
			t.Fatal(i, err)
		}
		must(t, h.Close())
		files, _ := filepath.Glob(home + "/gauntlet/supervisor-*")
		if len(files) != 1 || strings.HasSuffix(files[0], "before") {
			t.Fatal(files)
		}
		if _, err := os.Stat(home + "/gauntlet/kernel"); err != nil {
			t.Error(err)
		}
		change(files[0])
	}
}
