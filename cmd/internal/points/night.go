package points

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
)

// Told holds the values given by the user, which replace those stated in results or the defaults.
type Told struct {
	Night, Commit, Host, Kernel, Firmware string
	Run                                   string // name of the series of a single run
	// class of points in real time: exact when the bench counts instructions
	Class     string
	Reference string // path of a result of the pinned build, measured beside
}

// Gather makes one night from several results.
func Gather(paths []string, t Told) (*history.Night, error) {
	if t.Class != "" && t.Class != string(history.Exact) && t.Class != string(history.Noisy) {
		return nil, fmt.Errorf("--class %s: want exact or noisy", quote.Line(t.Class, quote.Name))
	}
	whole := &history.Night{}
	for _, path := range paths {
		n, err := Read(path, t.Run)
		if err != nil {
			return nil, err
		}
		if err := together(&whole.Header, &n.Header, path, t.Commit); err != nil {
			return nil, err
		}
		whole.Points = append(whole.Points, n.Points...)
	}
	if t.Reference != "" {
		ref, err := Read(t.Reference, t.Run)
		if err != nil {
			return nil, err
		}
		Refer(whole.Points, ref.Points)
	}
	t.Finish(whole)
	return whole, t.check(whole)
}

// together merges the header of a result into that of the night.
func together(all, one *history.Header, path, commit string) error {
	if commit == "" && all.Commit != "" && one.Commit != "" && all.Commit != one.Commit {
		return fmt.Errorf(
			"store: %s: of commit %.12s, and the results before it of %.12s; add them one by one, or give --commit",
			quote.Line(path, quote.Sentence),
			one.Commit,
			all.Commit,
		)
	}
	if all.Started == "" || one.Started != "" && one.Started < all.Started {
		all.Started = one.Started
	}
	all.Commit, all.Version = cmp.Or(all.Commit, one.Commit), cmp.Or(all.Version, one.Version)
	all.Kernel, all.Firmware = cmp.Or(all.Kernel, one.Kernel), cmp.Or(all.Firmware, one.Firmware)
	return nil
}

// Refer adds to each noisy point the values of the same series of the pinned build.
func Refer(list, reference []history.Point) {
	values := map[history.Series][]float64{}
	for i := range reference {
		values[reference[i].Series] = append(values[reference[i].Series], reference[i].Values...)
	}
	for i := range list {
		if p := &list[i]; p.Class == history.Noisy && !p.Gap() {
			p.Reference = values[p.Series]
		}
	}
}

// Finish fills in the fields that the results do not state.
func (t *Told) Finish(n *history.Night) {
	h := &n.Header
	h.Commit = cmp.Or(t.Commit, h.Commit, build.Commit())
	h.Version = cmp.Or(h.Version, build.Version())
	h.Night = cmp.Or(t.Night, fmt.Sprintf("%.10s", h.Started))
	h.Host, h.Firmware = cmp.Or(t.Host, Host()), cmp.Or(t.Firmware, h.Firmware)
	real := false
	for i := range n.Points {
		p := &n.Points[i]
		if p.Bench == "sim" {
			continue
		}
		real = true
		if t.Class != "" {
			p.Class = history.Class(t.Class)
		}
	}
	if h.Kernel = cmp.Or(t.Kernel, h.Kernel); h.Kernel == "" && real {
		h.Kernel = release()
	}
}

// check validates the fields that identify the night in a store.
func (t *Told) check(n *history.Night) error {
	if _, err := time.Parse(time.RFC3339, n.Started); err != nil {
		return fmt.Errorf("store: started %s: want a time as RFC 3339 has it", quote.Line(n.Started, quote.Name))
	}
	for name, text := range map[string]string{
		"commit": n.Commit, "host": n.Host, "kernel": n.Kernel, "firmware": n.Firmware,
	} {
		if !quote.Clean(text) || len(text) > quote.Name {
			return fmt.Errorf(
				"store: %s %s: want a line of at most %d characters",
				name,
				quote.Line(text, quote.Name),
				quote.Name,
			)
		}
	}
	return nil
}

// Host returns the name of this machine without its domain.
func Host() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "unknown"
	}
	short, _, _ := strings.Cut(name, ".")
	return short
}

// Backwards returns a note when a night is older than the newest of the same host in a store, "" when it is not: a
// clock went back, or results were added late. Nothing is lost: a store sorts by night.
func Backwards(n *history.Night, before []history.Night) string {
	newest := ""
	for i := range before {
		if before[i].Host == n.Host && before[i].Night > newest {
			newest = before[i].Night
		}
	}
	if newest <= n.Night {
		return ""
	}
	return fmt.Sprintf("the night %s of %s is older than %s, which is in the store: added late, or a clock went back",
		n.Night, n.Host, newest)
}

// release returns the release of the running kernel, "" if the system does not report it.
func release() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
