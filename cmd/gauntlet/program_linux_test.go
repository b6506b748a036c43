//go:build netns

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// A program that shares no code with this repository is judged like an engine, at either end: with its planted fault it
// breaks one rule, and repaired none.
func TestForeignProgram(t *testing.T) {
	beside(t)
	dir := example(t)
	lossy := []string{"--rate", "20M", "--rtt", "10ms", "--msg", "64KiB", "--count", "5", "--fault",
		"drop A psn=+70 tx=1", "--impl"}
	for _, c := range []struct {
		impls  string
		broken []string
	}{
		{dir + "/gbn," + dir + "/gbn", []string{"GBN-NAK-002"}},
		{"gbn," + dir + "/gbn", []string{"GBN-NAK-002"}},
		{dir + "/gbn,gbn", nil}, // the fault is in its responder
		{"gbn," + dir + "/gbn-repaired", nil},
		{dir + "/gbn-repaired," + dir + "/gbn-repaired", nil},
	} {
		t.Run(strings.ReplaceAll(c.impls, dir+"/", ""), func(t *testing.T) {
			r, _ := onNetns(t, append(slices.Clone(lossy), c.impls)...)
			if got := brokenRules(r); !slices.Equal(got, c.broken) || r.Messages != 5 {
				t.Errorf("%s, broken %v, want %v; %d messages\n%s", r.Status, got, c.broken, r.Messages,
					strings.Join(failures(r), "\n"))
			}
			if judged := judgedRules(r); judged < 35 {
				t.Errorf("%d rules had something to judge", judged)
			}
			fromPositions(t, r)
		})
	}
}

// The example fills its line but for the time that it reports to have waited for a processor.
func TestExampleUsesItsLine(t *testing.T) {
	beside(t)
	r, _ := onNetns(t, "--rate", "20M", "--rtt", "10ms", "--msg", "64KiB", "--qd", "22", "--duration", "1s", "--impl",
		example(t)+"/gbn-repaired,gbn")
	idle := -1.0
	for _, i := range r.Certificates[1].Items {
		if strings.HasPrefix(i.Name, "endpoint A") && strings.HasSuffix(i.Name, "line idle") {
			_, err := fmt.Sscanf(i.Got, "%g %%", &idle)
			must(t, err)
		}
	}
	if used := 100 * r.ThroughputBps / 20e6; idle < 0 || used+idle < 99 {
		t.Errorf("%s: %.2f %% of the line used, %.2f %% reported idle", r.Status, used, idle)
	}
}

// brokenRules returns the IDs of the required rules that failed.
func brokenRules(r *model.Result) (ids []string) {
	for _, v := range r.Verdicts {
		if v.Status == rule.Fail && v.Required {
			ids = append(ids, v.Rule)
		}
	}
	return ids
}

func judgedRules(r *model.Result) (n int) {
	for _, v := range r.Verdicts {
		if v.Status == rule.Pass || v.Status == rule.Fail {
			n++
		}
	}
	return n
}

// A program runs the operations that it declares. Any other is NOT-APPLICABLE, with the reason.
func TestForeignProgramIsAskedForWhatItHas(t *testing.T) {
	beside(t)
	repaired := example(t) + "/gbn-repaired"
	o := gauntlet(t, t.TempDir(), "run", "--bench", "netns", "--impl", repaired, "--op", "read")
	if want := "gbn-repaired does not declare operation READ: NOT-APPLICABLE"; o.code != exitUsage ||
		!strings.Contains(o.stderr, want) {
		t.Errorf("exit %d, %q; want %q", o.code, o.stderr, want)
	}
	o = gauntlet(t, t.TempDir(), "run", "--bench", "sim", "--impl", repaired)
	if want := "a program needs real packets; add --bench netns"; o.code != exitUsage ||
		!strings.Contains(o.stderr, want) {
		t.Errorf("exit %d, %q; want %q", o.code, o.stderr, want)
	}
	o = gauntlet(t, t.TempDir(), "conform", "--bench", "netns", "--impl", repaired, "--peer", "gbn", "--focus",
		" (read-depth|loss-first)$")
	for _, want := range []string{"does not declare operation READ: read-depth", "1 NOT-APPLICABLE"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("no %q in\n%s", want, o.stdout)
		}
	}
}

// stalled is the repaired example, stopped for 40 ms from its 20th packet on, as by a busy machine.
const stalled = `#!/bin/sh
exec 3<&0
"${0%/*}/gbn" --repaired <&3 3<&- &
program=$!
sent() { while read -r name _ _ _ _ _ _ _ _ _ n _; do [ "$name" = lo: ] || now=$n; done </proc/net/dev; }
{
	sent; from=$now
	while [ $((now - from)) -lt 20 ] && kill -0 $program; do sent; done
	kill -STOP $program; sleep 0.04; kill -CONT $program
} >/dev/null 2>&1 3<&- &
wait $program
`

// hesitant is a built-in endpoint that gets the order to start 300 ms late.
const hesitant = `#!/bin/bash
exec 3<&0
exec %s process endpoint gbn < <(while IFS= read -r line; do
	[[ $line != *'"start"'* ]] || sleep 0.3
	printf '%%s\n' "$line"
done <&3)
`

// What a busy machine made late is not the program's fault: neither when the first frame of the run waits, nor when
// frames come before the order to start. A script that is late itself stops the program when that frame has passed.
func TestLateProgramIsInvalid(t *testing.T) {
	beside(t)
	needNetns(t)
	dir := example(t)
	script := func(name, text string) string {
		must(t, os.WriteFile(strings.TrimPrefix(dir, "exec:")+"/"+name, []byte(text), 0o755))
		return dir + "/" + name
	}
	for late, ends := range map[string][2]string{"stalled": {script("stalled", stalled), "gbn"},
		"hesitant": {"gbn", script("hesitant", fmt.Sprintf(hesitant, command(t, "").Path))}} {
		var o exited
		for range 5 {
			o = gauntlet(t, t.TempDir(), "conform", "--bench", "netns", "--attempts", "1", "--impl", ends[0],
				"--peer", ends[1], "--focus", "loss-many-follow$")
			if o.code == exitFailure || strings.Contains(o.stdout, late+") waited is") {
				break
			}
		}
		if o.code != exitBroken {
			t.Errorf("%q: exit %d, want %d for a late program\n%s%s", ends, o.code, exitBroken, o.stdout, o.stderr)
		}
	}
}
