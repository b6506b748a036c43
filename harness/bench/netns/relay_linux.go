package netns

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/wire"
	"github.com/rdma-gauntlet/gauntlet/harness/merge"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/relay"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// relayStage is the relay between the two ports of a leg.
type relayStage struct {
	*session
	*leg
	does   spec.Duplex // beside the faults of the leg
	qdisc  bool        // netem acts behind it
	child  *child
	remote *relay.Remote
	log    *os.File // what became of each frame
}

func (l *relayStage) open() error {
	var err error
	if l.log, err = l.scratch("fates"); err != nil {
		return err
	}
	setup, err := l.setup()
	if err != nil {
		return err
	}
	if l.child, err = l.bench.spawn(l.topology, l.topology.M, "relay"); err != nil {
		return err
	}
	l.later(l.child.close)
	// After the relay was started and before the endpoints are: they inherit the processors of this process.
	if setup.Processor, err = l.reserve(); err != nil {
		return err
	}
	if setup.Processor != nil {
		l.fact(l.named("processor of the relay"), fmt.Sprint(*setup.Processor))
	}
	l.remote, err = relay.Attach(l.child.Stdin, l.child.Stdout, setup)
	return l.or(err)
}

// or prefers the relay's own last words to what its pipes say.
func (l *relayStage) or(err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-l.child.ended:
		return l.death()
	case <-time.After(time.Second):
		return err
	}
}

func (l *relayStage) ended() <-chan struct{} { return l.child.ended }

func (l *relayStage) death() error { return l.child.death("ended in the middle of the run") }

// busy reports whether the relay holds frames.
func (l *relayStage) busy() (bool, error) {
	st, err := l.remote.Stats()
	return st.AB.InFlight+st.BA.InFlight > 0, l.or(err)
}

// setup describes the link to the relay process.
func (l *relayStage) setup() (relay.Setup, error) {
	s := l.job.Spec
	dialect, err := json.Marshal(s.String())
	if err != nil {
		return relay.Setup{}, fmt.Errorf("netns: relay: %w", err)
	}
	setup := relay.Setup{Start: l.base, A: l.ports[trace.A], B: l.ports[trace.B], Qdisc: l.qdisc, Link: l.does, Faults: l.faults,
		SeedAB: l.seeds[trace.A], SeedBA: l.seeds[trace.B],
		Dialect: dialect, Foreign: relay.Drop, Log: reachable(l.log), Realtime: true}
	for _, in := range s.Injections {
		if !l.injects(in.To) {
			continue
		}
		frame, err := wire.Craft(s, in)
		if err != nil {
			return setup, err
		}
		setup.Injections = append(setup.Injections, relay.Injection{From: wire.FaultSide(in.To.Other()), At: in.At, Frame: frame})
		l.forged = append(l.forged, merge.Forgery{At: vtime.Time(0).Add(in.At), From: in.To.Other(), Raw: frame})
	}
	return setup, nil
}

func (l *relayStage) quiet() error {
	_, err := l.remote.Phase(relay.Command{Phase: relay.ProbePhase})
	return l.or(err)
}

func (l *relayStage) loud(epoch vtime.Time) error {
	_, err := l.remote.Phase(relay.Command{Phase: relay.RunPhase, Epoch: epoch})
	return l.or(err)
}

func (l *relayStage) report() (linkReport, error) {
	st, err := l.remote.Stats()
	if err != nil {
		return linkReport{}, l.or(err)
	}
	r := linkReport{LateP99: st.Lateness.P99, LateMax: st.Lateness.Max, Overflow: st.LogDropped, Exact: true}
	for side, p := range []relay.PathStats{st.AB, st.BA} {
		r.Lost[side], r.Made[side] = p.Channel.Lost, p.Injected
		r.Overflow += p.Overflow + p.KernelDrops + p.Oversize
	}
	priority := "real-time"
	if !st.Realtime {
		priority = "ordinary, the kernel granted no other"
	}
	l.fact(l.named("priority of the relay"), priority)
	return r, nil
}

// fates ends the relay and reads its log.
func (l *relayStage) fates() ([]merge.LinkFate, error) {
	_ = l.child.close() // why it died, if it did, is known
	if _, err := l.log.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("netns: relay: %w", err)
	}
	out := []merge.LinkFate{} // not nil: there is a log
	err := relay.ReadLog(l.log, func(r relay.Record) error {
		if r.Fate == relay.Delivered && r.Cause == "" || r.Fate == relay.Injected || r.At < l.epoch {
			return nil
		}
		f := fateOf(r, l.epoch)
		if l.qdisc && !f.Lost {
			f.Left = r.Arrive - l.epoch // into the stage behind
		}
		out = append(out, f)
		return nil
	})
	return out, err
}

func fateOf(r relay.Record, epoch vtime.Time) merge.LinkFate {
	f := merge.LinkFate{At: r.At - epoch, PSN: psn.PSN(r.PSN), Lost: r.Fate != relay.Delivered, Cause: r.Cause}
	if r.Fate == relay.Overflow {
		f.Cause = "relay overflow"
	}
	if r.From == fault.B {
		f.From = trace.B
	}
	known := false
	if f.Opcode, known = roce.ParseName(r.Type); !known {
		f.Opcode = roce.UDP // named after the segment in it, see iwarp.Kind
	}
	return f
}
