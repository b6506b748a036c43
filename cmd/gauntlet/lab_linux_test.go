//go:build lab

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/lab"
)

// needLab skips the test, with the reason, where no guest can boot. On a machine with apt it downloads a kernel. A
// guest has one processor and its own time, so tests with guests run in parallel.
var needLab = func() func(*testing.T) {
	fetch := sync.OnceValue(func() error {
		_, err := lab.Latest()
		if !errors.Is(err, lab.ErrNoKernel) {
			return err
		}
		if out, err := exec.Command(os.Args[0], "lab", "fetch").CombinedOutput(); err != nil {
			return fmt.Errorf("no kernel: %s", out)
		}
		return nil
	})
	return func(t *testing.T) {
		t.Helper()
		if what, remedy := lab.Missing(); what != "" {
			t.Skip(what, "; ", remedy)
		}
		if err := fetch(); err != nil {
			t.Skip(err)
		}
		t.Parallel()
	}
}()

// Whatever ends a guest, the exit code and one line state the reason.
func TestGuestEndings(t *testing.T) {
	needLab(t)
	for _, c := range []struct {
		name, flags, script string
		code                int
		stdout, stderr      string
	}{
		{"exits", "", "uname -r; echo warned >&2; exit 7", 7, "-amd64\n", "warned\nlab: "},
		{"no memory", "--guest-memory 512", "tail /dev/zero", exitBroken, "", "Out of memory"},
		{"full", "--guest-memory 512", "cat /dev/zero >/full 2>/dev/null; exit 3", 3, "",
			"--guest-memory gives it more"},
		{"panic", "", "echo before; sleep 1; echo c > /proc/sysrq-trigger", exitBroken, "before\n",
			"sysrq triggered crash"},
		{"hangs", "--guest-limit 45s", "echo before; sleep 9999d", exitBroken, "before\n", "still running after 45s"},
		// Ten minutes of the guest's own time pass at once. The background process, which holds the output open, is ended as
		// well.
		{"sleeps", "--guest-limit 10m --deterministic", "echo before; sleep 9999d & sleep 9999d", exitBroken,
			"before\n", "still running after 10m0s of its time; processes then: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"lab", "run", "--with", "uname", "--with", "tail", "--with", "cat", "--with",
				"sleep"}, strings.Fields(c.flags)...)
			o := gauntlet(t, t.TempDir(), append(args, "--", "sh", "-c", c.script)...)
			if o.code != c.code || !strings.Contains(o.stdout, c.stdout) || !strings.Contains(o.stderr, c.stderr) {
				t.Errorf("exit %d, %q %q", o.code, o.stdout, o.stderr)
			}
			if c.code == exitBroken && strings.Count(o.stderr, "\n") != 1 {
				t.Errorf("more than a line: %q", o.stderr)
			}
		})
	}
}

// A missing part is named before anything boots, with the remedy.
func TestGuestRefusals(t *testing.T) {
	needLab(t)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "vmlinuz"), []byte("not a kernel"), 0o644))
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"lab run -- no-such-program", exitBroken, "no-such-program: not found; install it"},
		{"lab run --module no_such -- sh", exitBroken, "has no module no_such"},
		{"lab run --kernel vmlinuz -- sh", exitUsage, "--kernel and --modules go together"},
		{"lab run --kernel vmlinuz --modules /nowhere -- sh", exitBroken, `no folder "kernel"`},
		{"lab run --guest-memory 1 -- sh", exitUsage, "want 512 MiB or more"},
		{"run --bench sim --deterministic", exitUsage,
			"--deterministic: means nothing on the sim bench; add --bench lab"},
		{"matrix --bench lab --jobs 2", exitUsage, "one after the other"},
	} {
		o := gauntlet(t, dir, strings.Fields(c.args)...)
		if o.code != c.code || !strings.Contains(o.stderr, c.says) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %q", c.args, o.code, o.stderr)
		}
	}
	t.Run("no QEMU", func(t *testing.T) {
		c := command(t, dir, "lab", "run", "--", "/bin/sh")
		c.Env = append(os.Environ(), "PATH=/nowhere")
		if o := finish(t, c); o.code != exitBroken || !strings.Contains(o.stderr, "apt-get install qemu-system-x86") {
			t.Errorf("exit %d, %q", o.code, o.stderr)
		}
	})
	t.Run("no kernel fetched", func(t *testing.T) {
		c := command(t, dir, "lab", "run", "--", "sh")
		c.Env = append(os.Environ(), "XDG_CACHE_HOME="+dir)
		if o := finish(t, c); o.code != exitBroken || !strings.Contains(o.stderr, "gauntlet lab fetch") {
			t.Errorf("exit %d, %q", o.code, o.stderr)
		}
	})
}

// QEMU ends with the program, however the program ends.
func TestNoOrphanedGuest(t *testing.T) {
	needLab(t)
	for _, how := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		t.Run(how.String(), func(t *testing.T) {
			c := command(t, t.TempDir(), "lab", "run", "--with", "sleep", "--", "sleep", "600")
			must(t, c.Start())
			var processes map[int]string
			emulated := func() bool {
				processes = descendants(c.Process.Pid)
				return strings.Contains(fmt.Sprint(processes), "qemu")
			}
			for deadline := time.Now().Add(20 * time.Second); !emulated(); time.Sleep(50 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("no QEMU within 20 s")
				}
			}
			must(t, c.Process.Signal(how))
			_ = c.Wait()
			for pid, line := range processes {
				for deadline := time.Now().Add(5 * time.Second); alive(pid); time.Sleep(50 * time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatalf("process %d lives on: %.80s", pid, line)
					}
				}
			}
		})
	}
}

// Every setting of the project reads back from the kernel's netem in the guest.
func TestRealNetemReadsBack(t *testing.T) {
	needLab(t)
	dir := t.TempDir()
	test := filepath.Join(dir, "tc.test")
	if out, err := exec.Command("go", "test", "-c", "-o", test, "../../netem/tc").CombinedOutput(); err != nil {
		t.Fatalf("go test -c: %v: %s", err, out)
	}
	o := gauntlet(t, dir, "lab", "run", "--", test, "-test.v", "-test.run", "Apply|Request")
	if o.code != 0 || !strings.Contains(o.stdout, "--- PASS: TestApplyReadsBack") {
		t.Errorf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

// Scripted faults, crafted packets, and losses that netem has no process for take effect before the kernel's netem, in
// scenarios that pass.
func TestScenariosOverRealNetem(t *testing.T) {
	needLab(t)
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "reports"), 0o755))
	o := gauntlet(t, dir, "conform", "--impl", "gbn", "--bench", "lab", "--deterministic", "--link", "netem", "--out",
		"r", "--junit", "reports/conform.xml", "--focus", " (loss-middle|hostile-nak|random/burst)$")
	if o.code != 0 || !strings.Contains(o.stdout, "3 scenarios, 3 passed") {
		t.Fatalf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	if info, err := os.Stat(filepath.Join(dir, "reports", "conform.xml")); err != nil || info.Size() == 0 {
		t.Errorf("the report in a folder: %v", err)
	}
	for scenario, does := range map[string]string{"loss-middle": "scripted faults", "hostile-nak": "crafted packets",
		"random/burst": "losses of this kind"} {
		raw, err := os.ReadFile(filepath.Join(dir, "r", "gbn", scenario, "result.json"))
		must(t, err)
		if !strings.Contains(string(raw), "behind the relay, which does the "+does) ||
			!strings.Contains(string(raw), `"netem A\u003eB"`) {
			t.Errorf("%s: not the relay before netem, or no settings read back", scenario)
		}
	}
}

// Two deterministic runs over the kernel's netem write the same bytes: trace, captures, verdicts, samples and report.
// Files may be named without a directory or by a path.
func TestDeterministicRunRepeats(t *testing.T) {
	needLab(t)
	var said [2]string
	var kept [2]string
	// both runs use the same folder name, because the guest has it too and its kernel hashes names
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "d.txt"),
		[]byte("link rate=50M delay=5ms\nload write msg=64KiB count=11\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "w.txt"), []byte("# Nothing is waived.\n"), 0o644))
	for n := range kept {
		o := gauntlet(t, dir,
			strings.Fields("run d.txt --waivers w.txt --bench lab --deterministic --loss 1e-2 --seed 5 --out r")...)
		if o.code != 0 {
			t.Fatalf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
		}
		said[n], kept[n] = o.stdout, filepath.Join(t.TempDir(), "r")
		must(t, os.Rename(filepath.Join(dir, "r"), kept[n]))
	}
	if said[0] != said[1] {
		t.Errorf("first\n%s\nthen\n%s", said[0], said[1])
	}
	if spec, err := os.ReadFile(filepath.Join(kept[0], "spec.txt")); err != nil ||
		!strings.Contains(string(spec), "count=11") {
		t.Errorf("%v, not the work of the file:\n%s", err, spec)
	}
	names := left(t, kept[0])
	if len(names) < len(inFolder) {
		t.Errorf("files %v", names)
	}
	if out, err := exec.Command("diff", "-r", kept[0], kept[1]).CombinedOutput(); err != nil {
		t.Errorf("%v\n%.2000s", err, out)
	}
}

// Where the kernel has netem, the bench chooses the injector for faults and losses: no relay is in the path, and the
// certificate has the counts of the injector.
func TestFaultsBeforeRealNetem(t *testing.T) {
	needLab(t)
	o := gauntlet(t, t.TempDir(), "run", "--impl", "gbn", "--bench", "lab", "--deterministic", "--rate", "20M", "--rtt",
		"20ms", "--loss", "1e-2", "--msg", "16KiB", "--count", "40", "--seed", "7", "--fault", "drop A psn=+5 tx=1",
		"--fault", "dup A psn=+9", "--fault", "mark A psn=+20 tx=1", "--json", "--out", "r")
	r := o.result(t)
	notes := strings.Join(r.Notes, " ")
	if r.Status != "PASS" || !strings.Contains(notes, "behind the injector (eBPF), which does the scripted faults") {
		t.Fatalf("%s %s, %s, %s", r.Status, r.Reason, notes, o.stderr)
	}
	counted := map[string]string{}
	for _, i := range r.Certificates[1].Items {
		counted[i.Name] = i.Got
	}
	for _, name := range []string{"A>B drop[0] seen", "A>B dup[1] seen", "A>B mark[2] seen"} {
		if counted[name] != "1" {
			t.Errorf("%s: %q", name, counted[name])
		}
	}
	if counted["A>B frames seen"] == "" || counted["A>B draws of losses seen"] == "0" {
		t.Errorf("counted %v", counted)
	}
}

// Cells of the lab bench are runs in one guest over the kernel's netem, which makes their losses and jitter.
func TestMatrixNetem(t *testing.T) {
	needLab(t)
	dir := t.TempDir()
	o := gauntlet(t, dir, "matrix", "--bench", "lab", "--deterministic", "--link", "netem", "--impl", "irn",
		"--links", "random,jitter",
		"--with", "load write msg=16KiB count=20", "--json", "--out", "m")
	m := readMatrix(t, []byte(o.stdout))
	if o.code != 0 || len(m.Cells) != 2 {
		t.Fatalf("exit %d, %+v, %s", o.code, m, o.stderr)
	}
	for _, c := range m.Cells {
		if c.Status != "PASS" || c.Messages != 20 {
			t.Errorf("%s over %s: %s %s, %d messages", c.Impl, c.Link, c.Status, c.Reason, c.Messages)
		}
		result, err := os.ReadFile(filepath.Join(dir, c.Folder, "result.json"))
		if text := strings.Join(strings.Fields(string(result)), ""); err != nil || !strings.Contains(text,
			`"name":"link","value":"netem"`) {
			t.Errorf("%s over %s: %v, and no word of netem in the environment", c.Impl, c.Link, err)
		}
	}
}

// softRoCEScript makes a device and WRITEs over it, with the file system of the image at ROOT.
const softRoCEScript = `
mount -t sysfs none ROOT/sys && mount -t proc none ROOT/proc && mount --bind /dev ROOT/dev || exit 1
ip link add v0 type veth peer name v1 && ip addr add 10.0.0.1/24 dev v0 && ip link set v0 up && ip link set v1 ` +
	`up || exit 1
softroce="chroot ROOT /usr/bin/softroce"
$softroce rdma link add rxe0 type rxe netdev v0 && $softroce || exit 1
sleep 1
$softroce ib_write_bw -d rxe0 -n 200 -s 4096 >/dev/null &
sleep 3
$softroce ib_write_bw -d rxe0 -n 200 -s 4096 127.0.0.1
`

// In a guest whose kernel has soft-RoCE, the tools of the image find it and work over it with only the file system of
// the image. Time is a count of instructions, because on a busy machine perftest cannot measure the clock of the
// processor and reports nothing.
func TestSoftRoCEImageInAGuest(t *testing.T) {
	needLab(t)
	if os.Getuid() != 0 {
		t.Skip("chroot needs root")
	}
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	unpack := exec.Command("sh", "-c",
		`mkdir "$0" && ../../images/softroce/pack >"$0.tar" && tar -C "$0" -xf "$0.tar"`, root)
	if text, err := unpack.CombinedOutput(); err != nil {
		if strings.Contains(string(text), "not installed") {
			t.Skip(string(text))
		}
		t.Fatalf("%v\n%s", err, text)
	}
	script := filepath.Join(dir, "script")
	must(t, os.WriteFile(script, []byte(strings.ReplaceAll(softRoCEScript, "ROOT", root)), 0o644))
	args := []string{"lab", "run", "--deterministic", "--module", "crc32_generic", "--module", "rdma_rxe",
		"--module", "ib_uverbs"}
	for _, what := range []string{"mount", "chroot", "sleep", "ip", root, script} {
		args = append(args, "--with", what)
	}
	o := gauntlet(t, dir, append(args, "--", "sh", script)...)
	for _, want := range []string{"perftest ", "with rdma_rxe", "rxe0/1 state", " 4096       200 "} {
		if o.code != 0 || !strings.Contains(o.stdout, want) {
			t.Errorf("exit %d, no %q in\n%s%s", o.code, want, o.stdout, o.stderr)
		}
	}
}
