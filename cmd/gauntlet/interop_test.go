package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// extensions returns the opcodes of the manufacturer-specific classes and that of LoWAR's repair packets.
func extensions() (ops []roce.Opcode) {
	for code := range 256 {
		op := roce.Opcode(code)
		if op.Known() && !op.OverIP() && (op == roce.LoWAR || op.Class() == roce.ClassX || op.Class() == roce.ClassF) {
			ops = append(ops, op)
		}
	}
	return ops
}

// foreigners returns a Spec of go-back-N in which each side receives each extension opcode once, during its own
// traffic.
func foreigners(t *testing.T) (path string, each int) {
	var b strings.Builder
	b.WriteString("seed 5\nimpl gbn\nlink rate=20M delay=2ms queue=1000\nqp rto=60ms\nload write msg=8KiB " +
		"count=20\nload send from=B msg=1KiB count=20\n")
	for i, op := range extensions() {
		text := op.String()
		if op != roce.LoWAR {
			text += " psn=+1"
		}
		if op.Layout()&roce.LayoutPayload != 0 {
			text += " len=1024"
		}
		for _, side := range "AB" {
			fmt.Fprintf(&b, "inject %c at=%dus : %s\n", side, 5000+200*i, text)
		}
	}
	path = filepath.Join(t.TempDir(), "foreigners.txt")
	must(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path, len(extensions())
}

// dropped returns the value of a counter.
func dropped(r *model.Result, name string) string {
	for _, f := range r.Counters {
		if f.Name == name {
			return f.Value
		}
	}
	return "0"
}

// undisturbed checks that the foreign packets had no effect but to be counted.
func undisturbed(t *testing.T, r *model.Result, each int) {
	t.Helper()
	for _, side := range []string{"A", "B"} {
		if got := dropped(r, side+" dropped: class"); got != fmt.Sprint(each) {
			t.Errorf("%s dropped %s packets for their class, want %d: %v", side, got, each, r.Counters)
		}
	}
	if r.Status != "PASS" || r.Messages != 40 || r.Retransmitted != 0 || r.NAKs != 0 || r.Timeouts != 0 {
		t.Errorf("%s %s, %d messages, %d sent again, %d NAKs, %d timeouts", r.Status, r.Reason, r.Messages,
			r.Retransmitted, r.NAKs, r.Timeouts)
	}
}

// Stock go-back-N ignores packets of other schemes: it drops and counts them, sends no answer, and its traffic is the
// same.
func TestGoBackNIgnoresExtensions(t *testing.T) {
	path, each := foreigners(t)
	o := gauntlet(t, t.TempDir(), "run", path, "--json")
	undisturbed(t, o.result(t), each)
}

// The program runs two schemes at the two ends, or says that it cannot; package run tries every pair.
func TestPairOfSchemes(t *testing.T) {
	r := gauntlet(t, t.TempDir(), "run", "--impl", "gbn,gobackone", "--loss", "1%", "--msg", "8KiB", "--count", "10",
		"--rate", "100M", "--json").result(t)
	if r.Status != "PASS" || r.Impl != [2]string{"gbn", "gobackone"} || r.Messages != 10 {
		t.Errorf("%v: %s %s, %d messages", r.Impl, r.Status, r.Reason, r.Messages)
	}
	if o := gauntlet(t, t.TempDir(), "run", "--impl", "gbn,rciwarp", "--json"); o.code != 2 ||
		!strings.Contains(o.stderr, "do not speak the same protocol") {
		t.Errorf("exit %d, %s", o.code, o.stderr)
	}
}

// forgeries is a Spec in which packets that a scheme takes beside the RC class come forged into its own traffic: from
// the future, from the past, naming the impossible, and cut short.
func forgeries(t *testing.T, impl *engine.Implementation) (path string, n int) {
	var b strings.Builder
	fmt.Fprintf(&b, "seed 5\nimpl %s\nlink rate=20M delay=2ms queue=1000\nqp rto=60ms\nload write msg=8KiB "+
		"count=40\nload write from=B msg=8KiB count=40\n", impl.Name)
	inject := func(side byte, format string, args ...any) {
		fmt.Fprintf(&b, "inject %c at=%dus %s\n", side, 5000+150*n, fmt.Sprintf(format, args...))
		n++
	}
	for code := range 256 {
		op := roce.Opcode(code)
		if !op.Known() || op == roce.LoWAR || op.OverIP() || impl.Accepts == nil || !impl.Accepts(op) {
			continue
		}
		size := ""
		if op.Layout()&roce.LayoutPayload != 0 {
			size = " len=1024"
		}
		for _, side := range []byte("AB") {
			for _, at := range []string{"+4194404", "-5", "-4000000"} {
				inject(side, ": %v psn=%s%s", op, at, size)
			}
			if op.Layout()&roce.LayoutSACKETH != 0 {
				for _, sack := range []string{"psn=-5 sack=+4194404", "psn=-5 sack=-9", "psn=-5 sack=-5"} {
					inject(side, ": %v %s", op, sack)
				}
			}
			inject(side, "cut=13 : %v psn=+1%s", op, size)
		}
	}
	path = filepath.Join(t.TempDir(), "forgeries.txt")
	must(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path, n
}

// Forged, stale and malformed packets of a scheme's own neither stop it nor make it lose or repeat work, and no byte of
// memory is other than what was sent: the rules about it are among those that pass.
func TestForgedExtensions(t *testing.T) {
	for _, impl := range all.Implementations() {
		path, n := forgeries(t, &impl)
		if n == 0 {
			continue
		}
		r := gauntlet(t, t.TempDir(), "run", path, "--json").result(t)
		if r.Status != "PASS" || r.Messages != 80 || len(r.Warnings) > 0 {
			t.Errorf("%s: %d forgeries: %s %s, %d messages, warnings %q", impl.Name, n, r.Status, r.Reason,
				r.Messages, r.Warnings)
			for _, v := range r.Verdicts {
				if v.Status == rule.Fail && v.Required {
					t.Errorf("  %s: %v", v.Rule, v.Findings[0].Text)
				}
			}
		}
	}
}
