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

// ending is how the run behind a trace ended, read from its run folder. A run writes its result last and atomically, so
// a folder without a result is that of a run that was killed. The zero ending means that the run ended in order, or
// that the trace is in no run folder.
type ending struct {
	dir   string       // the run folder; "" when the trace is in none
	cut   string       // if not empty, how the run or its trace was cut off
	broke string       // if not empty, the error with which the harness broke
	fault *bench.Fault // of the endpoint whose fault ended the run; nil when there was none

	certificates []certify.Certificate // of the run: evidence that its link invalidated then stays invalid
}

// runFolder returns the run folder that a path names or is in; "" when there is none.
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

// endingOf reads the ending of the run behind a path.
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
		e.fault = &bench.Fault{Side: side, Program: r.Fault.Program, Err: errors.New(r.Fault.What),
			Rests: r.Fault.Rests}
	case r.Status == rule.Error.String() && r.Reason != "":
		e.broke = "the run broke before it ended: " + r.Reason
	}
	e.certificates = r.Certificates
	return e
}

// spec returns the Spec of the run; nil when the trace is in no run folder, or its Spec cannot be read.
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

// trace returns the file to read for a path. For the folder of a run that was cut off it is trace.ndjson, which is
// complete up to a line; each capture ends at another packet.
func (e *ending) trace(path string) string {
	if text := filepath.Join(e.dir, recording.NDJSONName); e.cut != "" && filepath.Clean(path) == e.dir {
		if _, err := os.Stat(text); err == nil {
			return text
		}
	}
	return path
}

// tolerates reports whether err, from reading the trace, is due to a run or a trace that was cut off. The records
// before that point are valid.
func (e *ending) tolerates(err error) bool {
	if e.dir == "" || err == nil {
		return false
	}
	if e.cut == "" && errors.Is(err, trace.ErrTruncated) {
		e.cut = "its trace is cut short"
	}
	return e.cut != ""
}

// err returns the error for a caller that needs the whole trace; nil when the trace is complete.
func (e *ending) err() error {
	if e.cut == "" {
		return nil
	}
	return fmt.Errorf("%s: %s: %s", model.Incomplete, e.dir, e.cut)
}

// settle sets the status of a trace that is judged again. A FAIL stands also when the run was cut off or broke; every
// other status becomes Incomplete then.
func (e *ending) settle(r *model.Result) {
	if e.fault != nil {
		settle(r, e.fault)
		return
	}
	settle(r, nil)
	why := e.cut + e.broke // at most one of them is set
	switch {
	case why == "":
	case r.Status != rule.Fail.String():
		r.Status, r.Reason = model.Incomplete, why
	default:
		r.Reason = model.Incomplete + ": " + why + "; what there is has been judged"
	}
}
