package model

import (
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
)

// Headline states in a line the outcome of the work: "96 of 100 requests done, 1 failed (RETRY_EXC_ERR), 3 flushed".
func Headline(w *metrics.Work) string {
	t := &w.Tally
	asked := t.Ordered
	if asked == 0 && !t.Endless {
		asked = t.Posted // the Spec is unknown
	}
	reported := t.Known == metrics.ByCompletions || t.Known == metrics.ByTool
	if reported && asked+t.Done+t.Failures() == 0 && !t.Endless {
		return "no requests to be done"
	}
	words := []string{done(t, asked)}
	if n := t.Failures(); n > 0 {
		words = append(words, quantity.Count(n)+" failed ("+statuses(t.Failed)+")")
	}
	if t.Flushed > 0 {
		words = append(words, quantity.Count(t.Flushed)+" flushed")
	}
	return strings.Join(words, ", ") + provisos[t.Known]
}

// provisos end the headline where no endpoint reported each request.
var provisos = map[metrics.Knowledge]string{metrics.ByTool: ", as the tool says",
	metrics.ByWire: ", as acknowledged on the wire"}

// done states the number of completed requests, of those asked for if that number is known.
func done(t *metrics.Tally, asked int64) string {
	untold := t.Known == metrics.ByNobody || t.Known == ""
	of := quantity.Plural(asked, "request", "requests")
	switch {
	case untold && asked == 0:
		return "unknown how many requests are done"
	case untold:
		return "unknown how many of " + of + " are done"
	case asked == 0:
		return quantity.Plural(t.Done, "request", "requests") + " done"
	}
	return quantity.Count(t.Done) + " of " + of + " done"
}

// statuses returns the status of all failures if there is only one, or the count of each.
func statuses(failed []metrics.Failure) string {
	if len(failed) == 1 {
		return failed[0].Status
	}
	var words []string
	for _, f := range failed {
		words = append(words, quantity.Count(f.Count)+" "+f.Status)
	}
	return strings.Join(words, ", ")
}
