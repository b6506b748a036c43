package drive

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/drive/expect"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Work is one request as far as memory is concerned.
type Work = expect.Work

// verifier compares the memory of an endpoint with the expected effect of the requests.
type verifier struct {
	memory   *memory.Host
	qps      []qp
	layout   *layout
	script   *script
	spec     *scenario.Spec
	declares bool // the transport is unreliable: only bytes that the target declared are compared
	scratch  expect.Scratch
}

// verify is Endpoint.Verify without its reports.
func (v *verifier) verify(i int, peers []Work) (mismatch, guard int64, ok bool) {
	if v.memory.Load(Target(i), 1) == nil {
		return 0, 0, false
	}
	v.scratch.Reset()
	add := func(m *expect.Image) {
		if m != nil {
			a, b := m.Compare(v.memory.Load(m.Base, len(m.Want)))
			mismatch, guard = mismatch+a, guard+b
		}
	}
	side := v.layout.side
	own, other := v.replay(side, i, v.posted(i)), v.replay(side.Other(), i, peers)
	add(own.Image(expect.Source))
	if v.layout.reads {
		add(own.Image(expect.Land))
	}
	target := other.Image(expect.Target)
	if v.declares {
		target.OpenBut(v.qps[i].declared)
	}
	add(target)
	if !v.declares {
		add(v.inbox(i, other, peers))
	}
	return mismatch, guard, true
}

// replay executes the requests that side posted on connection i. Requests of this side are executed only if they fetch
// data, because only fetched data is compared.
func (v *verifier) replay(side trace.Side, i int, work []Work) *expect.Replay {
	l := newLayout(v.spec, side)
	r := expect.NewReplay(func(region expect.Region) expect.Image {
		base, owner, kind := l.source(i), side, sourceRegion
		switch region {
		case expect.Target:
			base, owner, kind = Target(i), side.Other(), targetRegion
		case expect.Land:
			base, kind = l.land(i), landRegion
		}
		m := expect.NewImage(base, l.size(), v.declares, &v.scratch)
		pattern(m.Want, v.spec.Seed, owner, i, kind)
		return m
	})
	if side != v.layout.side || expect.Fetches(work) {
		r.Run(work)
	}
	return r
}

// posted is Endpoint.Posted.
func (v *verifier) posted(i int) []Work {
	var out []Work
	for k := range v.qps[i].loads {
		out = append(out, v.layout.standing(i, &v.qps[i].loads[k])...)
	}
	for _, w := range v.script.posted {
		if w.qp == i {
			out = append(out, w.Work)
		}
	}
	return out
}

// standing returns the requests of a load whose effect is still visible. A later request for the same slot that is as
// long has written the same bytes to the same places.
func (l *layout) standing(i int, ld *load) []Work {
	first, varied := 0, ld.flows.Varied()
	if !varied {
		kept := l.slots
		if ld.Op.TakesReceive() {
			peer := newLayout(l.spec, l.side.Other())
			kept = max(kept, peer.inSlots)
		}
		first = max(0, ld.posted-int(kept))
	}
	var out []Work
	over := make([]uint32, l.slots) // per slot, the bytes that a later request has written
	for again := *ld; again.posted > first; {
		again.posted--
		w := Work{WR: l.request(i, &again), Done: again.posted < ld.done, Loop: true}
		slot := &over[uint64(again.posted)%l.slots]
		if varied && w.Done && w.WR.Len <= *slot {
			continue
		}
		if w.Done {
			*slot = w.WR.Len
		}
		out = append(out, w)
	}
	slices.Reverse(out)
	return out
}

// inbox returns the expected content of connection i's receives, nil when it is not known. The k-th message that takes
// a receive takes the k-th posted one, as long as all such messages come from one load or all from the script.
func (v *verifier) inbox(i int, peer *expect.Replay, work []Work) *expect.Image {
	l := v.layout
	var taking []Work
	for _, w := range work {
		if w.WR.Op.TakesReceive() {
			taking = append(taking, w)
		}
	}
	for _, w := range taking {
		if w.Loop != taking[0].Loop || w.WR.ID/perLoad != taking[0].WR.ID/perLoad || uint64(w.WR.Len) > l.inSlot {
			return nil
		}
	}
	if v.otherReceives(i) {
		return nil
	}
	m := expect.NewImage(l.inbox(i), l.inSlot*l.inSlots, false, &v.scratch)
	pattern(m.Want, v.spec.Seed, l.side, i, inboxRegion)
	for k, w := range taking {
		if w.Loop {
			k = int(w.WR.ID % perLoad) // taking holds the last messages only
		}
		if w.WR.Op != engine.OpWriteImm {
			m.Write(l.receive(i, k).VA, peer.Image(expect.Source), w.WR.LocalVA, &w)
		}
	}
	return &m
}

// otherReceives reports whether receives of connection i are scripted, or may be taken by injected packets.
func (v *verifier) otherReceives(i int) bool {
	side := v.layout.side
	return slices.ContainsFunc(v.spec.Posts, func(p scenario.Post) bool {
		return p.Receive && p.QP == i && p.From == side
	}) ||
		slices.ContainsFunc(v.spec.Injections, func(in scenario.Injection) bool { return in.QP == i && in.To == side })
}

// declare records that bytes of connection i's target region are valid.
func (v *verifier) declare(i int, ev *engine.Event) {
	q, size := &v.qps[i], v.layout.size()
	if off := ev.VA - Target(i); off <= size && uint64(ev.Len) <= size-off && v.memory.Load(Target(i), 1) != nil {
		if q.declared == nil {
			q.declared = expect.NewBits(size)
		}
		q.declared.Set(off, off+uint64(ev.Len))
	}
}
