package link

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/child"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/plan"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/wire"
	"github.com/rdma-gauntlet/gauntlet/harness/merge"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/relay"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// relayStage is the relay between the two ports of a link.
type relayStage struct {
	site   *Site
	hop    *plan.Hop
	forged []merge.Forgery
	does   spec.Duplex
	faults []fault.Fault
	behind bool // netem or the injector acts after it
	child  *child.Child
	remote *relay.Remote
	log    *os.File   // the fate of each frame
	epoch  vtime.Time // when the run began
}

func (l *relayStage) open() error {
	log, path, err := l.site.Scratch("fates")
	if err != nil {
		return err
	}
	l.log = log
	setup, err := l.setup(path)
	if err != nil {
		return err
	}
	if l.child, err = l.site.Relay(); err != nil {
		return err
	}
	// After the relay was started and before the endpoints are: they inherit the processors of this process.
	if setup.Processor, err = l.site.Processor(); err != nil {
		return err
	}
	if setup.Processor != nil {
		l.site.Fact(l.hop.Named("processor of the relay"), fmt.Sprint(*setup.Processor))
	}
	return l.ask(func() error {
		l.remote, err = relay.Attach(l.child.Stdin, l.child.Stdout, setup)
		return err
	})
}

// ask calls what waits for an answer of the relay, which is killed when it gives none: a relay that hangs would
// otherwise hang the run.
func (l *relayStage) ask(wait func() error) error {
	return l.child.Within(child.Patience, func() error { return l.or(wait()) })
}

// stats asks for the counts of the phase so far.
func (l *relayStage) stats() (st relay.Stats, err error) {
	return st, l.ask(func() error {
		st, err = l.remote.Stats()
		return err
	})
}

// phase begins a phase of the link.
func (l *relayStage) phase(c relay.Command) error {
	return l.ask(func() error {
		_, err := l.remote.Phase(c)
		return err
	})
}

func (l *relayStage) close() error {
	if l.child == nil {
		return nil
	}
	return l.child.Close()
}

// or replaces an error of the relay's pipes by the relay's own last error.
func (l *relayStage) or(err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-l.child.Ended():
		return l.death()
	case <-time.After(time.Second):
		return err
	}
}

func (l *relayStage) ended() <-chan struct{} { return l.child.Ended() }

func (l *relayStage) death() error { return l.child.Death("ended in the middle of the run") }

// busy reports whether the relay holds frames.
func (l *relayStage) busy() (bool, error) {
	st, err := l.stats()
	return st.AB.InFlight+st.BA.InFlight > 0, err
}

// setup describes the link to the relay process, which keeps its log at a path.
func (l *relayStage) setup(log string) (relay.Setup, error) {
	dialect, err := json.Marshal(l.site.Spec.String())
	if err != nil {
		return relay.Setup{}, fmt.Errorf("netns: relay: %w", err)
	}
	setup := relay.Setup{Timebase: l.site.Base, A: l.site.Ports[trace.A], B: l.site.Ports[trace.B], Qdisc: l.behind,
		Link: l.does, Faults: l.faults,
		SeedAB: l.hop.Seeds[trace.A], SeedBA: l.hop.Seeds[trace.B],
		Dialect: dialect, Foreign: relay.Drop, Log: log, Realtime: true}
	for _, f := range l.forged {
		setup.Injections = append(setup.Injections, relay.Injection{From: wire.FaultSide(f.From),
			At: f.At.Sub(0), Frame: f.Raw})
	}
	return setup, nil
}

func (l *relayStage) delayOnly() error {
	return l.phase(relay.Command{Phase: relay.ProbePhase})
}

func (l *relayStage) impairAll(epoch vtime.Time) error {
	l.epoch = epoch
	return l.phase(relay.Command{Phase: relay.RunPhase, Epoch: epoch})
}

func (l *relayStage) report() (Report, error) {
	st, err := l.stats()
	if err != nil {
		return Report{}, err
	}
	r := Report{LateP99: st.Lateness.P99, LateMax: st.Lateness.Max, Overflow: st.LogDropped, Exact: true}
	for side, p := range []relay.PathStats{st.AB, st.BA} {
		r.Lost[side], r.Made[side] = p.Channel.Lost, p.Injected
		r.Damaged[side], r.Copied[side] = p.Channel.Corrupted, p.Channel.Copies
		r.Underway = r.Underway || p.InFlight > 0
		r.Overflow += p.Overflow + p.KernelDrops + p.Oversize
	}
	priority := "real-time"
	if !st.Realtime {
		priority = "ordinary, the kernel granted no other"
	}
	l.site.Fact(l.hop.Named("priority of the relay"), priority)
	return r, nil
}

// fates ends the relay and reads its log: the entries of every frame that the relay changed, dropped, copied or held
// back, and of all frames with the same bytes, because equal frames are distinguished by their order. A long run has
// many frames, but few of these.
func (l *relayStage) fates() ([]merge.LinkFate, error) {
	_ = l.child.Close() // the reason of its death, if any, is known
	eventful := map[uint64]bool{}
	err := l.each(func(r *relay.Record) {
		if r.Fate != relay.Delivered || r.Cause != "" {
			eventful[r.In] = true
		}
	})
	if err != nil {
		return nil, err
	}
	out := []merge.LinkFate{} // not nil: there is a log
	err = l.each(func(r *relay.Record) {
		if eventful[r.In] {
			out = append(out, fateOf(r, l.epoch, l.behind))
		}
	})
	return out, err
}

// each calls f with the log's record of every frame that an endpoint sent in the run.
func (l *relayStage) each(f func(*relay.Record)) error {
	if _, err := l.log.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("netns: relay: %w", err)
	}
	return relay.ReadLog(l.log, func(r relay.Record) error {
		if r.Fate != relay.Injected && r.At >= l.epoch {
			f(&r)
		}
		return nil
	})
}

// fateOf returns the entry of a frame for the merger. For a relay before another stage its time is that at which the
// frame was passed on.
func fateOf(r *relay.Record, epoch vtime.Time, before bool) merge.LinkFate {
	f := merge.LinkFate{At: r.At - epoch, Fate: trace.Delivered, Copies: r.Copies, Gap: r.Gap, Cause: r.Cause}
	if r.From == fault.B {
		f.From = trace.B
	}
	f.Key = merge.KeyOf(r.In, f.From)
	switch {
	case r.Fate == relay.Overflow:
		f.Fate, f.Cause = trace.Dropped, "relay overflow"
	case r.Fate != relay.Delivered:
		f.Fate = trace.Dropped
	case strings.HasPrefix(r.Cause, channel.Cause{Kind: channel.CorruptedAtRandom}.String()): // or by a script
		f.Fate = trace.Corrupted
	}
	if r.Out != 0 {
		f.Out = merge.KeyOf(r.Out, f.From)
	}
	if f.Fate == trace.Dropped {
		return f
	}
	if f.Due = r.Arrive - epoch; before {
		f.Left = f.Due
	}
	return f
}
