// Package enginetest is the test suite that every engine.Implementation must pass before it is measured or judged: the
// contract of package engine, and the guarantees of a reliable transport to its application on any network.
//
// The suite knows no protocol. It sees packets as text, events, memory and timers; the order of a scheme's packets is
// for its own tests. Every check is a function that returns an error, so that the tests of this package can show that
// it fails on an engine with the fault it looks for.
package enginetest

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// Options adapt the suite to an implementation.
type Options struct {
	// QP changes the attributes of both ends before they are built: parameters of the scheme, another MTU or timer. The
	// link has 5 us of delay each way and takes a packet every 100 ns.
	QP func(*engine.QP)

	// Ops are the operations that the implementation supports; nil means all.
	Ops []engine.Op

	// ReadStart is the first PSN of the READ responses that an end sends, for schemes that number them apart; nil means
	// its peer's SendPSN.
	ReadStart func(engine.QP) psn.PSN
}

// allOps returns the operations of a complete RC transport.
func allOps() []engine.Op {
	return []engine.Op{engine.OpWrite, engine.OpSend, engine.OpRead, engine.OpWriteImm, engine.OpSendImm,
		engine.OpFetchAdd, engine.OpSendInv, engine.OpCompareSwap}
}

func (o *Options) ops() []engine.Op {
	if o.Ops == nil {
		return allOps()
	}
	return o.Ops
}

// check is one property of an implementation; run returns how it is violated.
type check struct {
	name string
	run  func(engine.Implementation, Options) error
	long bool // -short leaves it out
}

func checks() []check {
	return []check{
		{"clean", checkClean, false},
		{"progress", checkProgress, true},
		{"determinism", checkDeterminism, false},
		{"wrap", checkWrap, false},
		{"at_most_once", checkAtMostOnce, false},
		{"conservation", checkConservation, false},
		{"bounded", checkBounded, false},
		{"timers_and_polls", checkPurity, false},
		{"garbage", checkGarbage, true},
		{"allocations", checkAllocations, false},
	}
}

// Run runs the suite as subtests of t.
func Run(t *testing.T, impl engine.Implementation, opts Options) {
	t.Helper()
	for _, c := range checks() {
		if c.long && testing.Short() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if err := c.run(impl, opts); err != nil {
				t.Error(err)
			}
		})
	}
}
