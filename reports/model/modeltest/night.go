package modeltest

import (
	"github.com/rdma-gauntlet/gauntlet/perf/change"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Night returns a night with an entry in every field.
func Night() *model.Night {
	old, now := 5.0, 4.0
	s := history.Series{Name: "matrix irn random goodput", Bench: "sim", Class: history.Exact, Unit: "bit/s",
		Better: history.Up}
	before := change.Side{Night: "2026-11-23", Commit: "c1", Value: &old, Run: "a"}
	tonight := change.Side{Night: "2026-11-24", Commit: "c2", Value: &now, Run: "b"}
	return &model.Night{
		Format: 1, Version: "0.1.0", Tool: "c0", Command: "gauntlet night x.plan",
		Plan: "x.plan", Folder: "out", Store: "nights", File: "nights/x",
		Header: history.Header{Night: "2026-11-24", Started: "2026-11-24T01:00:00Z", Version: "0.1.0",
			Commit: "c2", Host: "lab3",
			Kernel: "6.12", Firmware: "16"},
		Status: "FAIL",
		Steps: []model.NightStep{
			{Command: "matrix --impl irn", Points: 4, Gaps: 1, Wall: 2},
			{Command: "perf", Trouble: "no memory"},
			{Command: "conform", Left: "the budget of 1m was used up"},
		},
		Failing: []model.NightFailure{{Series: "conform irn loss verdict", Word: "FAIL GBN-NAK-001", Run: "r"}},
		Notes:   []string{"nights/y: skipped: not a file of a store"},
		Changes: &change.Report{Night: "2026-11-24", Compared: 4, First: 1,
			Entries: []change.Entry{
				{Before: "c1", Now: "c2", Changes: []change.Change{
					{
						Series: s,
						Kind:   change.NewFailure,
						Before: change.Side{Word: "PASS"},
						Now:    change.Side{Word: "FAIL X-1"},
					},
					{
						Series:   s,
						Host:     "lab3",
						Kind:     change.Regressed,
						Before:   before,
						Now:      tonight,
						Relative: &stats.Estimate{Value: -0.2, Low: -0.2, High: -0.2},
						P:        1e-5,
					}}},
				{Segment: "kernel 6.1 → 6.12 on lab3", Series: []string{"a", "b"}}},
			Suspected: []change.Suspicion{
				{Series: s, Host: "lab3", Before: before, Now: tonight, Since: "2026-11-22", Score: -2},
			},
			Gaps: []change.Gap{{Series: "c", Host: "lab3", Status: "INVALID"}}},
	}
}

// Tracks returns the tracks of a store with a number and a verdict.
func Tracks() *model.Tracks {
	x := 5.0
	s := history.Series{
		Name:   "matrix irn random goodput",
		Bench:  "netns",
		Class:  history.Noisy,
		Unit:   "bit/s",
		Better: history.Up,
	}
	return &model.Tracks{Format: 1, Store: "nights", Nights: 2, Series: []model.TrackRow{
		{Series: s, Host: "lab3", Points: 2, Gaps: 1, Segments: 1, First: "2026-11-23", Last: "2026-11-24", Value: &x},
		{Series: s, Points: 1, Segments: 1, First: "2026-11-24", Last: "2026-11-24", Word: "FAIL X-1"}}}
}

// Bisection returns a search that left two commits.
func Bisection() *model.Bisection {
	return &model.Bisection{
		Format:  1,
		Command: "matrix",
		Good:    "c1",
		Bad:     "c4",
		Commits: 3,
		Series:  []string{"matrix irn random packets"},
		Runs:    3,
		Steps: []model.BisectionStep{
			{Commit: "c1", Value: "5"},
			{Commit: "c4", Value: "6"},
			{Commit: "c2", Trouble: "build: exit status 1"},
		},
		First: "c3",
		Last:  "c4",
		Title: "irn: send less",
	}
}
