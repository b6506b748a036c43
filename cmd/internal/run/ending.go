package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/recording"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// ending is how the run behind a trace ended, as its folder tells. The result is written last and at once, so that a
// folder without one is that of a run that was killed. The zero ending is that of a run that came to its end, and of a
// trace in no run folder.
type ending struct {
	dir   string       // the run folder, "" of a trace in none
	cut   string       // not empty: the run or its trace was cut off, and this is how
	broke string       // not empty: the harness broke, and this is what it said
	fault *bench.Fault // of the end that kept the run from its end

	certificates []certify.Certificate // of its link: evidence that did not stand then does not stand now
}

// runFolder is the run folder that a path names or is in; "" is none.
func runFolder(path string) string {
	dir := filepath.Clean(path)
	if filepath.Base(filepath.Dir(dir)) == recording.TapsName {
		dir = filepath.Dir(dir)
	}
	if base := filepath.Base(dir); base == recording.NDJSONName || base == recording.TapsName {
		dir = filepath.Dir(dir)
	}
	if _, err := os.Stat(filepath.Join(dir, "spec.txt")); err != nil {
		return ""
	}
	return dir
}

// endingOf reads how a run ended.
func endingOf(path string) (e ending) {
	if e.dir = runFolder(path); e.dir == "" {
		return e
	}
	var r struct {
		Status, Reason string
		Fault          *model.Fault
		Certificates   []certify.Certificate
	}
	text, err := os.ReadFile(filepath.Join(e.dir, "result.json"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.cut = "the run was killed before it ended, or has not ended yet: there is no result.json"
	case err != nil:
		e.cut = "result.json cannot be read: " + bare(err).Error()
	case json.Unmarshal(text, &r) != nil:
		e.cut = "result.json is cut short"
	case r.Fault != nil:
		side := trace.A
		if r.Fault.Side == trace.B.String() {
			side = trace.B
		}
		e.fault = &bench.Fault{Side: side, Program: r.Fault.Program, Err: errors.New(r.Fault.What)}
	case r.Status == rule.Error.String() && r.Reason != "":
		e.broke = "the run broke before it ended: " + r.Reason
	}
	e.certificates = r.Certificates
	return e
}

// spec is the Spec of the run; nil of a trace in no run folder.
func (e *ending) spec() *scenario.Spec {
	if e.dir == "" {
		return nil
	}
	s, err := scenario.ReadFile(filepath.Join(e.dir, "spec.txt"))
	if err != nil {
		return nil
	}
	return s
}

// trace is what to read for a path. Of a run that was cut off the text alone is whole up to a line: captures end in
// other places.
func (e *ending) trace(path string) string {
	if text := filepath.Join(e.dir, recording.NDJSONName); e.cut != "" && filepath.Clean(path) == e.dir {
		if _, err := os.Stat(text); err == nil {
			return text
		}
	}
	return path
}

// tolerates reports whether an error of reading the trace is that of a run folder whose trace was cut off; what came
// before is good.
func (e *ending) tolerates(err error) bool {
	if e.dir == "" || err == nil {
		return false
	}
	if e.cut == "" && errors.Is(err, trace.ErrTruncated) {
		e.cut = "its trace is cut short"
	}
	return e.cut != ""
}

// err is the error of whoever needs the whole trace; nil when it is there.
func (e *ending) err() error {
	if e.cut == "" {
		return nil
	}
	return fmt.Errorf("%s: %s: %s", model.Incomplete, e.dir, e.cut)
}

// settle gives the result of a trace that is judged again its status. What has been seen to be wrong stays a FAIL;
// nothing else can be said of a run that did not come to its end.
func (e *ending) settle(r *model.Result) {
	if e.fault != nil {
		settle(r, e.fault)
		return
	}
	settle(r, nil)
	why := e.cut + e.broke // one of them at most
	switch {
	case why == "":
	case r.Status != rule.Fail.String():
		r.Status, r.Reason = model.Incomplete, why
	default:
		r.Reason = model.Incomplete + ": " + why + "; what there is has been judged"
	}
}
