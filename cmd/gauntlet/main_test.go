package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/doctor"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/lab"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// asProgram is the environment variable with which the test binary acts as the program, for tests and for benches.
const asProgram = "GAUNTLET_TEST_PROGRAM"

func TestMain(m *testing.M) {
	program := os.Getenv(asProgram) != "" || os.Getpid() == 1 && lab.Inside()
	os.Setenv(asProgram, "1")
	if program {
		main()
		return
	}
	os.Exit(m.Run())
}

// exited is the exit code and the output of a program that ended.
type exited struct {
	code           int
	stdout, stderr string
}

// gauntlet runs the program in dir to its end.
func gauntlet(t *testing.T, dir string, args ...string) exited {
	t.Helper()
	return finish(t, command(t, dir, args...))
}

// inProcess runs a command line in dir in the process of the test, which must not be parallel. It is for command lines
// that end before anything runs. A process can register the conformance scenarios once, so command lines that do need
// gauntlet.
func inProcess(t *testing.T, dir string, args ...string) exited {
	t.Helper()
	t.Chdir(dir)
	streams := [2]*os.File{os.Stdout, os.Stderr}
	line, out, files := os.Args, stdout, [2]*os.File{}
	for i := range files {
		f, err := os.CreateTemp(t.TempDir(), "stream")
		must(t, err)
		defer f.Close()
		files[i] = f
	}
	defer func() { os.Stdout, os.Stderr, os.Args, stdout = streams[0], streams[1], line, out }()
	os.Stdout, os.Stderr, os.Args, stdout = files[0], files[1], append([]string{"gauntlet"}, args...),
		&output{Writer: files[0]}
	code := program()
	var texts [2]string
	for i, f := range files {
		text, err := os.ReadFile(f.Name())
		must(t, err)
		texts[i] = string(text)
	}
	return exited{code, texts[0], texts[1]}
}

func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: starts the program")
	}
	self, err := os.Executable()
	must(t, err)
	c := exec.CommandContext(t.Context(), self, args...)
	c.Dir, c.WaitDelay = dir, time.Minute
	return c
}

func finish(t *testing.T, c *exec.Cmd) exited {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return exited{c.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// result parses the output of run --json and judge --json.
func (o exited) result(t *testing.T) *model.Result {
	t.Helper()
	var r model.Result
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil {
		t.Fatalf("exit %d, %v\n%s%s", o.code, err, o.stdout, o.stderr)
	}
	return &r
}

// left lists the entries of a folder.
func left(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestBadInputIsUsage(t *testing.T) {
	dir := t.TempDir()
	files := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(files, name)
		must(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"run --nope", 2, "unknown flag: --nope"},
		{"run --impl nope", 2, `implementation "nope": unknown; known: `},
		{"run --impl gbn,nope", 2, `"nope": unknown`},
		{"run --impl gbn,gbn,gbn", 2, "unexpected word"},
		{"run --bench nope", 2, `--bench "nope": want one of sim, netns`},
		{"run --limit 0s", 2, "--limit 0s: want more than 0s and at most 24h0m0s"},
		{"run --limit soon", 2, `invalid argument "soon" for "--limit"`},
		{"run --limit 5s --duration 10s", 2, "for=10s is beyond limit=5s"},
		{"run --no-progress 5s", 2, "--no-progress: means nothing on the sim bench"},
		{"matrix --bench netns --no-progress -1s", 2, "--no-progress -1s: want more than 0s"},
		{"conform --limit 48h", 2, "--limit 48h0m0s: want more than 0s and at most 24h0m0s"},
		{"qualify --impl gbn --profile rc-gbn --limit -1s", 2, "--limit -1s: want more than 0s"},
		{"run --loss 120%", 2, "outside 0 to 1"},
		{"run --loss=", 2, "p has no value"},
		{"run --burst x", 2, "loss burst"},
		{"run --rtt -5ms", 2, "is negative"},
		{"run --rtt 5", 2, "--rtt: duration"},
		{"run --jitter=", 2, "jitter has no value"},
		{"run --rate fast", 2, "want bits per second"},
		{"run --mtu 1000", 2, "want 256, 512, 1024, 2048 or 4096"},
		{"run --msg 9TiB", 2, "want a size from 0 to 1GiB"},
		{"run --cdf 1KiB:50%", 2, "the last share must be 1"},
		{"run --offered 130%", 2, "offered=130%"},
		{"run --every -1s", 2, "is negative"},
		{"run --count -1", 2, "count=-1"},
		{"run --qd 0", 2, "qd=0"},
		{"run --queue -1", 2, "queue=-1"},
		{"run --op push", 2, "unknown operation"},
		{"run --seed -1", 2, "invalid argument"},
		{"run --timeout 32", 2, "--timeout 32: want a code from 0"},
		{"run --duration -1s", 2, "--duration -1s: want more than 0"},
		{"run --duration 999999h", 2, "at most 24h"},
		{"run --duration 99999999999h", 2, "invalid duration"},
		{"run --param nope=1", 2, "parameter nope is not known"},
		{"run --fault drip", 2, "unknown verb"},
		{"run --attempts 0", 2, "--attempts 0: want 1 to 100"},
		{"run --store 0", 2, "--store 0: want 1 or more"},
		{"run --codec maybe", 2, "want one of auto, on, off"},
		{"run --color purple", 2, "want one of auto, always, never"},
		{"run --link netem", 2, "means nothing on the sim bench"},
		{"run --expose x", 2, "means nothing on the sim bench"},
		{"run --bench netns --link tin", 2, "want one of auto, netem, ebpf, relay"},
		{"run --bench netns --codec on", 2, "means nothing on the netns bench"},
		{"run a b", 2, "accepts at most 1"},
		{"run nothing.txt", 2, "nothing.txt: no such file"},
		{"run " + write("bad.txt", "seed 1\nlink rate=?\n"), 2, "bad.txt:2: "},
		{"run " + write("idle.txt", "seed 1\n"), 2, "nothing to do"},
		{"run --out /dev/null/x", 3, "not a directory"},
		{"judge", 2, "requires at least 1 arg"},
		{"judge nothing", 2, "nothing: no such file"},
		{"judge .", 2, "holds neither trace.ndjson nor captures"},
		{"judge " + write("text", "hello\n"), 2, "neither pcap nor pcapng"},
		{"judge /bin/sh", 2, "neither pcap nor pcapng"},
		{"judge " + write("cut.ndjson", `{"gauntlet":"trace","ver`), 2, "cut.ndjson"},
		{"judge --scheme nope .", 2, `--scheme "nope": want one of`},
		{"judge --tap middle .", 2, `--tap "middle": want one of auto, requester, responder, between`},
		{"judge --tap responder " + write("told.ndjson",
			`{"gauntlet":"trace","version":1,"bench":"sim","taps":"AB","conns":0}`+"\n"), 2,
			"its header says where its taps are"},
		{"ladder .", 2, "holds neither"},
		{"ladder nothing", 2, "nothing: no such file"},
		{"ladder --count 0 .", 3, "count 0: want 1 to"},
		{"datasheet", 2, "name a trace, a run folder or an implementation"},
		{"datasheet nope", 2, `"nope" is neither a file nor an implementation`},
		{"datasheet .", 2, "holds neither"},
		{"datasheet gbn " + filepath.Join(files, "text"), 2, "text: capture: neither pcap nor pcapng"},
		{"datasheet " + write("bad.json", "{}"), 2, "bad.json: want what"},
		{"datasheet - -", 2, "- is there twice"},
		{"datasheet --diff gbn", 2, "--diff: name two"},
		{"datasheet --param x gbn", 2, "want name=value"},
		{"datasheet --param nope=1 gbn", 3, "parameter nope is not known"},
		{"run --waivers nobody", 2, "waivers nobody: want a file such as ./waivers.txt, or one of: rxe"},
		{"judge --waivers " + write("waivers.txt", "waive X\n") + " .", 2, "waivers.txt:1: waiver"},
		{"conform --dut nic", 2, `--dut "nic": want rxe`},
		{"conform --dut rxe --impl gbn", 2, "name one of the two"},
		{"conform --waivers ./nothing.txt", 2, "want a file such as"},
		{"list nope", 2, "unknown command"},
		{"nope", 2, "unknown command"},
		{"version x", 2, "unknown command"},
	} {
		o := inProcess(t, dir, strings.Fields(c.args)...)
		if o.code != c.code || !strings.Contains(o.stderr, c.says) || strings.Count(o.stderr, "\n") != 1 ||
			o.stdout != "" {
			t.Errorf("%s: exit %d, want %d and %q; stderr %q, stdout %q", c.args, o.code, c.code, c.says,
				o.stderr, o.stdout)
		}
	}
	if names := left(t, dir); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
	if o := gauntlet(t, dir, "run", "--nope"); o != (exited{2, "", "gauntlet: unknown flag: --nope\n"}) {
		t.Errorf("as a process: %+v", o)
	}
}

// Each file of help belongs to a command, which shows it.
func TestHelpFiles(t *testing.T) {
	files, err := help.ReadDir("help")
	must(t, err)
	for _, f := range files {
		path := strings.Split(strings.TrimSuffix(f.Name(), ".txt"), "-")
		switch {
		case path[0] == "lab" && runtime.GOOS != "linux":
			continue
		case path[0] == "gauntlet":
			path = nil
		case strings.HasPrefix(f.Name(), "check-contract."):
			path = []string{"check-contract"}
		}
		text, err := help.ReadFile("help/" + f.Name())
		must(t, err)
		shown := inProcess(t, t.TempDir(), append(path, "--help")...).stdout
		for line := range strings.Lines(string(text)) {
			if !strings.Contains(shown, line) {
				t.Errorf("%s: gauntlet %s --help lacks %q", f.Name(), strings.Join(path, " "), line)
			}
		}
	}
}

// inFolder lists the files that a run on the sim bench leaves. A run that breaks a rule leaves rulebook.html as well.
var inFolder = []string{"junit.xml", "report.html", "result.json", "spec.txt", "summary.md",
	"trace.ndjson", "verdicts.json"}

func TestRunSim(t *testing.T) {
	dir := t.TempDir()
	o := gauntlet(t, dir, "run", "--loss", "1e-2", "--count", "20", "--seed", "3", "--json", "--out", "r")
	r := o.result(t)
	if o.code != 0 || r.Status != "PASS" || r.GoodputBps <= 0 || r.Messages != 20 || o.stderr != "" {
		t.Errorf("exit %d, %s %s, goodput %g, %d messages, stderr %q", o.code, r.Status, r.Reason, r.GoodputBps,
			r.Messages, o.stderr)
	}
	if names := left(t, filepath.Join(dir, "r")); !slices.Equal(names, inFolder) {
		t.Errorf("folder: %v", names)
	}
	if again := gauntlet(t, dir, "run", "--out", "r"); again.code != 2 || !strings.Contains(again.stderr,
		"already holds a result") {
		t.Errorf("into the same folder: exit %d, %q", again.code, again.stderr)
	}
	must(t, os.Rename(filepath.Join(dir, "r"), filepath.Join(dir, "s-attempt-2")))
	if again := gauntlet(t, dir, "run", "--out", "s"); again.code != 2 || !strings.Contains(again.stderr,
		"s-attempt-2 already holds a result") {
		t.Errorf("beside an attempt of before: exit %d, %q", again.code, again.stderr)
	}
	must(t, os.Rename(filepath.Join(dir, "s-attempt-2"), filepath.Join(dir, "r")))
	if again := gauntlet(t, dir, "run", filepath.Join("r", "spec.txt"), "--json", "--out",
		"again").result(t); again.SpecHash != r.SpecHash ||
		again.GoodputBps != r.GoodputBps {
		t.Errorf("the Spec of a run gives another one: %s %g, %s %g", r.SpecHash, r.GoodputBps,
			again.SpecHash, again.GoodputBps)
	}
}

// Rules about an option of a scheme judge only the runs with that option, also when the trace is judged later.
func TestVariantsAreDeclared(t *testing.T) {
	status := func(r *model.Result, id string) string {
		for _, v := range r.Verdicts {
			if v.Rule == id {
				return v.Status.String()
			}
		}
		return "not judged"
	}
	dir := t.TempDir()
	base := []string{"run", "--rate", "100M", "--loss", "5%", "--count", "30", "--json", "--quiet", "--out"}
	plain := gauntlet(t, dir, append(base, "plain")...).result(t)
	with := gauntlet(t, dir, append(base, "with", "--param", "nack_interval=12ms", "--param",
		"backto0=4096")...).result(t)
	for id, want := range map[string][2]string{"GBN-NAK-004": {"NOT-APPLICABLE", "PASS"},
		"GBN-BT0-001": {"NOT-APPLICABLE", "PASS"}} {
		if got := [2]string{status(plain, id), status(with, id)}; got != want {
			t.Errorf("%s: %v, want %v", id, got, want)
		}
		if again := status(gauntlet(t, dir, "judge", "with", "--json").result(t), id); again != want[1] {
			t.Errorf("%s judged again: %s", id, again)
		}
	}
	if with.Status != "PASS" {
		t.Errorf("%s %s", with.Status, with.Reason)
	}
}

// A flag changes one setting of the file and keeps the others.
func TestFlagsChangeASpecFile(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "s.txt"),
		[]byte("# title\nseed 5\nlink rate=100M delay=3ms\nqp mtu=512\nload send msg=1KiB count=3\n"), 0o644))
	r := gauntlet(t, dir, "run", "s.txt", "--seed", "9", "--loss", "1e-3", "--json").result(t)
	for _, want := range []string{"# title\n", "seed 9\n", "rate=100M delay=3ms", "loss A>B random p=0.001\n",
		"mtu=512", "load send from=A msg=1KiB count=3\n"} {
		if !strings.Contains(r.Spec, want) {
			t.Errorf("no %q in\n%s", want, r.Spec)
		}
	}
	if names := left(t, filepath.Join(dir, "runs")); len(names) != 1 || !strings.Contains(names[0],
		"-gbn-sim-"+r.SpecHash[:8]) {
		t.Errorf("run folders: %v", names)
	}
}

// Flows of varied sizes with an arrival process leave the right memory image, and their slowdown is measured.
func TestFlowsThatArrive(t *testing.T) {
	o := gauntlet(t, t.TempDir(),
		strings.Fields("run --json --codec on --impl gobackone --rate 1G --rtt 4ms --qps 8 --loss 1e-3 --offered 50% "+
			"--count 20 --cdf 1KiB:30%,64KiB:1")...)
	r := o.result(t)
	if r.Status != "PASS" || r.Slowdown == nil || r.Slowdown.All.Count != 160 {
		t.Fatalf("%s %s, slowdown %+v; want PASS and 160 flows", r.Status, r.Reason, r.Slowdown)
	}
	if s := r.Slowdown.All; s.P50 < 1 || s.P50 > s.P95 || s.Smallest >= 1<<10 || s.Largest <= 1<<10 {
		t.Errorf("%+v: flows cannot be faster than alone, and there are small and large ones", s)
	}
}

func TestWarnsOfASmallQueue(t *testing.T) {
	r := gauntlet(t, t.TempDir(), "run", "--rate", "1G", "--rtt", "40ms", "--queue", "100", "--count", "1",
		"--json").result(t)
	if len(r.Warnings) != 2 || !strings.Contains(r.Warnings[0],
		"queue=100 is below the bandwidth-delay product; bursts will overflow it, use queue=4521 or more") {
		t.Errorf("warnings: %q", r.Warnings)
	}
}

// A run that reaches the limit of its Spec or of a flag with unfinished work is a FAIL and keeps its files.
func TestLimit(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "s.txt"),
		[]byte("link rate=1M delay=1ms\nload write msg=1MiB count=100\nrun limit=100ms\n"), 0o644))
	for out, args := range map[string][]string{"r": {"s.txt"},
		"f": {"--rate", "1M", "--msg", "1MiB", "--limit", "100ms"}} {
		o := gauntlet(t, dir, append([]string{"run", "--json", "--out", out}, args...)...)
		if r := o.result(t); o.code != 1 || r.Status != "FAIL" || r.Packets == 0 || !strings.Contains(r.Reason,
			"limit reached") || r.Fault == nil {
			t.Errorf("exit %d, %s, %d packets, %q", o.code, r.Status, r.Packets, r.Reason)
		}
		broken := func(name string) bool { return name == "rulebook.html" } // if a rule reports the lack
		if names := slices.DeleteFunc(left(t, filepath.Join(dir, out)), broken); !slices.Equal(names, inFolder) {
			t.Errorf("folder: %v", names)
		}
		if o = gauntlet(t, dir, "judge", out); o.code != 1 || !strings.Contains(o.stdout, "limit reached") {
			t.Errorf("judged again: exit %d, %s", o.code, o.stdout)
		}
	}
}

// killedRun checks that a folder is recognised as that of a killed run.
func killedRun(t *testing.T, dir string) {
	t.Helper()
	o := gauntlet(t, filepath.Dir(dir), "judge", dir, "--json")
	if r := o.result(t); o.code != 3 || r.Status != "INCOMPLETE" || !strings.Contains(r.Reason,
		"the run was killed before it ended") {
		t.Errorf("judge: exit %d, %s %q", o.code, r.Status, r.Reason)
	}
	for _, command := range []string{"judge", "ladder", "datasheet"} {
		o := gauntlet(t, filepath.Dir(dir), command, dir)
		said := o.stderr
		if command == "judge" {
			said = o.stdout
		}
		if o.code != 3 || !strings.Contains(said, "INCOMPLETE") || strings.Contains(o.stdout, "PASS  ") {
			t.Errorf("%s: exit %d, %s%s", command, o.code, o.stdout, o.stderr)
		}
	}
}

// A killed run in virtual time leaves a part of its trace, which is judged and is no PASS.
func TestKilledRun(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "r")
	c := command(t, t.TempDir(), "run", "--duration", "10000s", "--quiet", "--out", dir)
	must(t, c.Start())
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if info, err := os.Stat(filepath.Join(dir, "trace.ndjson")); err == nil && info.Size() > 1<<20 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no trace within a minute")
		}
	}
	must(t, c.Process.Kill())
	_ = c.Wait()
	killedRun(t, dir)
	if r := gauntlet(t, t.TempDir(), "judge", dir, "--json").result(t); r.Packets == 0 || len(r.Verdicts) == 0 {
		t.Errorf("%d packets were judged, %d verdicts", r.Packets, len(r.Verdicts))
	}
}

func TestLists(t *testing.T) {
	for _, what := range []string{"impls", "rules", "scenarios", "links", "matrix"} {
		text := inProcess(t, t.TempDir(), "list", what)
		var rows []map[string]any
		o := inProcess(t, t.TempDir(), "list", what, "--json")
		if err := json.Unmarshal([]byte(o.stdout), &rows); err != nil || o.code != 0 || len(rows) == 0 {
			t.Errorf("%s: exit %d, %v, %d rows", what, o.code, err, len(rows))
		}
		for _, row := range rows {
			name, _ := row["name"].(string)
			if name == "" {
				name, _ = row["id"].(string)
			}
			if name == "" || !strings.Contains(text.stdout, name) {
				t.Errorf("%s: the row %v is not in the text", what, row)
			}
		}
	}
}

func TestDoctor(t *testing.T) {
	var found []doctor.Finding
	o := gauntlet(t, t.TempDir(), "doctor", "--json")
	if err := json.Unmarshal([]byte(o.stdout), &found); err != nil || o.code != 0 {
		t.Fatal(o.code, err)
	}
	text := gauntlet(t, t.TempDir(), "doctor").stdout
	for _, f := range found {
		if !slices.Contains([]string{"ok", "limited", "missing"}, f.State) || f.Found == "" ||
			f.State == "missing" && f.Remedy == "" {
			t.Errorf("%+v", f)
		}
		if !strings.Contains(text, f.Name) {
			t.Errorf("%s is not in the text", f.Name)
		}
	}
}

func TestHelpAndCompletion(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string
	}{
		{"--help", []string{"Exit codes: 0", "doctor", "judge", "run"}},
		{"run --help", []string{"--bench netns --rate 100M", "line rate, layer 1", "seed of every random stream"}},
		{"judge --help", []string{"A capture of one port is enough"}},
		{"version", []string{"gauntlet "}},
		{"completion bash", []string{"__complete"}},
		{"__complete run --bench ", []string{"netns\n", "sim\n"}},
		{"__complete run --op ", []string{"write-imm\n"}},
		{"__complete run --impl ", []string{"gbn\n"}},
		{"__complete run --link ", []string{"relay\n"}},
		{"__complete run --codec ", []string{"off\n"}},
	} {
		o := inProcess(t, t.TempDir(), strings.Split(c.args, " ")...)
		for _, want := range c.want {
			if !strings.Contains(o.stdout, want) {
				t.Errorf("%s: exit %d, no %q in %.200q", c.args, o.code, want, o.stdout)
			}
		}
		if strings.Contains(o.stdout, "process") && !strings.Contains(c.args, "completion") &&
			strings.Contains(o.stdout, "Bodies of") {
			t.Errorf("%s shows the hidden commands", c.args)
		}
	}
}

// The command line that repeats a run is quoted for a shell.
func TestCommandLineIsQuoted(t *testing.T) {
	r := gauntlet(t, t.TempDir(), "run", "--fault", "drop A psn=+2 tx=1", "--count", "1", "--json").result(t)
	if r.Command != "gauntlet run --fault 'drop A psn=+2 tx=1' --count 1 --json" {
		t.Errorf("%q", r.Command)
	}
}
