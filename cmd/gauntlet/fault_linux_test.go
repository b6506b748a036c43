//go:build netns

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// harmed writes a program: a shell script around an engine of this repository, whose command is in $E. The script must
// pass on exit code 127, with which the engine refuses what it does not support.
func harmed(t *testing.T, name, script string) string {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	path := filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(path,
		[]byte("#!/bin/bash\nexport "+asProgram+"=1\nE='"+self+" process endpoint gbn'\n"+script+"\n"), 0o755))
	return "exec:" + path
}

// Scripts that fail after some seconds of work or when the work is done, and one that does not.
const (
	unharmed  = "exec $E"
	crashes   = "$E <&0 & P=$!; (sleep 3; kill -KILL $P) & wait $P; exit $?"
	leaves    = "$E <&0 & P=$!; (sleep 3; kill -KILL $P) & wait $P; R=$?; [ $R = 127 ] && exit 127; exit 0"
	stalls    = "$E <&0 & P=$!; (sleep 3; kill -STOP $P) & wait $P; exit $?"
	neverIdle = `$E | grep --line-buffered -v '"idle"'; exit ${PIPESTATUS[0]}`
	dropsMany = `$E | sed -u 's/"event":"stopped"/&,"dropped":1000000/'; exit ${PIPESTATUS[0]}`
)

// A failure of a program is the fault of its end, at either end and beside another program, and of no other cell or
// run.
func TestProgramAtFault(t *testing.T) {
	needNetns(t)
	for _, c := range []struct {
		name, script, side string
		args               string
		says               string
	}{
		{"crash", crashes, "A", "--count 400", "ended in the middle of the run: exit status 137"},
		{"crash", crashes, "B", "--count 400", "ended in the middle of the run: exit status 137"},
		{"leaves early", leaves, "A", "--count 400", "ended in the middle of the run"},
		{"stalls", stalls, "A", "--count 400 --no-progress 3s", "nothing moved for 3s"},
		{"never idle", neverIdle, "A", "--count 20 --no-progress 3s",
			"it did not say idle, with all of its 20 requests completed, "},
		{"never idle", neverIdle, "B", "--count 20 --no-progress 3s",
			"it did not say idle, with no requests of its own to make, "},
		{"drops frames that never came", dropsMany, "A", "--count 20", "stopped: dropped is 1000000, and "},
		{"late", unharmed, "A", "--count 400 --limit 1s --rate 2M --rtt 100ms --attempts 20",
			"of 400 requests completed, as far as it tells, "},
	} {
		t.Run(c.name+" "+c.side, func(t *testing.T) {
			if c.name != "late" { // its result depends on the delay of the endpoints
				beside(t)
			}
			bad := harmed(t, "bad", c.script)
			impls := bad + "," + harmed(t, "peer", unharmed)
			if c.side == "B" {
				impls = "gbn," + bad
			}
			dir := t.TempDir()
			args := append([]string{"run", "--bench", "netns", "--json", "--out", "r", "--rate", "20M", "--rtt", "10ms",
				"--attempts", attempts, "--impl", impls}, strings.Fields(c.args)...)
			o := gauntlet(t, dir, args...)
			r := o.result(t)
			if r.Status == "INVALID" {
				t.Fatal("this host is too busy: ", r.Reason)
			}
			if o.code != exitFailure || o.stderr != "" || r.Status != "FAIL" || r.Fault == nil ||
				r.Fault.Side != c.side || r.Fault.Program != bad || !strings.Contains(r.Reason, c.says) ||
				r.Packets == 0 {
				t.Errorf("exit %d, %s %q, %+v, %d packets; want %q\n%s", o.code, r.Status, r.Reason, r.Fault,
					r.Packets, c.says, o.stderr)
			}
			for _, text := range against(r, c.side) {
				t.Errorf("the other end is blamed: %s", text)
			}
			if again := gauntlet(t, dir, "judge", r.Folder, "--json"); again.code != exitFailure ||
				again.result(t).Status != "FAIL" {
				t.Errorf("judged again: exit %d, %s", again.code, again.result(t).Reason)
			}
		})
	}
}

// against lists what a result proves against another end than the one at fault.
func against(r *model.Result, side string) (list []string) {
	for i := range r.Verdicts {
		for _, f := range r.Verdicts[i].Findings {
			if r.Verdicts[i].Status == rule.Fail && f.Side != side {
				list = append(list, f.Rule+": "+f.Text)
			}
		}
	}
	return list
}

// The failure of a harness process is the harness's fault, also when a program waits for that process.
func TestHarnessAtFault(t *testing.T) {
	p := begin(t, "gbn,"+harmed(t, "fine", unharmed), 3)
	must(t, syscall.Kill(p.find(t, "relay"), syscall.SIGKILL))
	_ = p.cmd.Wait()
	p.gone(t)
	o := exited{p.cmd.ProcessState.ExitCode(), p.stdout.String(), p.stderr.String()}
	if r := o.result(t); o.code != exitBroken || r.Status != "ERROR" || r.Fault != nil {
		t.Errorf("exit %d, %s %q, %+v", o.code, r.Status, r.Reason, r.Fault)
	}
}

// A program that crashes fails its own cells of a matrix and no others.
func TestCrashFailsItsCellsOnly(t *testing.T) {
	beside(t)
	needNetns(t)
	bad := harmed(t, "bad", strings.Replace(crashes, "sleep 3", "sleep 2", 1))
	o := gauntlet(t, t.TempDir(), "matrix", "--bench", "netns", "--impl", "gbn,"+bad, "--links", "random", "--with",
		"link rate=20M", "--with", "load write msg=64KiB count=120",
		"--json", "--quiet", "--attempts", "1", "--out", "m")
	m := readMatrix(t, []byte(o.stdout))
	ours, theirs := m.Cell("gbn", "random"), m.Cell(bad, "random")
	if ours == nil || theirs == nil {
		t.Fatalf("no cells: %s", o.stderr)
	}
	if ours.Status == "FAIL" || ours.Status == "ERROR" || theirs.Status != "FAIL" || !strings.Contains(theirs.Reason,
		"ended in the middle of the run") {
		t.Errorf("gbn is %s %s, the program %s %s", ours.Status, ours.Reason, theirs.Status, theirs.Reason)
	}
}
