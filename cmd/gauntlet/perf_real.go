package main

import (
	"context"
	"errors"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// real is the bench that measures class E besides virtual time; nil for none.
func (f *perfFlags) real(bar *progress) (*suite.Real, error) {
	if f.bench == "sim" {
		return nil, nil
	}
	b, err := findBench(f.bench, "")
	if err != nil {
		return nil, err
	}
	virtual := true
	return &suite.Real{Bench: f.bench, Cost: seconds,
		Run: func(ctx context.Context, s *scenario.Spec) (targets.Run, error) {
			if virtual { // these are the first
				virtual = false
				bar.restart()
			}
			impls, err := implementations(s)
			if err != nil {
				return targets.Run{}, err
			}
			r, err := numbers(ctx, run.Options{Spec: s, Bench: b, Name: f.bench, Impls: impls, Codec: run.CodecAuto, Link: f.link, Version: version(), Commit: commit()}, f.attempts)
			return targets.Run{Summary: r.Summary, Spec: s}, err
		},
		Progress: func(share float64, what string) { bar.show(share, f.bench+": "+what) }}, nil
}

// certificate is about how long a bench measures its idle link before and after a run, in seconds.
const certificate = 3

// seconds estimates how long a run takes in real time.
func seconds(s *scenario.Spec) float64 {
	length := s.For.Seconds()
	if rate := float64(s.Link.AB.Rate); length == 0 && rate > 0 {
		length = run.ExpectedPackets(s) * float64(8*s.QP[0].MTU) / rate
	}
	return length + certificate
}

// numbers makes a run for its numbers alone, again while its link is not what it should be, so many times in all. It keeps no
// folder: the captures of seconds at full rate are gigabytes. The result is that of the last attempt.
func numbers(ctx context.Context, o run.Options, attempts int) (*model.Result, error) {
	for attempt := 1; ; attempt++ {
		r, err := run.Execute(ctx, o)
		switch invalid := err == nil && r.Status == rule.Invalid.String(); {
		case !invalid:
			return r, err
		case attempt >= attempts || o.Name == "sim" || ctx.Err() != nil:
			return r, errors.New("INVALID: " + r.Reason)
		}
	}
}
