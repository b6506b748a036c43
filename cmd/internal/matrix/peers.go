package matrix

import (
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Peers returns a row for each pair of ends, each end with itself included: the first as requester, the second as
// responder. Unfit returns the reason why a pair cannot run, "" if it can.
func Peers(ends []Row, unfit func(requester, responder *engine.Implementation) string) []Row {
	var rows []Row
	for _, a := range ends {
		for _, b := range ends {
			r := Row{Name: a.Name + "+" + b.Name, Folder: a.folder() + "+" + b.folder(),
				Ends:  [2]string{a.Name, b.Name},
				Impls: [2]engine.Implementation{a.Impls[0], b.Impls[0]}, Broken: a.Broken}
			if b.Broken != nil {
				r.Broken = b.Broken
			}
			if r.Broken == nil {
				r.Unfit = unfit(&r.Impls[0], &r.Impls[1])
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// folder returns the name of the row in paths.
func (r *Row) folder() string {
	if r.Folder != "" {
		return r.Folder
	}
	return r.Name
}

// mixed returns a note that the two ends recover in different ways, "" if they recover in the same way. Two programs
// whose recovery is "other" count as different, because nobody knows whether it is the same.
func (r *Row) mixed() string {
	a, b := r.Impls[0].Recover, r.Impls[1].Recover
	if a == b && (a != contract.Other || r.Impls[0].Name == r.Impls[1].Name) {
		return ""
	}
	return fmt.Sprintf("recovery %s of the requester meets %s of the responder", a, b)
}

// meet sets the status of a run of two peers by the work done, which rules do not judge: without any traffic no rule is
// broken. When the two ends recover in different ways, undone work was to be expected and is nobody's fault: the cell
// is then NOT-APPLICABLE.
func meet(c *model.Cell, row *Row, s *scenario.Spec) {
	mixed := row.mixed()
	undone := ""
	if wanted := posted(s); wanted > 0 && c.Messages < wanted &&
		!slices.Contains(row.Impls[0].Features, engine.Unreliable) {
		undone = fmt.Sprintf("%d of %d messages completed", c.Messages, wanted)
	}
	if undone == "" && c.Status == rule.Inconclusive.String() {
		undone = c.Reason
	}
	switch {
	case c.Status == rule.Fail.String():
		c.Reason = join(mixed, c.Reason)
	case c.Status != rule.Pass.String() && c.Status != rule.Inconclusive.String():
	case undone == "":
		c.Reason = mixed
	case mixed != "":
		c.Status, c.Reason = rule.NotApplicable.String(), join(mixed, undone)
	default:
		c.Status, c.Reason = rule.Inconclusive.String(), "no rule was broken, but "+undone
	}
}

// posted returns the number of messages of a Spec's loads, 0 when a load has no limit.
func posted(s *scenario.Spec) (n int64) {
	for _, l := range s.Loads {
		if l.Count == 0 {
			return 0
		}
		n += int64(l.Count) * int64(s.QPs)
	}
	return n
}

// join joins two remarks by a colon, unless one of them is "".
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ": " + b
}
