package netns

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/wire"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/relay"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
	"github.com/rdma-gauntlet/gauntlet/netem/tc"
)

// link is what carries the frames between the namespaces: the kernel's netem or the relay.
type link interface {
	open() error
	quiet() error                // rate and delay only, so that measuring consumes no draws
	loud(epoch vtime.Time) error // everything, from fresh random streams
	busy() (bool, error)         // packets are on their way
	report() (linkReport, error) // of the traffic so far
	fates() ([]trace.LinkFate, error)
	ended() <-chan struct{} // closed when the link has died
	death() error           // what it died of
}

// linkReport is what the link says of itself, for the certificate.
type linkReport struct {
	LateP99  vtime.Duration // departures behind their time; 0 for netem, which does not say
	LateMax  vtime.Duration
	Overflow uint64    // packets for which the bench, not the emulated queue, had no room
	Exact    bool      // the link counts its losses exactly
	Lost     [2]uint64 // those of the loss process, by sender
	Made     [2]uint64 // crafted packets, by the sender whose they seem to be
}

// linkKind is how the link is made.
type linkKind string

const (
	netemLink linkKind = "netem"
	relayLnk  linkKind = "relay"
)

// chooseLink decides between netem and the relay and says why; the choice is never silent.
func chooseLink(job *bench.Job) (linkKind, string, error) {
	only := relayOnly(job)
	if job.Link == string(relayLnk) {
		return relayLnk, "user-space relay, as asked for", nil
	}
	support := tc.Probe()
	switch {
	case job.Link == string(netemLink) && only != "":
		return "", "", fmt.Errorf("netns: --link netem: netem has no %s; use the relay", only)
	case job.Link == string(netemLink) && !support.Netem:
		return "", "", fmt.Errorf("netns: --link netem: this kernel (%s) has none (%s); use the relay", support.Kernel, support.Reason)
	case job.Link != "" && job.Link != "auto" && job.Link != string(netemLink):
		return "", "", fmt.Errorf("netns: link %q: want auto, netem or relay", job.Link)
	case only != "":
		return relayLnk, "user-space relay, because netem has no " + only, nil
	case !support.Netem:
		return relayLnk, fmt.Sprintf("user-space relay, because kernel %s has no netem (%s)", support.Kernel, support.Reason), nil
	}
	return netemLink, "tc-netem of kernel " + support.Kernel, nil
}

// relayOnly names the first thing in a Spec that netem cannot do, "" when there is none.
func relayOnly(job *bench.Job) string {
	s := job.Spec
	switch {
	case len(s.Faults) > 0:
		return "scripted faults"
	case len(s.Injections) > 0:
		return "crafted packets"
	}
	for _, l := range []spec.Link{s.Link.AB, s.Link.BA} {
		if _, err := tc.Translate(l, tc.Options{Packet: s.QP[0].MTU + frameOverhead}); errors.Is(err, tc.ErrUnsupported) {
			return fmt.Sprintf("such link (%v)", err)
		}
	}
	return ""
}

// relayLink is the user-space link.
type relayLink struct {
	*session
	*leg
	child  *child
	remote *relay.Remote
	log    *os.File // what became of each frame
}

func (l *relayLink) open() error {
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
func (l *relayLink) or(err error) error {
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

func (l *relayLink) ended() <-chan struct{} { return l.child.ended }

func (l *relayLink) death() error { return l.child.death("ended in the middle of the run") }

// busy reports whether the relay holds frames.
func (l *relayLink) busy() (bool, error) {
	st, err := l.remote.Stats()
	return st.AB.InFlight+st.BA.InFlight > 0, l.or(err)
}

// setup describes the link to the relay process.
func (l *relayLink) setup() (relay.Setup, error) {
	s := l.job.Spec
	dialect, err := json.Marshal(s.String())
	if err != nil {
		return relay.Setup{}, fmt.Errorf("netns: relay: %w", err)
	}
	setup := relay.Setup{Start: l.base, A: l.ports[trace.A], B: l.ports[trace.B], Link: l.link, Faults: l.faults,
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
		l.forged = append(l.forged, trace.Forgery{At: vtime.Time(0).Add(in.At), From: in.To.Other(), Raw: frame})
	}
	return setup, nil
}

func (l *relayLink) quiet() error {
	_, err := l.remote.Phase(relay.Command{Phase: relay.ProbePhase})
	return l.or(err)
}

func (l *relayLink) loud(epoch vtime.Time) error {
	_, err := l.remote.Phase(relay.Command{Phase: relay.RunPhase, Epoch: epoch})
	return l.or(err)
}

func (l *relayLink) report() (linkReport, error) {
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
func (l *relayLink) fates() ([]trace.LinkFate, error) {
	_ = l.child.close() // why it died, if it did, is known
	if _, err := l.log.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("netns: relay: %w", err)
	}
	out := []trace.LinkFate{} // not nil: there is a log
	err := relay.ReadLog(l.log, func(r relay.Record) error {
		if r.Fate == relay.Delivered && r.Cause == "" || r.Fate == relay.Injected || r.At < l.epoch {
			return nil
		}
		out = append(out, fateOf(r, l.epoch))
		return nil
	})
	return out, err
}

func fateOf(r relay.Record, epoch vtime.Time) trace.LinkFate {
	f := trace.LinkFate{At: r.At - epoch, PSN: psn.PSN(r.PSN), Lost: r.Fate != relay.Delivered, Cause: r.Cause}
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

// kernelLink is tc-netem on the ports of a bridge.
type kernelLink struct {
	*session
	quietly bool // the settings of a probe are of no interest
}

func (l *kernelLink) open() error { return nil }

func (l *kernelLink) quiet() error {
	bare := func(s spec.Link) spec.Link {
		return spec.Link{Rate: s.Rate, Delay: s.Delay, Jitter: s.Jitter, Queue: s.Queue}
	}
	l.quietly = true
	return l.apply(spec.Duplex{AB: bare(l.job.Spec.Link.AB), BA: bare(l.job.Spec.Link.BA)})
}

func (l *kernelLink) loud(vtime.Time) error {
	l.quietly = false
	return l.apply(l.job.Spec.Link)
}

// apply sets both directions and keeps what the kernel reports. A direction acts where its frames leave the link.
func (l *kernelLink) apply(d spec.Duplex) error {
	seeded := tc.Probe().Seed
	for i, dir := range []struct {
		name, device string
		link         spec.Link
	}{{"A>B", PortB, d.AB}, {"B>A", PortA, d.BA}} {
		o := tc.Options{Packet: l.job.Spec.QP[0].MTU + frameOverhead}
		if seed := l.job.Spec.Seeds()[i]; seeded {
			o.Seed = &seed
		}
		applied, err := tc.Apply(l.topology.M.Fd(), dir.device, dir.link, o)
		if err != nil {
			return err
		}
		if !l.quietly {
			l.fact("netem "+dir.name, summary(applied.Values))
		}
	}
	return nil
}

// summary prints the values that the kernel reports, those that are set.
func summary(values []tc.Value) string {
	var set []string
	for _, v := range values {
		if v.Got != "0" && v.Got != "" {
			set = append(set, v.Name+"="+v.Got)
		}
	}
	return strings.Join(set, " ")
}

func (l *kernelLink) busy() (bool, error) { return false, nil }

func (l *kernelLink) ended() <-chan struct{} { return nil }

func (l *kernelLink) death() error { return nil }

func (l *kernelLink) report() (linkReport, error) { return linkReport{}, nil }

func (l *kernelLink) fates() ([]trace.LinkFate, error) { return nil, nil }
