package lab

import (
	"context"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
)

// Bench is a bench of the guest that this process runs in. It adds a description of the guest to the evidence.
type Bench struct{ bench.Bench }

var (
	_ bench.Bench   = Bench{}
	_ bench.Checker = Bench{}
)

// Check implements bench.Checker.
func (b Bench) Check(job *bench.Job) error {
	if c, ok := b.Bench.(bench.Checker); ok {
		return c.Check(job)
	}
	return nil
}

// Run implements bench.Bench.
func (b Bench) Run(ctx context.Context, job *bench.Job) (*bench.Evidence, error) {
	order, err := inside()
	if err != nil || order == nil {
		return nil, fmt.Errorf("lab: not in a guest: %w", err)
	}
	before, idle := uptime()
	ev, err := b.Bench.Run(ctx, job)
	if ev == nil {
		return nil, err
	}
	ev.Environment = append(ev.Environment, order.Facts...)
	if order.Deterministic {
		now, nowIdle := uptime()
		ev.Environment = append(ev.Environment, [2]string{"guest time", (now - before).String()},
			// an instruction takes a nanosecond of guest time
			[2]string{"instructions", fmt.Sprintf("%.3g", float64((now-before)-(nowIdle-idle)))})
	}
	return ev, err
}
