package claims

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/rdma-gauntlet/gauntlet/perf/stats"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
)

// CompareFiles reads two results of perf --json and compares their numbers.
func CompareFiles(old, now string, rule stats.Rule) (*suite.Changes, error) {
	if !(rule.Confidence > 0.5 && rule.Confidence < 1) || !(rule.Margin >= 0 && rule.Margin < 1) {
		return nil, fmt.Errorf("--confidence %g, --margin %g: want 0.5 to 1, such as 0.95, and 0 to 1, such as 0.01",
			rule.Confidence, rule.Margin)
	}
	var results [2]*suite.Result
	for i, path := range []string{old, now} {
		p, err := readPerf(path)
		if err != nil {
			return nil, err
		}
		results[i] = p
	}
	return suite.Compare(results[0], results[1], rule)
}

// mostPerf bounds a file of results, in bytes. A file of all claims with a thousand seeds is smaller.
const mostPerf = 64 << 20

// readPerf reads a result of perf --json.
func readPerf(path string) (*suite.Result, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("perf: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > mostPerf {
		return nil, fmt.Errorf("perf: %s: want a file that perf --json wrote, of %d bytes at most", path, mostPerf)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("perf: %w", err)
	}
	var p suite.Result
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("perf: %s: %w; want what perf --json wrote", path, err)
	}
	switch {
	case p.Format != suite.FormatVersion:
		return nil, fmt.Errorf("perf: %s: format %d; this program reads %d", path, p.Format, suite.FormatVersion)
	case len(p.Claims) == 0:
		return nil, fmt.Errorf("perf: %s: no claims; want what perf --json wrote", path)
	}
	return &p, nil
}
