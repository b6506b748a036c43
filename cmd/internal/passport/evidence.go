package passport

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/recording"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/passport"
)

// hashes are SHA-256 sums of the evidence in a run folder, by name: "spec.txt", "taps/A.pcapng", "certificates".
// Evidence that does not exist has no entry.
type hashes map[string]string

// Names of the evidence that is no trace or capture.
const (
	specName     = "spec.txt"
	certificates = "certificates"
)

// hashFolder hashes the evidence in a run folder. A missing file is not an error, nor is a result.json that cannot be
// parsed.
func hashFolder(dir string) (hashes, error) {
	h := hashes{}
	captures, _ := os.ReadDir(filepath.Join(dir, recording.TapsName)) // a run need not have captures
	names := []string{specName, recording.NDJSONName}
	for _, c := range captures {
		names = append(names, path.Join(recording.TapsName, c.Name()))
	}
	for _, name := range names {
		sum, err := hashFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		h.note(name, sum)
	}
	if r := resultOf(dir); len(r.Certificates) > 0 {
		h.note(certificates, passport.Digest(r.Certificates))
	}
	return h, nil
}

// note adds a hash unless it is "".
func (h hashes) note(name, sum string) {
	if sum != "" {
		h[name] = sum
	}
}

// hashesOf returns the hashes that a passport states for a run.
func hashesOf(r *passport.Run) hashes {
	h := hashes{}
	h.note(specName, r.Spec)
	h.note(recording.NDJSONName, r.Trace)
	h.note(certificates, r.Certificates)
	for name, sum := range r.Captures {
		h.note(path.Join(recording.TapsName, name), sum)
	}
	return h
}

// into copies the hashes into the run of a passport.
func (h hashes) into(r *passport.Run) {
	r.Spec, r.Trace, r.Certificates = h[specName], h[recording.NDJSONName], h[certificates]
	for name, sum := range h {
		if tap, ok := strings.CutPrefix(name, recording.TapsName+"/"); ok {
			if r.Captures == nil {
				r.Captures = map[string]string{}
			}
			r.Captures[tap] = sum
		}
	}
}

// differ lists the names of evidence whose hashes differ, each with how: missing, altered, or not stated.
func (h hashes) differ(found hashes) (out [][2]string) {
	all := maps.Clone(h)
	maps.Copy(all, found)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch said, now := h[name], found[name]; {
		case said == now:
		case now == "":
			out = append(out, [2]string{name, "is missing"})
		case said == "":
			out = append(out, [2]string{name, "was not there when the passport was made"})
		default:
			out = append(out, [2]string{name, "was altered"})
		}
	}
	return out
}

// hashFile returns the SHA-256 of a file, "" when there is none.
func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("passport: %w", err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("passport: %s: %w", path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// resultLimit bounds a result.json, in bytes.
const resultLimit = 256 << 20

// result holds the parts of a result.json that this package needs.
type result struct {
	Verdicts     []rule.Verdict
	Certificates []certify.Certificate
}

// resultOf reads the result.json of a run folder. The result is empty without one, as after a run that was killed.
func resultOf(dir string) (r result) {
	if info, err := os.Stat(filepath.Join(dir, "result.json")); err != nil || info.Size() > resultLimit {
		return r
	}
	text, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil || json.Unmarshal(text, &r) != nil {
		return result{}
	}
	return r
}

// judge judges the stored trace of a run by the rules of this program, without waivers.
func judge(ctx context.Context, dir string, who *passport.Subject) (*model.Result, error) {
	return run.Judge(ctx, run.JudgeOptions{Path: dir, Rules: rules.All(), Schemes: schemes(dir, who)})
}

// schemes returns the implementations by which a trace is judged: those of this program, the devices that it knows, and
// for any other name what the subject declares.
func schemes(dir string, who *passport.Subject) map[string]engine.Implementation {
	all := registry.Schemes()
	s, err := scenario.ReadFile(filepath.Join(dir, specName))
	if err != nil {
		return all // the trace is judged without the names in the Spec
	}
	for _, name := range s.Impl {
		switch _, known := all[name]; {
		case known:
		case dut.Known(name):
			all[name] = dut.Describe(name)
		default:
			all[name] = run.Program(name, who.Declares, all)
		}
	}
	return all
}

// decided groups the IDs of rules by their verdicts in a run, without verdicts that decide nothing.
func decided(list []rule.Verdict) map[string][]string {
	by := map[string][]string{}
	for i := range list {
		if status := passport.Plain(list[i].Status.String()); slices.Contains(passport.Decided, status) {
			by[status] = append(by[status], list[i].Rule)
		}
	}
	return by
}

// statuses returns the status of each rule, from the rules by status.
func statuses(by map[string][]string) map[string]string {
	out := map[string]string{}
	for status, list := range by {
		for _, id := range list {
			out[id] = status
		}
	}
	return out
}
