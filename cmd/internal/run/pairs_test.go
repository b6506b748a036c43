package run

import (
	"errors"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/shorthand"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// inWords acts like the command run with the flags that change sets, without a run folder. It returns nil for a run
// that is refused as the user's mistake.
func inWords(t *testing.T, change func(w *shorthand.Words)) *model.Result {
	t.Helper()
	w := shorthand.Words{Impl: "gbn", Rate: "1G", RTT: "10ms", Jitter: "0s", Loss: "0", MTU: 1024, Message: "64KiB",
		Operation:  "write",
		Congestion: "none", QPs: 1, Depth: 128, CQMod: 1, Timeout: -1, Seed: 1}
	change(&w)
	s, err := w.Spec(nil, func(string) bool { return false })
	must(t, err)
	impls, err := registry.Ends(s)
	if fault.Of(err) == fault.User {
		return nil
	}
	must(t, err)
	r, err := Execute(t.Context(),
		Options{Spec: s, Bench: sim.Bench{}, Name: "sim", Impls: impls, Rules: rules.All(), Codec: CodecAuto})
	if errors.As(err, new(*bench.Unfit)) || errors.Is(err, bench.ErrUnsupported) {
		return nil
	}
	return r
}

// Two schemes at the two ends either complete all work or are refused. No pair hangs or panics, and no rule blames an
// end for the scheme of the other.
func TestPairsOfSchemes(t *testing.T) {
	t.Parallel()
	played := 0
	for _, a := range all.Implementations() {
		for _, b := range all.Implementations() {
			if a.Name == b.Name || a.NewBox != nil { // a middlebox declares the same as the end behind it so far
				continue
			}
			r := inWords(t, func(w *shorthand.Words) {
				w.Impl, w.Loss, w.Message, w.Count, w.Rate = a.Name+","+b.Name, "1%", "8KiB", 10, "100M"
			})
			if r == nil {
				continue // the pair is refused
			}
			played++
			complete := len(r.Warnings) == 0 && r.Messages >= 10
			spoken := false
			for _, w := range r.Warnings {
				spoken = spoken || strings.Contains(w, "undone") || strings.Contains(w, "never completed")
			}
			if r.Status != "PASS" || !complete && !spoken {
				t.Errorf("%s with %s: %s %s, %d messages, warnings %q", a.Name, b.Name, r.Status, r.Reason,
					r.Messages, r.Warnings)
			}
		}
	}
	if played < 60 {
		t.Errorf("%d pairs can be had, want 60 or more", played)
	}
}
