package points

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	measured "github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// mostResult bounds a file of results, in bytes.
const mostResult = 256 << 20

// hash returns a name for runs that is derived from their texts.
func hash(texts []string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\n\n")))
	return hex.EncodeToString(sum[:])
}

// Read reads the JSON of run, matrix, conform, perf or gate, or the folder that one of them wrote. Run names the series
// of a single run; "" names them after the Spec. The header has the version, the commit and the time that the file
// states.
func Read(path, run string) (*history.Night, error) {
	text, err := read(path)
	if err == nil {
		n, e := parse(text, run)
		if err = e; err == nil && len(n.Points) == 0 {
			err = errors.New("nothing was measured in it")
		}
		if err == nil {
			return n, nil
		}
	}
	return nil, fmt.Errorf(
		"store: %s: %w; want the JSON of run, matrix, conform, perf or gate",
		quote.Line(path, quote.Sentence),
		err,
	)
}

// read reads a file, or the result file in a folder.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	for _, name := range []string{"result.json", "matrix.json", "gate.json"} {
		if err != nil || !info.IsDir() {
			break
		}
		if in, e := os.Stat(filepath.Join(path, name)); e == nil {
			path, info = filepath.Join(path, name), in
		}
	}
	var p *fs.PathError
	switch {
	case errors.As(err, &p):
		return nil, p.Err
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("a folder without a result")
	case !info.Mode().IsRegular() || info.Size() > mostResult:
		return nil, fmt.Errorf("no file of %d bytes at most", mostResult)
	}
	return os.ReadFile(path)
}

// parse detects the kind of a result and reads it.
func parse(text []byte, run string) (*history.Night, error) {
	if text = bytes.TrimSpace(text); len(text) > 0 && text[0] == '[' {
		return parseSuite(text)
	}
	var is struct {
		Format  int             `json:"format"`
		Error   string          `json:"error"`
		Cells   json.RawMessage `json:"cells"`
		Claims  json.RawMessage `json:"claims"`
		Stages  json.RawMessage `json:"stages"`
		Spec    string          `json:"spec"`
		Version string          `json:"version"`
		Commit  string          `json:"commit"`
		Started string          `json:"started"`
	}
	if err := json.Unmarshal(text, &is); err != nil {
		return nil, err
	}
	n := &history.Night{Header: history.Header{Started: is.Started, Version: is.Version, Commit: is.Commit}}
	var err error
	switch {
	case is.Error != "":
		return nil, fmt.Errorf("it says that nothing was run: %s", quote.Line(is.Error, quote.Sentence))
	case is.Format != model.FormatVersion:
		return nil, fmt.Errorf("format %d, and this program reads %d", is.Format, model.FormatVersion)
	case is.Cells != nil:
		var m model.Matrix
		err = json.Unmarshal(text, &m)
		n.Points = Matrix(&m)
	case is.Claims != nil:
		var m measured.Result
		err = json.Unmarshal(text, &m)
		n.Points = Claims("perf", &m)
	case is.Stages != nil:
		var g model.Gate
		err = json.Unmarshal(text, &g)
		n.Points = Gate(&g)
	case is.Spec != "":
		var r model.Result
		err = json.Unmarshal(text, &r)
		n.Points, n.Kernel, n.Firmware = Run(run, &r), fact(&r, "kernel"), fact(&r, "firmware")
	default:
		err = errors.New("it is no result")
	}
	return n, err
}

// fact returns a fact about the machine of a run, "" if the run did not record it.
func fact(r *model.Result, name string) string {
	for _, f := range r.Environment {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// parseSuite reads the report of conform, in Ginkgo's format. Each outcome states version and commit.
func parseSuite(text []byte) (*history.Night, error) {
	var reports []struct {
		StartTime   time.Time
		SpecReports []struct {
			ReportEntries []struct {
				Name  string
				Value struct{ AsJSON string }
			}
		}
	}
	if err := json.Unmarshal(text, &reports); err != nil {
		return nil, err
	}
	n := &history.Night{}
	for _, r := range reports {
		n.Started = r.StartTime.UTC().Format(time.RFC3339)
		for _, s := range r.SpecReports {
			for _, e := range s.ReportEntries {
				var o suite.Outcome
				if e.Name != "verdicts" || json.Unmarshal([]byte(e.Value.AsJSON), &o) != nil || o.Scenario == "" {
					continue
				}
				n.Version, n.Commit = o.Version, o.Commit
				n.Points = append(n.Points, Outcome(&o)...)
			}
		}
	}
	return n, nil
}
