package link

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/child"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/plan"
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

// relayStage is the relay between the two ports of a link.
type relayStage struct {
	site   *Site
	hop    *plan.Hop
	forged []merge.Forgery
	does   spec.Duplex // beside the faults of the hop
	qdisc  bool        // netem acts behind it
	child  *child.Child
	remote *relay.Remote
	log    *os.File   // what became of each frame
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
	l.remote, err = relay.Attach(l.child.Stdin, l.child.Stdout, setup)
	return l.or(err)
}

func (l *relayStage) close() error {
	if l.child == nil {
		return nil
	}
	return l.child.Close()
}

// or prefers the relay's own last words to what its pipes say.
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
	st, err := l.remote.Stats()
	return st.AB.InFlight+st.BA.InFlight > 0, l.or(err)
}

// setup describes the link to the relay process, which keeps its log at a path.
func (l *relayStage) setup(log string) (relay.Setup, error) {
	dialect, err := json.Marshal(l.site.Spec.String())
	if err != nil {
		return relay.Setup{}, fmt.Errorf("netns: relay: %w", err)
	}
	setup := relay.Setup{Start: l.site.Base, A: l.site.Ports[trace.A], B: l.site.Ports[trace.B], Qdisc: l.qdisc, Link: l.does, Faults: l.hop.Faults,
		SeedAB: l.hop.Seeds[trace.A], SeedBA: l.hop.Seeds[trace.B],
		Dialect: dialect, Foreign: relay.Drop, Log: log, Realtime: true}
	for _, f := range l.forged {
		setup.Injections = append(setup.Injections, relay.Injection{From: wire.FaultSide(f.From), At: f.At.Sub(0), Frame: f.Raw})
	}
	return setup, nil
}

func (l *relayStage) quiet() error {
	_, err := l.remote.Phase(relay.Command{Phase: relay.ProbePhase})
	return l.or(err)
}

func (l *relayStage) loud(epoch vtime.Time) error {
	l.epoch = epoch
	_, err := l.remote.Phase(relay.Command{Phase: relay.RunPhase, Epoch: epoch})
	return l.or(err)
}

func (l *relayStage) report() (Report, error) {
	st, err := l.remote.Stats()
	if err != nil {
		return Report{}, l.or(err)
	}
	r := Report{LateP99: st.Lateness.P99, LateMax: st.Lateness.Max, Overflow: st.LogDropped, Exact: true}
	for side, p := range []relay.PathStats{st.AB, st.BA} {
		r.Lost[side], r.Made[side] = p.Channel.Lost, p.Injected
		r.Overflow += p.Overflow + p.KernelDrops + p.Oversize
	}
	priority := "real-time"
	if !st.Realtime {
		priority = "ordinary, the kernel granted no other"
	}
	l.site.Fact(l.hop.Named("priority of the relay"), priority)
	return r, nil
}

// fates ends the relay and reads its log.
func (l *relayStage) fates() ([]merge.LinkFate, error) {
	_ = l.child.Close() // why it died, if it did, is known
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
