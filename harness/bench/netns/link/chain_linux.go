package link

import (
	"cmp"
	"os"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/child"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/plan"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/wire"
	"github.com/rdma-gauntlet/gauntlet/harness/merge"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// Chain makes the link of a hop during a run: its stages, in the order in which a frame passes them.
type Chain struct {
	stages []stage
	forged []merge.Forgery
}

// Site is the place between the two ports of a link, as the stages need it.
type Site struct {
	Spec      *scenario.Spec
	Namespace int               // descriptor of the namespace of the ports
	Ports     [2]string         // by side
	Base      packetio.Timebase // time of the bench
	Aside     bool              // the ports also carry frames that the taps leave out, such as those of RDMA CM

	Relay func() (*child.Child, error) // starts a relay
	// reserves a processor for relays; nil when there is none to spare
	Processor func() (*int, error)
	// Scratch creates a file, and returns the path by which a relay can open it.
	Scratch func(what string) (*os.File, string, error)
	Fact    func(name, value string) // adds a fact to the report
}

// Open makes the link of a hop. The LAN of a middlebox is always the relay's. The caller closes the chain.
func Open(site *Site, h *plan.Hop, c Choice) (*Chain, error) {
	forged, err := forge(site.Spec, h)
	if err != nil {
		return nil, err
	}
	chain := &Chain{stages: stages(site, h, forged, c), forged: forged}
	if err := chain.each(stage.open); err != nil {
		_ = chain.Close() // its error follows from the first
		return nil, err
	}
	return chain, nil
}

// stages returns the stages of a hop: either the relay makes the whole link, or the kernel does as much as it can.
// Impairments that netem lacks are made before it by the injector, or by a relay, in the order in which impairments
// act; without a relay, a bridge forwards the frames.
func stages(site *Site, h *plan.Hop, forged []merge.Forgery, c Choice) []stage {
	switch {
	case h.Part == trace.LANHop || !c.Netem && !c.Injector:
		return []stage{&relayStage{site: site, hop: h, forged: forged, does: h.Link, faults: h.Faults}}
	case c.Injector:
		return injected(site, h, forged, c)
	}
	before, behind := divide(h.Link)
	kernel := &netemStage{site: site, seeds: h.Seeds, does: behind}
	if c.Alone {
		return []stage{kernel}
	}
	return []stage{&relayStage{site: site, hop: h, forged: forged, does: before,
		faults: h.Faults, behind: true}, kernel}
}

// injected returns the stages of a hop whose faults and losses the injector makes. Netem after it, or a relay before
// it, makes the rest; crafted packets always need a relay, and bypass the stages after it.
func injected(site *Site, h *plan.Hop, forged []merge.Forgery, c Choice) (list []stage) {
	losses, rest := lossless(h.Link)
	relayed := !c.Alone
	if relayed {
		r := &relayStage{site: site, hop: h, forged: forged, does: rest, behind: true}
		if c.Netem {
			r.does = losing(spec.Loss{}, spec.Loss{})
		}
		list = append(list, r)
	}
	list = append(list, &injectorStage{site: site, hop: h, does: losses, every: !relayed && !site.Aside,
		before: c.Netem})
	if c.Netem {
		list = append(list, &netemStage{site: site, seeds: h.Seeds, does: rest})
	}
	return list
}

// forge builds the crafted frames that enter on a hop.
func forge(sp *scenario.Spec, h *plan.Hop) (list []merge.Forgery, err error) {
	for _, in := range h.Injections(sp) {
		frame, err := wire.Craft(sp, in)
		if err != nil {
			return nil, err
		}
		list = append(list, merge.Forgery{At: vtime.Time(0).Add(in.At), From: in.To.Other(), Raw: frame})
	}
	return list, nil
}

// each calls f with every stage until one fails.
func (c *Chain) each(f func(stage) error) error {
	for _, st := range c.stages {
		if err := f(st); err != nil {
			return err
		}
	}
	return nil
}

// Forged are the crafted frames that the link puts on the hop.
func (c *Chain) Forged() []merge.Forgery { return c.forged }

// Quiet restricts the stages to rate and delay, so that measuring consumes no draws.
func (c *Chain) Quiet() error { return c.each(stage.delayOnly) }

// Close closes the stages. A second call does nothing.
func (c *Chain) Close() (first error) {
	for _, st := range slices.Backward(c.stages) {
		first = cmp.Or(first, st.close())
	}
	return first
}

// Watch calls f with every stage that can die: ended is closed when it has died, and why then returns the reason.
func (c *Chain) Watch(f func(ended <-chan struct{}, why func() error)) {
	for _, st := range c.stages {
		if ended := st.ended(); ended != nil {
			f(ended, st.death)
		}
	}
}

// Loud does everything that the link is to do, from fresh random streams. The run begins at epoch.
func (c *Chain) Loud(epoch vtime.Time) error {
	return c.each(func(st stage) error { return st.impairAll(epoch) })
}

// Busy reports whether a stage holds packets and knows it.
func (c *Chain) Busy() (busy bool, err error) {
	err = c.each(func(st stage) error {
		some, err := st.busy()
		busy = busy || some
		return err
	})
	return busy, err
}

// Report adds up the reports of the stages. A loss is counted exactly when every stage counts its own.
func (c *Chain) Report() (sum Report, err error) {
	sum.Exact = true
	err = c.each(func(st stage) error {
		r, err := st.report()
		sum.LateP99, sum.LateMax = max(sum.LateP99, r.LateP99), max(sum.LateMax, r.LateMax)
		sum.Overflow, sum.Exact = sum.Overflow+r.Overflow, sum.Exact && r.Exact
		for side := range sum.Lost {
			sum.Lost[side], sum.Made[side] = sum.Lost[side]+r.Lost[side], sum.Made[side]+r.Made[side]
			sum.Damaged[side], sum.Copied[side] = sum.Damaged[side]+r.Damaged[side], sum.Copied[side]+r.Copied[side]
		}
		for side := range sum.Tallies {
			sum.Tallies[side] = append(sum.Tallies[side], r.Tallies[side]...)
		}
		sum.Underway = sum.Underway || r.Underway
		return err
	})
	return sum, err
}

// Fates ends the link and joins the logs of its stages. whole means that all stages keep a log, so that a packet in no
// log has arrived.
func (c *Chain) Fates() (list []merge.LinkFate, whole bool, err error) {
	list, whole = []merge.LinkFate{}, true
	err = c.each(func(st stage) error {
		f, err := st.fates()
		list, whole = join(list, f), whole && f != nil
		return err
	})
	return list, whole, err
}

// join appends the log of a stage to the log of the stages before it. A frame in both has one entry, that of the first
// log with the effects of the second added: frames with the same bytes keep their order between the stages, and a log
// contains either all of them or none.
func join(first, second []merge.LinkFate) []merge.LinkFate {
	left := map[uint64][]int{} // indexes in second, by content
	for i := range second {
		left[second[i].Key] = append(left[second[i].Key], i)
	}
	named := map[int]bool{}
	for i := range first {
		e := &first[i]
		places := left[cmp.Or(e.Out, e.Key)]
		if e.Fate == trace.Dropped || len(places) == 0 {
			continue
		}
		left[cmp.Or(e.Out, e.Key)], named[places[0]] = places[1:], true
		then := second[places[0]]
		e.Due, e.Left, e.Copies, e.Gap = then.Due, then.Left, e.Copies+then.Copies, then.Gap
		if then.Cause != "" {
			e.Fate, e.Cause, e.Out = then.Fate, then.Cause, cmp.Or(then.Out, e.Out)
		}
	}
	for i := range second {
		if !named[i] {
			first = append(first, second[i])
		}
	}
	return first
}
