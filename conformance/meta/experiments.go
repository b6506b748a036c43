package meta

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/recording"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ndjson"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Repeated compares two runs of the same Spec (META-DET-001).
func Repeated(pairs [][2]*Recording) (rule.Verdict, error) {
	var a account
	for _, p := range pairs {
		first, err := written(p[0])
		if err != nil {
			return rule.Verdict{}, err
		}
		second, err := written(p[1])
		if err != nil {
			return rule.Verdict{}, err
		}
		if a.met++; !bytes.Equal(first, second) {
			a.failf("%s: the second run differs from the first in line %d of the trace", p[0].Name,
				difference(first, second))
		}
	}
	return a.verdict(Seed), nil
}

// written returns the NDJSON of a trace.
func written(r *Recording) ([]byte, error) {
	var b bytes.Buffer
	w, err := ndjson.NewWriter(&b, &r.Header)
	if err != nil {
		return nil, err
	}
	if err := r.Play(w); err != nil {
		return nil, err
	}
	err = w.Flush()
	return b.Bytes(), err
}

// difference returns the number, from 1, of the first line in which two texts differ.
func difference(a, b []byte) int {
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	return n + 1
}

// Silent judges empty traces (META-INC-001): the connections of the recordings, without packets or events.
func Silent(by Judge, rules []rule.Rule, over []*Recording) (rule.Verdict, error) {
	var a account
	for _, r := range over {
		h := r.Header
		h.Taps, h.Bytes, h.Reports = [2]bool{true, true}, true, h.Reports|trace.ReportCounters
		nothing := func(s trace.Sink) error { s.End(r.ended); return nil }
		for i := range rules {
			if rules[i].Device && h.Divided() { // a path divided by a box has no counters
				continue
			}
			features := rules[i].Features
			if len(features) == 0 {
				features = []string{"rc"}
			}
			verdicts, err := by(h, rules[i:i+1], rule.Options{Features: features}, nothing)
			if err != nil {
				return rule.Verdict{}, err
			}
			if a.met++; verdicts[0].Status != rule.Inconclusive {
				a.failf("%s says %v of a trace in which nothing happens", rules[i].ID, verdicts[0].Status)
			}
		}
	}
	return a.verdict(Silence), nil
}

// delay is the time by which Later delays a trace; it is no multiple of any unit.
const delay = 12_345_678_901 * vtime.Nanosecond

// Later judges each recording again with all times shifted (META-CLK-001).
func Later(by Judge, rules []rule.Rule, over []*Recording) (rule.Verdict, error) {
	var a account
	for _, r := range over {
		want, err := r.judge(by, rules)
		if err != nil {
			return rule.Verdict{}, err
		}
		got, err := by(r.Header, rules, r.Options, func(s trace.Sink) error {
			return r.Play(&trace.Delayed{Next: s, By: delay})
		})
		if err != nil {
			return rule.Verdict{}, err
		}
		for i := range got {
			for k := range got[i].Findings {
				got[i].Findings[k].At = got[i].Findings[k].At.Add(-delay)
			}
		}
		a.same(r.Name, "later", want, got)
	}
	return a.verdict(Clock), nil
}

// same records every verdict that differs between two judgements of one run.
func (a *account) same(name, how string, want, got []rule.Verdict) {
	for i := range want {
		w, g := &want[i], &got[i]
		a.met++
		if w.Status != g.Status || w.Met != g.Met || w.Total != g.Total || !slices.Equal(w.Findings, g.Findings) {
			a.failf("%s: %s is %v (met %d, found %d), and %v (met %d, found %d) %s", name, w.Rule, w.Status, w.Met,
				w.Total, g.Status, g.Met, g.Total, how)
		}
	}
}

// FromOneTap judges each recording with the tap of one side only (META-TAP-001).
func FromOneTap(by Judge, rules []rule.Rule, over []*Recording) (rule.Verdict, error) {
	var a account
	for _, r := range over {
		for _, side := range []trace.Side{trace.A, trace.B} {
			h := r.Header
			h.Taps = [2]bool{side == trace.A, side == trace.B}
			verdicts, err := by(h, rules, r.Options, r.Play)
			if err != nil {
				return rule.Verdict{}, err
			}
			for i, v := range verdicts {
				if needs := rules[i].Needs; needs&rule.Both != rule.Both && needs&rule.Fates == 0 {
					continue
				}
				if a.met++; v.Status != rule.Inconclusive && v.Status != rule.NotApplicable {
					a.failf("%s: %s needs both taps, and says %v with that of %v alone", r.Name, v.Rule, v.Status, side)
				}
			}
		}
	}
	return a.verdict(OneTap), nil
}

// FromFiles writes each recording to the files of a run folder below dir, opens it again and judges the result
// (META-PCAP-001). It skips recordings without the bytes of frames, and divided paths, whose captures per hop the run
// writes.
func FromFiles(by Judge, rules []rule.Rule, over []*Recording, dir string) (rule.Verdict, error) {
	var a account
	for i, r := range over {
		if r.Header.Divided() || !r.Header.Bytes {
			continue
		}
		want, err := r.judge(by, rules)
		if err != nil {
			return rule.Verdict{}, err
		}
		folder := filepath.Join(dir, fmt.Sprint(i))
		if err := r.keep(folder); err != nil {
			return rule.Verdict{}, err
		}
		h, play, err := recording.Open(folder)
		if err != nil {
			return rule.Verdict{}, err
		}
		got, err := by(h, rules, r.Options, play)
		if err != nil {
			return rule.Verdict{}, err
		}
		a.same(r.Name, "from its files", want, got)
	}
	return a.verdict(Captures), nil
}

// keep writes the trace and the captures of both taps.
func (r *Recording) keep(folder string) error {
	taps := filepath.Join(folder, recording.TapsName)
	if err := os.MkdirAll(taps, 0o755); err != nil {
		return fmt.Errorf("meta: %w", err)
	}
	text, err := written(r)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, recording.NDJSONName), text, 0o644); err != nil {
		return fmt.Errorf("meta: %w", err)
	}
	for _, side := range []trace.Side{trace.A, trace.B} {
		tap := capture.Tap{Side: side, Device: strings.ToLower(side.String()) + "0"}
		if err := r.capture(filepath.Join(taps, tap.File()), tap); err != nil {
			return err
		}
	}
	return nil
}

// capture writes the capture file of one tap.
func (r *Recording) capture(path string, tap capture.Tap) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("meta: %w", err)
	}
	defer f.Close()
	w, err := capture.NewWriter(f, &r.Header, tap, time.Time{})
	if err != nil {
		return err
	}
	if err := r.Play(trace.NewTimeline(&r.Header, w)); err != nil {
		return err
	}
	if _, err = w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// Kill lists the rules that a broken engine breaks: those that distinguish it from the correct engine, and those that
// do not.
type Kill struct {
	Engine         string // the broken engine
	Caught, Missed []string
}

// Caught checks that every rule catches a broken engine (META-MUT-001). excused are the rules that no engine can break,
// with the reasons.
func Caught(rules []rule.Rule, kills []Kill, excused map[string]string) rule.Verdict {
	var a account
	caught, missed := map[string]bool{}, map[string]string{}
	for _, k := range kills {
		for _, id := range k.Caught {
			caught[id] = true
		}
		for _, id := range k.Missed {
			missed[id] = k.Engine
		}
	}
	for _, r := range rules {
		switch engine, ok := missed[r.ID]; {
		case r.Unbuilt != "":
		case caught[r.ID]:
			a.met++
		case ok:
			a.failf("%s does not catch %s, which breaks it", r.ID, engine)
		case excused[r.ID] == "":
			a.failf("%s: no engine is there that breaks it", r.ID)
		}
	}
	return a.verdict(Mutants)
}
