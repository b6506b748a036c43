package enginetest

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// requests is the number of work requests of a run: every operation with every length.
const requests = 56

// starts are the first PSNs of every repeated run: zero, before the half of the number space, and before its end.
var starts = [...]psn.PSN{0, 1<<23 - 2, 1<<24 - 3}

// noise is a wire that loses, duplicates and delays packets at random.
func noise(seed uint64, loss, dup, reorder float64) func(int, *roce.Packet) fate {
	rng := rand.New(rand.NewPCG(seed, 0))
	return func(int, *roce.Packet) fate {
		var f fate
		f.drop, f.twice = rng.Float64() < loss, rng.Float64() < dup
		if rng.Float64() < reorder {
			f.extra = vtime.Duration(1+rng.IntN(20)) * gap
		}
		return f
	}
}

// transfer runs the mixed workload over a wire and returns the pair afterwards; prepare may change the pair before.
func transfer(impl engine.Implementation, opts Options, start psn.PSN, prepare func(*pair)) (*pair, error) {
	d, err := newPair(impl, opts, start)
	if err != nil {
		return nil, err
	}
	wrs := mixed(opts.ops(), d.ends[0].qp.MTU, requests)
	if err := d.load(wrs); err != nil {
		return nil, err
	}
	want := d.expected(wrs)
	prepare(d)
	if err := d.run(); err != nil {
		return nil, err
	}
	if err := d.checkCompletions(wrs); err != nil {
		return nil, err
	}
	return d, d.checkImages(wrs, want)
}

// checkClean runs over a perfect wire.
func checkClean(impl engine.Implementation, opts Options) error {
	_, err := transfer(impl, opts, 0, func(*pair) {})
	return err
}

// checkProgress runs over bad wires: every posted request must complete with the right memory.
func checkProgress(impl engine.Implementation, opts Options) error {
	for seed := range uint64(24) {
		wire := [...][3]float64{{0.01, 0, 0}, {0.1, 0, 0}, {0, 0.2, 0}, {0, 0, 0.2}, {0.05, 0.05, 0.05},
			{0.2, 0.1, 0.3}}[seed%6]
		_, err := transfer(impl, opts, starts[seed%3], func(d *pair) {
			d.fate = noise(seed, wire[0], wire[1], wire[2])
		})
		if err != nil {
			return fmt.Errorf("seed %d, loss %g, duplication %g, reordering %g: %w", seed, wire[0],
				wire[1], wire[2], err)
		}
	}
	return nil
}

// checkDeterminism requires that the same input gives the same packets and events, byte by byte.
func checkDeterminism(impl engine.Implementation, opts Options) error {
	return sameLog(impl, opts, "the same run twice", [2]psn.PSN{}, [2]func(*pair){})
}

// checkWrap requires that runs with different start PSNs are equal with relative PSNs.
func checkWrap(impl engine.Implementation, opts Options) error {
	for _, start := range starts[1:] {
		if err := sameLog(impl, opts, fmt.Sprintf("start PSNs 0 and %d", start), [2]psn.PSN{0, start},
			[2]func(*pair){}); err != nil {
			return err
		}
	}
	return nil
}

// checkPurity requires that early timers and refused polls have no effect, and that a handled timer is not due again.
func checkPurity(impl engine.Implementation, opts Options) error {
	return sameLog(impl, opts, "with early timers and repeated polls", [2]psn.PSN{},
		[2]func(*pair){nil, func(d *pair) { d.nagging = true }})
}

// sameLog makes two runs over the same noisy wire and compares their logs.
func sameLog(impl engine.Implementation, opts Options, what string, start [2]psn.PSN, prepare [2]func(*pair)) error {
	var logs [2][]byte
	for i := range logs {
		d, err := transfer(impl, opts, start[i], func(d *pair) {
			d.fate = noise(1, 0.05, 0.02, 0.05)
			if prepare[i] != nil {
				prepare[i](d)
			}
		})
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		logs[i] = d.log
	}
	return firstDifference(what, logs[0], logs[1])
}

// firstDifference quotes the first line in which two logs differ.
func firstDifference(what string, a, b []byte) error {
	la, lb := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(la), len(lb)) {
		if !bytes.Equal(la[i], lb[i]) {
			return fmt.Errorf("%s: line %d is %q and %q", what, i+1, la[i], lb[i])
		}
	}
	if len(la) != len(lb) {
		return fmt.Errorf("%s: %d and %d lines", what, len(la), len(lb))
	}
	return nil
}

// checkAtMostOnce requires that every placed byte is final: a duplicate or late packet may be placed again only if that
// makes no difference. The FETCH_ADD cell, which changes by design, is checked by its results.
func checkAtMostOnce(impl engine.Implementation, opts Options) error {
	for seed := range uint64(6) {
		var wrong error
		_, err := transfer(impl, opts, starts[seed%3], func(d *pair) {
			d.fate = noise(seed, 0.1, 0.2, 0.2)
			d.watch(&wrong)
		})
		if err == nil {
			err = wrong
		}
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	return nil
}

// watch checks each placement at both ends against the final images, and stores the last difference in wrong.
func (d *pair) watch(wrong *error) {
	want := d.expected(d.posts)
	ranges := []struct {
		side int
		base uint64
		want []byte
	}{{0, localBase, want.local}, {1, remoteBase, want.remote}, {1, receiveBase, want.receive}}
	for side, e := range d.ends {
		e.mem.Watch = func(va uint64, data []byte, n int) {
			for _, r := range ranges {
				if off := va - r.base; r.side == side && off < uint64(len(r.want)) && !bytes.Equal(data,
					r.want[off:off+uint64(n)]) {
					*wrong = fmt.Errorf("end %d places %d bytes at %#x that are not the message's", side, n, va)
				}
			}
		}
	}
}
