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
)

// Chain is what makes the link of a hop during a run: its stages, in the order in which a frame meets them.
type Chain struct {
	stages []stage
	forged []merge.Forgery
}

// Site is the place between the two ports of a link, as the stages need it.
type Site struct {
	Spec      *scenario.Spec
	Namespace int               // descriptor of the namespace of the ports
	Ports     [2]string         // by side
	Base      packetio.Timebase // of the bench

	Relay func() (*child.Child, error) // starts a relay
	// reserves a processor for relays; nil when there is none to spare
	Processor func() (*int, error)
	Scratch   func(what string) (*os.File, string, error) // makes a file, and says by which path a relay can open it
	Fact      func(name, value string)                    // notes something for the report
}

// Open makes the link of a hop. The LAN of a box is always the relay's. The caller closes the chain.
func Open(site *Site, h *plan.Hop, c Choice) (*Chain, error) {
	forged, err := forge(site.Spec, h)
	if err != nil {
		return nil, err
	}
	chain := &Chain{stages: stages(site, h, forged, c.Netem), forged: forged}
	if err := chain.each(stage.open); err != nil {
		_ = chain.Close() // what it says follows from the first error
		return nil, err
	}
	return chain, nil
}

// stages makes the stages of a hop: all that the link does is the relay's, or netem does what it can. What it cannot,
// the relay does before it, in the order in which impairments act; without any, a bridge carries the frames.
func stages(site *Site, h *plan.Hop, forged []merge.Forgery, netem bool) []stage {
	if !netem || h.Part == trace.LANHop {
		return []stage{&relayStage{site: site, hop: h, forged: forged, does: h.Link}}
	}
	before, behind := divide(h.Link)
	kernel := &netemStage{site: site, seeds: h.Seeds, does: behind}
	if len(beyondNetem(h, site.Spec)) == 0 {
		return []stage{kernel}
	}
	return []stage{&relayStage{site: site, hop: h, forged: forged, does: before, qdisc: true}, kernel}
}

// forge makes the crafted frames that enter on a hop.
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

// Quiet leaves rate and delay only, so that measuring consumes no draws.
func (c *Chain) Quiet() error { return c.each(stage.quiet) }

// Close ends the stages. A second call does nothing.
func (c *Chain) Close() (first error) {
	for _, st := range slices.Backward(c.stages) {
		first = cmp.Or(first, st.close())
	}
	return first
}

// Watch calls f with every stage that can die: ended is closed when it has, and why says then what it died of.
func (c *Chain) Watch(f func(ended <-chan struct{}, why func() error)) {
	for _, st := range c.stages {
		if ended := st.ended(); ended != nil {
			f(ended, st.death)
		}
	}
}

// Loud does everything that the link is to do, from fresh random streams. The run begins at epoch.
func (c *Chain) Loud(epoch vtime.Time) error {
	return c.each(func(st stage) error { return st.loud(epoch) })
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

// Report adds up what the stages say. A loss is counted exactly when every stage counts its own.
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
		sum.Underway = sum.Underway || r.Underway
		return err
	})
	return sum, err
}

// Fates ends the link and puts the logs of its stages together. Whole says that all keep one, so that what no log names
// has arrived.
func (c *Chain) Fates() (list []merge.LinkFate, whole bool, err error) {
	list, whole = []merge.LinkFate{}, true
	err = c.each(func(st stage) error {
		f, err := st.fates()
		list, whole = append(list, f...), whole && f != nil
		return err
	})
	return list, whole, err
}
