//go:build netns

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	godiff "github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/doctor"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// onNetns runs on the netns bench and returns the result and its new folder. A run on a host too busy to emulate the
// link is INVALID and is repeated. The test fails if no run was valid, because it needs an idle machine.
func onNetns(t *testing.T, args ...string) (*model.Result, string) {
	t.Helper()
	needNetns(t)
	o := gauntlet(t, t.TempDir(), append([]string{"run", "--bench", "netns", "--json", "--attempts", attempts, "--out",
		filepath.Join(t.TempDir(), "r")}, args...)...)
	r := o.result(t)
	if o.stderr != "" {
		t.Fatalf("exit %d, %s", o.code, o.stderr)
	}
	if r.Status == "INVALID" {
		t.Fatal("this host is too busy: ", r.Reason)
	}
	return r, r.Folder
}

// failures lists the required rules that failed, with their first findings.
func failures(r *model.Result) (list []string) {
	for _, v := range r.Verdicts {
		if v.Status == rule.XPass || v.Status == rule.Error || v.Status == rule.Fail && v.Required {
			list = append(list, fmt.Sprintf("%s %v %s", v.Rule, v.Status, v.Reason))
			for _, f := range v.Findings[:min(3, len(v.Findings))] {
				list = append(list, "  "+f.Text)
			}
		}
	}
	return list
}

func wantPass(t *testing.T, r *model.Result) {
	t.Helper()
	if r.Status != "PASS" {
		t.Errorf("%s %s\n%s", r.Status, r.Reason, strings.Join(failures(r), "\n"))
	}
}

func TestRunNetns(t *testing.T) {
	r, dir := onNetns(t, "--impl", "gbn", "--rate", "100M", "--rtt", "20ms", "--loss", "1e-3", "--msg", "64KiB",
		"--count", "20", "--seed", "3")
	wantPass(t, r)
	if r.GoodputBps <= 0 || r.Messages != 20 || len(r.Certificates) != 3 || len(r.Verdicts) < 100 {
		t.Errorf("goodput %g, %d messages, %d certificates, %d verdicts", r.GoodputBps, r.Messages,
			len(r.Certificates), len(r.Verdicts))
	}
	if p := r.Processor; p == nil || min(p.NsPerGB[0], p.NsPerGB[1]) <= 0 {
		t.Errorf("processor time %+v", p)
	}
	for _, c := range r.Certificates {
		if !c.Valid || len(c.Items) < 8 {
			t.Errorf("certificate %s: valid %v, %d items", c.When, c.Valid, len(c.Items))
		}
	}
	want := slices.Sorted(slices.Values(append([]string{"taps"}, inFolder...)))
	if names := left(t, dir); !slices.Equal(names, want) {
		t.Errorf("folder: %v", names)
	}
	t.Run("judged again", func(t *testing.T) { judgedAgain(t, r, dir) })
	t.Run("tshark", func(t *testing.T) { dissected(t, dir) })
}

// judgedAgain compares the verdicts of the run with those from each recording in its folder (META-PCAP-001).
func judgedAgain(t *testing.T, r *model.Result, dir string) {
	for _, path := range []string{"", "trace.ndjson", "taps"} {
		again := gauntlet(t, t.TempDir(), "judge", "--json", filepath.Join(dir, path)).result(t)
		judged := 0
		for i, v := range again.Verdicts {
			switch was := r.Verdicts[i]; {
			case v.Status == rule.Inconclusive && strings.Contains(v.Reason, "not seen"),
				v.Status == rule.Inconclusive && path != "":
			case v.Status != was.Status:
				t.Errorf("%q: %s is %v (%s), was %v", path, v.Rule, v.Status, v.Reason, was.Status)
			default:
				judged++
			}
		}
		if judged < 30 || again.Status != r.Status || again.Packets != r.Packets || again.Lost != r.Lost {
			t.Errorf("%q: %s with %d verdicts, %d packets, %d lost; was %s with %d, %d", path, again.Status, judged,
				again.Packets, again.Lost,
				r.Status, r.Packets, r.Lost)
		}
	}
	one := gauntlet(t, t.TempDir(), "judge", "--json", filepath.Join(dir, "taps", "A.pcapng")).result(t)
	needs := 0
	for _, v := range one.Verdicts {
		if strings.Contains(v.Reason, "tap") {
			needs++
		}
	}
	if one.Status != "PASS" || needs < 10 || !strings.Contains(strings.Join(one.Notes, " "), "one end was tapped") {
		t.Errorf("one tap: %s, %d rules name the tap that they need, notes %q\n%s", one.Status, needs, one.Notes,
			strings.Join(failures(one), "\n"))
	}
}

// dissected reads the captures with tshark.
func dissected(t *testing.T, dir string) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed (apt-get install tshark)")
	}
	for _, tap := range []string{"A", "B"} {
		out, err := exec.Command(tshark, "-r", filepath.Join(dir, "taps", tap+".pcapng"), "-T", "fields", "-e",
			"frame.protocols", "-e", "infiniband.bth.opcode", "-e", "_ws.malformed").Output()
		must(t, err)
		lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		for i, l := range lines {
			f := strings.Split(l, "\t")
			if !strings.Contains(f[0], "infiniband") || f[1] == "" || f[2] != "" {
				t.Fatalf("tap %s frame %d: %q", tap, i+1, l)
			}
		}
		if len(lines) < 1000 {
			t.Errorf("tap %s: %d frames", tap, len(lines))
		}
	}
}

func TestOperationsOnNetns(t *testing.T) {
	for _, c := range []struct {
		name, args string
		messages   int64
	}{
		{"50 QPs", "--qps 50 --count 4 --rate 200M --rtt 10ms --msg 4KiB", 200},
		{"SEND", "--op send --count 20 --rate 100M --rtt 5ms --loss 1e-3", 20},
		{"READ", "--op read --count 20 --rate 100M --rtt 5ms --loss 1e-3", 20},
		{"WRITE_IMM", "--op write-imm --count 20 --rate 100M --rtt 5ms --loss 1e-3", 20},
		{"MTU 4096", "--mtu 4096 --count 20 --rate 200M --rtt 5ms --loss 1e-3", 20},
		{"one byte", "--msg 1 --count 200 --rate 50M --rtt 1ms --loss 1e-2", 200},
		{"timed", "--duration 500ms --rate 50M --rtt 10ms --loss 1e-3", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := onNetns(t, strings.Fields(c.args)...)
			wantPass(t, r)
			if c.messages > 0 && r.Messages != c.messages || r.Messages == 0 {
				t.Errorf("%d messages, want %d", r.Messages, c.messages)
			}
		})
	}
}

func TestBothWays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.txt")
	must(t, os.WriteFile(path, []byte("link rate=50M delay=5ms queue=1000\nloss random p=1e-3\n"+
		"load write from=A msg=64KiB count=10\nload send from=B msg=64KiB count=10\n"), 0o644))
	r, _ := onNetns(t, path)
	wantPass(t, r)
	if r.Messages != 20 {
		t.Errorf("%d messages", r.Messages)
	}
}

// line is a packet of trace.ndjson without its times.
type line struct {
	Pkt   string `json:"pkt"`
	From  string `json:"from"`
	Conn  int    `json:"conn"`
	Fate  string `json:"fate"`
	Cause string `json:"cause"`
	Copy  bool   `json:"copy"`
	ICRC  string `json:"icrc"`
	Got   any    `json:"changed"`
}

// packets returns the packets that each side sent on each connection, in order.
func packets(t *testing.T, dir string) map[string][]line {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "trace.ndjson"))
	must(t, err)
	out := map[string][]line{}
	for in := bufio.NewScanner(bytes.NewReader(raw)); in.Scan(); {
		var l line
		must(t, json.Unmarshal(in.Bytes(), &l))
		if l.Pkt != "" {
			key := fmt.Sprint(l.From, l.Conn)
			out[key] = append(out[key], l)
		}
	}
	return out
}

// boxed puts a middlebox into the path, behind a LAN with a round trip longer than a message.
const boxed = "impl pseudoack pseudoack\nlan rate=100M delay=5ms\n"

// The same Spec is the same run on both benches: packets, their fates, and the answers.
func TestBenchesAgreeOnPackets(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":  "",
		"drop":     "drop A psn=+2 tx=1\n",
		"drop ACK": "drop B type=ACK nth=1\n",
		"corrupt":  "corrupt A psn=+3 tx=1\n",
		"mark":     "mark A psn=+3 tx=1\n",
		"rewrite":  "rewrite A psn=+3 tx=1 field=dscp value=9\n",
		"dup":      "dup A psn=+1 tx=1\n",
		"reorder":  "reorder A psn=+5 behind=2\n",
		"delay":    "delay A psn=+4 by=30ms\n",
		"inject":   "inject B at=60ms : WRITE_ONLY psn=+40 len=8 dmalen=8\n",
		"set-up":   "cm on\ndrop B type=UD_SEND_ONLY nth=1\n",

		"box":                   boxed,
		"box, drop on the WAN":  boxed + "drop A psn=+2 tx=1\n",
		"box, drop ACK":         boxed + "drop B type=ACK nth=1\n",
		"box, drop on the LAN":  boxed + "lan drop A psn=+3 tx=1\n",
		"box, corrupt there":    boxed + "lan corrupt A psn=+3 tx=1\n",
		"box, REQ lost":         boxed + "drop A type=UD_SEND_ONLY nth=1\n",
		"box, inject from afar": boxed + "inject A at=300ms : ACKNOWLEDGE psn=+3\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.txt")
			must(t, os.WriteFile(path,
				[]byte("seed 11\nlink rate=50M delay=10ms queue=1000\nload write msg=8KiB count=1\n"+text), 0o644))
			virtual := filepath.Join(t.TempDir(), "v")
			if o := gauntlet(t, t.TempDir(), "run", path, "--out", virtual, "--codec", "on"); o.code != 0 {
				t.Fatal(o.stdout, o.stderr)
			}
			want, d := packets(t, virtual), ""
			for range 5 {
				r, real := onNetns(t, path)
				wantPass(t, r)
				longest := waited(t, r)
				if d = godiff.Diff(want, packets(t, real)); d == "" || longest < slotOf50M {
					// else packets waited for an endpoint, which answers duplicates that wait together with one ACK
					break
				}
			}
			if d != "" {
				t.Errorf("-sim +netns\n%s", d)
			}
		})
	}
}

// slotOf50M is the time between arrivals of full packets at 50 Mb/s.
const slotOf50M = 177 * vtime.Microsecond

// waited returns the longest time that a packet or a timer waited for an endpoint, according to the certificate.
func waited(t *testing.T, r *model.Result) (longest vtime.Duration) {
	t.Helper()
	for _, c := range r.Certificates {
		for _, item := range c.Items {
			if strings.HasSuffix(item.Name, " waited") {
				d, err := vtime.ParseDuration(item.Got)
				must(t, err)
				longest = max(longest, d)
			}
		}
	}
	return longest
}

// The same seed loses the same packets on both benches while both send the same: here, until the first NAK arrives.
func TestBenchesLoseTheSame(t *testing.T) {
	args := strings.Fields("--rate 50M --rtt 30ms --loss 0.1 --msg 64KiB --count 1 --seed 4")
	virtual := filepath.Join(t.TempDir(), "v")
	if o := gauntlet(t, t.TempDir(), append([]string{"run", "--out", virtual}, args...)...); o.code != 0 {
		t.Fatal(o.stdout, o.stderr)
	}
	_, real := onNetns(t, args...)
	const sent = 64
	v, r := packets(t, virtual)["A0"][:sent], packets(t, real)["A0"][:sent]
	if d := godiff.Diff(v, r); d != "" {
		t.Errorf("-sim +netns\n%s", d)
	}
	if !slices.ContainsFunc(v, func(l line) bool { return l.Fate == "dropped" }) {
		t.Error("nothing was lost")
	}
}

// Both benches run the same engines over the same link. Their goodput may differ by 15 %, for the timers and processors
// of the host.
func TestBenchesAgreeOnGoodput(t *testing.T) {
	args := strings.Fields("--rate 100M --rtt 20ms --loss 1e-3 --msg 64KiB --count 60 --seed 5")
	v := gauntlet(t, t.TempDir(), append([]string{"run", "--json"}, args...)...).result(t)
	r, _ := onNetns(t, args...)
	if ratio := r.GoodputBps / v.GoodputBps; ratio < 0.85 || ratio > 1.15 {
		t.Errorf("netns %.1f Mb/s, sim %.1f Mb/s: ratio %.2f", r.GoodputBps/1e6, v.GoodputBps/1e6, ratio)
	} else {
		t.Logf("netns %.1f Mb/s, sim %.1f Mb/s: ratio %.3f", r.GoodputBps/1e6, v.GoodputBps/1e6, ratio)
	}
}

// A link that is idle for most of its round trip costs at most a fifth of a processor: eight more round trips of
// waiting take so little more, whatever it takes to start and to measure the link.
func TestIdleCostsNothing(t *testing.T) {
	needNetns(t)
	short, began := idleRun(t, 4)
	long, ended := idleRun(t, 12)
	spent, wall := long-short, ended-began
	if wall < 3*time.Second || spent > wall/5 {
		t.Errorf("%s more of processor time in %s more", spent, wall)
	}
	t.Logf("%s in %s, and %s in %s", short, began, long, ended)
}

// idleRun makes a run that mostly waits, for a round trip of each message, and returns the processor time of all its
// processes and how long it took.
func idleRun(t *testing.T, messages int) (spent, wall time.Duration) {
	t.Helper()
	c := command(t, t.TempDir(), strings.Fields("run --bench netns --json --rate 100M --rtt 400ms --msg 1KiB "+
		"--qd 1 --dilate 1 --count "+fmt.Sprint(messages))...)
	o := finish(t, c)
	if o.code != 0 && o.code != exitBroken {
		t.Fatal(o.stdout, o.stderr)
	}
	usage := c.ProcessState.SysUsage().(*syscall.Rusage)
	spent = time.Duration(usage.Utime.Nano() + usage.Stime.Nano()) // with that of its children
	return spent, time.Duration(o.result(t).Wall * float64(time.Second))
}

// A fast run is either captured completely or INVALID. A slow host is never the fault of an endpoint.
func TestFastRunIsWholeOrInvalid(t *testing.T) {
	needNetns(t)
	o := gauntlet(t, t.TempDir(), strings.Fields(
		"run --bench netns --json --attempts 1 --rate 500M --rtt 5ms --mtu 4096 --msg 1MiB --duration 1s")...)
	r := o.result(t)
	t.Logf("%s %s, %.0f Mb/s, %d packets", r.Status, r.Reason, r.GoodputBps/1e6, r.Packets)
	if r.Status != "PASS" && r.Status != "INVALID" {
		t.Errorf("%s\n%s", r.Status, strings.Join(failures(r), "\n"))
	}
}

func TestExpose(t *testing.T) {
	beside(t)
	needNetns(t)
	if topology.Privileged() != nil || os.Getuid() != 0 {
		t.Skip("naming namespaces needs root")
	}
	name := fmt.Sprintf("gx%d", os.Getpid())
	dir := t.TempDir()
	c := command(t, dir, "run", "--bench", "netns", "--expose", name, "--rate", "10M", "--duration", "1s", "--quiet")
	must(t, c.Start())
	var out []byte
	for deadline := time.Now().Add(10 * time.Second); len(out) == 0 &&
		time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		out, _ = exec.Command("ip", "netns", "exec", name+"-a", "ip", "-o", "link", "show", topology.DeviceA).Output()
	}
	if !strings.Contains(string(out), topology.DeviceA) {
		t.Errorf("ip netns exec says %q", out)
	}
	clash := gauntlet(t, t.TempDir(), "run", "--bench", "netns", "--expose", name, "--count", "1", "--quiet")
	if clash.code != exitBroken || !strings.Contains(clash.stderr, "name clash: "+name) ||
		strings.Count(clash.stderr, "\n") != 1 {
		t.Errorf("second user of the name: exit %d, %q", clash.code, clash.stderr)
	}
	_ = c.Wait()
	if names, _ := filepath.Glob("/run/netns/" + name + "*"); len(names) > 0 {
		t.Errorf("left: %v", names)
	}
}

// nobody is the user ID of a user without privileges.
const nobody = 65534

func TestRootless(t *testing.T) {
	needNetns(t)
	if os.Getuid() != 0 {
		t.Skip("starts as root, to become nobody; without root every netns test is this test")
	}
	dir, err := os.MkdirTemp("", "gauntlet-nobody") //nolint:usetesting // nobody may not enter t.TempDir
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	program, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "gauntlet"), program, 0o755))
	must(t, os.Chown(dir, nobody, nobody))
	must(t, os.Chmod(dir, 0o755))
	as := func(args ...string) exited {
		c := exec.CommandContext(t.Context(), filepath.Join(dir, "gauntlet"), args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "TMPDIR=", "HOME=/nonexistent")
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		return finish(t, c)
	}
	if o := as("process", "privileged"); o.code != exitBroken {
		t.Fatalf("nobody is privileged: exit %d", o.code)
	}
	var found []doctor.Finding
	must(t, json.Unmarshal([]byte(as("doctor", "--json").stdout), &found))
	i := slices.IndexFunc(found, func(f doctor.Finding) bool { return f.Name == "bench netns" })
	if found[i].State != "ok" {
		t.Skip("no user namespaces: ", found[i].Found)
	}
	o := as("run", "--bench", "netns", "--json", "--attempts", attempts, "--rate", "50M", "--rtt", "10ms", "--loss",
		"1e-3", "--count", "10", "--out", "r")
	wantPass(t, o.result(t))
	if o := as("run", "--bench", "netns", "--expose", "x", "--count", "1", "--quiet"); o.code != exitBroken ||
		!strings.Contains(o.stderr, "exposing names needs root") {
		t.Errorf("names without root: exit %d, %q", o.code, cmp.Or(o.stderr, o.stdout))
	}
}
