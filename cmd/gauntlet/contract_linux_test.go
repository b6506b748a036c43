//go:build netns

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// bad is a change of the example that breaks the contract in one way.
type bad struct {
	name     string
	old, new string // in main.c, or in file if set
	file     string
	want     string // "STEP of 5 TEXT": the failed step of check-contract, and a part of its line
	busy     string // pattern of the line on a host too busy to read all output; "" means the same as want
	waits    bool   // the failure takes half a minute of idle waiting
}

// begins is the first statement of the example.
const begins = `host.repaired = argc > 1`

// starts is the statement after which the example starts its work.
const starts = "host.start = number(line, \"at_ns\");\n"

func badPrograms() []bad {
	return []bad{
		{name: "says nothing", old: begins, new: "for (;;) pause();\n" + begins,
			want: "1 of 5 said nothing within 30s", waits: true},
		{name: "never ready", old: `say("{\"event\":\"ready\"}");`, new: "for (;;) pause();",
			want: "4 of 5 did not say ready within 30s and was killed", waits: true},
		{name: "garbage", old: begins, new: "say(\"hello\");\n" + begins,
			want: `1 of 5 line 1: "hello" is no line of the contract`},
		{name: "unknown recovery", old: `\"recovery\":\"gbn\"`, new: `\"recovery\":\"gobackn\"`,
			want: `1 of 5 line 1: capabilities: recovery: "gobackn" is unknown; known: fasr gb1 gbn`},
		{name: "unknown feature", old: `\"recovery\"`, new: `\"features\":\"cm sack\",\"recovery\"`,
			want: `1 of 5 line 1: capabilities: features: "sack" is unknown; known: backto0`},
		{name: "a flood without an end", old: begins, new: "for (;;) fputs(\"xxxxxxxx\", stdout);\n" + begins,
			want: "1 of 5 line 1: longer than 65536 bytes"},
		{name: "ignores what it does not know", old: `unsupported(op, "order");`, new: ";",
			want: "1 of 5 asked for parameter gauntlet_no_such_parameter", waits: true},
		{name: "exit code", file: "lines.c", old: "exit(127)", new: "exit(1)",
			want: "1 of 5 it ended with exit status 1; want exit code 127"},
		{name: "ignores the end of input", old: "\texit(0);", new: "\tfor (;;) pause();",
			want: "2 of 5 it went on for 2s and was killed"},
		{name: "ignores SIGTERM", old: "signal(SIGTERM, end)", new: "signal(SIGTERM, SIG_IGN)",
			want: "3 of 5 it went on for 2s and was killed"},
		{name: "lies about a capability", old: `!w->receive && !w->send && strcmp(op, "WRITE")`, new: "!w->receive",
			want: "5 of 5 exit status 127: example-c: operation SEND: not supported"},
		{name: "dies", file: "requester.c", old: "	r->completed++;", new: "	__builtin_trap();",
			want: "5 of 5 ended in the middle of the run"},
		{name: "a flood of good lines", old: starts,
			new:  starts + "\tfor (;;) fputs(\"{\\\"event\\\":\\\"share\\\"}\\n\", stdout);\n",
			want: "4 of 5 it said more than 1048576 lines",
			busy: `endpoint B .*, \d{4,7} lines said; limit reached before the work was done`},
		{name: "reports from the future", file: "requester.c", old: "clock_now(), q->n, n->wr",
			new: "2 * clock_now(), q->n, n->wr", want: "5 of 5 has not come yet"},
		{name: "others' QPs", file: "wire.c", old: "put(bth + 4, 4, q->peer_qpn)",
			new: "put(bth + 4, 4, q->peer_qpn + 1)", want: "4 of 5 WIRE-BTH-002"},
		{name: "malformed frames", file: "wire.c", old: "(uint8_t)(crc >> 8 * i)", new: "(uint8_t)(~crc >> 8 * i)",
			want: "4 of 5 WIRE-ICRC-001"},
	}
}

// A fault against the contract is reported in one line, within bounded time, and leaves nothing behind.
func TestCheckContractNamesWhatIsWrong(t *testing.T) {
	beside(t)
	needExample(t)
	begun := map[string]walk{} // programs that wait do so while the others are checked
	for _, b := range badPrograms() {
		if b.waits {
			begun[b.name] = b.walk(t)
		}
	}
	for _, late := range []bool{false, true} {
		for _, b := range badPrograms() {
			if b.waits == late {
				t.Run(b.name, func(t *testing.T) {
					w, ok := begun[b.name]
					if !ok {
						w = b.walk(t)
					}
					o := w.ended()
					gone(t, w.path)
					b.named(t, o)
				})
			}
		}
	}
}

// walk is a running check-contract of a program.
type walk struct {
	path  string
	ended func() exited
}

func (b *bad) walk(t *testing.T) walk {
	t.Helper()
	path := b.build(t)
	return walk{path, started(t, command(t, t.TempDir(), "check-contract", path))}
}

// started starts a command and returns a function that waits for its end.
func started(t *testing.T, c *exec.Cmd) func() exited {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	must(t, c.Start())
	return func() exited {
		_ = c.Wait() // exited has the exit code
		return exited{c.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	}
}

// named checks that the failed step and the line below it name the fault.
func (b *bad) named(t *testing.T, o exited) {
	t.Helper()
	told(t, o)
	at, want, _ := strings.Cut(b.want, " of 5 ")
	_, failure, _ := strings.Cut(o.stdout, "FAIL  "+at+" of 5 ")
	_, why, _ := strings.Cut(failure, "\n")
	said := strings.Contains(why, want) || b.busy != "" && regexp.MustCompile(b.busy).MatchString(why)
	if o.code != exitFailure || !said || strings.Count(why, "\n") != 1 {
		t.Errorf("exit %d\n%s%s\nwant %q", o.code, o.stdout, o.stderr, b.want)
	}
}

// told ends the test if the host was too busy for the check to decide.
func told(t *testing.T, o exited) {
	t.Helper()
	if _, why, invalid := strings.Cut(o.stdout, "INVALID: "); invalid && o.code == exitBroken {
		t.Fatal("this host is too busy: ", strings.TrimSpace(why))
	}
}

// forking is the example with children that try to outlive it.
var forking = bad{name: "forks", old: begins,
	new: "if (!fork()) { setsid(); if (!fork()) for (;;) sleep(1000); _exit(0); }\n" + begins}

// A program that starts others keeps the contract. They end with it, also when they leave its session.
func TestWhatAProgramStartsEndsWithIt(t *testing.T) {
	beside(t)
	needExample(t)
	path := forking.build(t)
	o := gauntlet(t, t.TempDir(), "check-contract", path)
	gone(t, path)
	told(t, o)
	if o.code != 0 || strings.Count(o.stdout, "ok ") != 5 {
		t.Errorf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

// build compiles the example with the change; more are arguments of the compiler.
func (b *bad) build(t *testing.T, more ...string) string {
	t.Helper()
	dir, path := t.TempDir(), filepath.Join(t.TempDir(), "bad")
	sources, err := filepath.Glob("../../images/example-c/*.[ch]")
	must(t, err)
	args := append([]string{"-std=gnu11", "-D_GNU_SOURCE", "-w", "-include", "signal.h", "-include", "unistd.h",
		"-o", path}, more...)
	changed := false
	for _, source := range sources {
		text, err := os.ReadFile(source)
		must(t, err)
		name := filepath.Base(source)
		if name == b.file || b.file == "" && name == "main.c" {
			changed = strings.Contains(string(text), b.old)
			text = []byte(strings.Replace(string(text), b.old, b.new, 1))
		}
		must(t, os.WriteFile(filepath.Join(dir, name), text, 0o644))
		if strings.HasSuffix(name, ".c") {
			args = append(args, filepath.Join(dir, name))
		}
	}
	if !changed {
		t.Fatalf("the example has no %q any more", b.old)
	}
	if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	return path
}

// gone checks that no process of the program at path is left.
func gone(t *testing.T, path string) {
	t.Helper()
	running, err := filepath.Glob("/proc/[0-9]*/exe")
	must(t, err)
	left := slices.DeleteFunc(running, func(exe string) bool {
		target, _ := os.Readlink(exe)
		return target != path
	})
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
