package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/plan"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/wire"
	"github.com/rdma-gauntlet/gauntlet/harness/merge"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/injector"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// injectorStage applies the faults and the losses of a hop in the kernel, at the egress of the two ports of a link:
// before the qdisc there, and after a relay.
type injectorStage struct {
	site     *Site
	hop      *plan.Hop
	does     spec.Duplex // the losses
	every    bool        // every frame here was sent by an end in the run
	before   bool        // netem acts after it
	injector *injector.Injector
	log      *os.File // log of the frames
	acted    bool     // the injector is attached, or was
	epoch    vtime.Time
}

// open loads the programs, so that errors of the kernel are known before anything else starts.
func (l *injectorStage) open() (err error) {
	if l.log, _, err = l.site.Scratch("faults"); err != nil {
		return err
	}
	l.injector, err = injector.Open(injector.Config{Namespace: l.site.Namespace,
		Devices: [2]string{l.site.Ports[trace.B], l.site.Ports[trace.A]}, Link: l.does, Faults: l.hop.Faults,
		Seeds:   l.hop.Seeds,
		Dialect: wire.Dialect(l.site.Spec), Log: l.log})
	return err
}

func (l *injectorStage) close() error {
	if l.injector == nil {
		return nil
	}
	return l.injector.Close()
}

func (l *injectorStage) delayOnly() error {
	if !l.acted {
		return nil
	}
	return l.injector.Detach()
}

func (l *injectorStage) impairAll(epoch vtime.Time) error {
	if l.acted {
		return errors.New("netns: injector: it has acted before, and starts only once")
	}
	l.acted, l.epoch = true, epoch
	if err := l.injector.Attach(); err != nil {
		return err
	}
	l.site.Fact(l.hop.Named("injector"), l.injector.Hook())
	return nil
}

func (l *injectorStage) busy() (bool, error) { return false, nil }

func (l *injectorStage) ended() <-chan struct{} { return nil }

func (l *injectorStage) death() error { return nil }

func (l *injectorStage) report() (Report, error) {
	r := Report{Exact: true}
	counters, err := l.injector.Counters()
	if err != nil {
		return r, err
	}
	for side, c := range counters {
		r.Lost[side], r.Copied[side] = c.Lost, c.Copies
		r.Overflow += c.Missed
		r.Tallies[side] = []Tally{{What: "draws of losses", Decided: c.Asked, Done: &c.Drawn},
			{What: "frames that no fault can pick", Done: &c.Unread}}
		if l.every {
			r.Tallies[side] = append(r.Tallies[side], Tally{What: "frames", Decided: c.Frames})
		}
		for i, f := range l.hop.Faults {
			if f.From == wire.FaultSide(trace.Side(side)) {
				cause := channel.ByFault(f.Action, i).String()
				r.Tallies[side] = append(r.Tallies[side], Tally{What: cause, Cause: cause, Decided: c.ByFault[i]})
			}
		}
	}
	return r, nil
}

// fates ends the injector and reads its log twice, as that of a relay is read: the entries of the frames that were
// lost, marked or duplicated, and of all frames with the same look.
func (l *injectorStage) fates() ([]merge.LinkFate, error) {
	if err := l.injector.Detach(); err != nil {
		return nil, err
	}
	eventful := map[uint64]uint64{} // fingerprint of the whole frame, by that of its head
	err := l.each(func(r *injector.Record) {
		if r.Cause.Kind != channel.None {
			eventful[lookOf(r)] = roce.Fingerprint(r.Frame)
		}
	})
	if err != nil {
		return nil, err
	}
	out := []merge.LinkFate{} // not nil: there is a log
	err = l.each(func(r *injector.Record) {
		if whole, ok := eventful[lookOf(r)]; ok {
			out = append(out, l.fateOf(r, whole))
		}
	})
	return out, err
}

// each calls f with every record of the run.
func (l *injectorStage) each(f func(*injector.Record)) error {
	if _, err := l.log.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("netns: injector: %w", err)
	}
	return injector.ReadLog(l.log, func(r *injector.Record) error {
		if l.site.Base.Time(r.At) >= l.epoch {
			f(r)
		}
		return nil
	})
}

// lookOf returns a hash of a frame's head, its checksum at the end and its length, the parts in the log: two frames
// with the same look have the same bytes.
func lookOf(r *injector.Record) uint64 {
	b := append(make([]byte, 0, injector.Head+8), r.Frame[:min(len(r.Frame), injector.Head)]...)
	b = append(b, r.Tail[:]...)
	return roce.Fingerprint(binary.BigEndian.AppendUint32(b, uint32(r.Length)))
}

// early is the time by which a tap's timestamp of a frame may precede the time in the log.
const early = 20 * vtime.Microsecond

// fateOf returns the entry of a frame for the merger; whole is the fingerprint of its bytes.
func (l *injectorStage) fateOf(r *injector.Record, whole uint64) merge.LinkFate {
	at := l.site.Base.Time(r.At) - l.epoch
	f := merge.LinkFate{At: at, Fate: trace.Delivered, Copies: r.Copies, Cause: r.Cause.String()}
	if r.From == fault.B {
		f.From = trace.B
	}
	f.Key = merge.KeyOf(whole, f.From)
	if r.Lost() {
		f.Fate = trace.Dropped
		return f
	}
	if r.Marked {
		frame := append([]byte(nil), r.Frame...)
		wire.Alter(frame, &channel.Verdict{Mark: true})
		if out := merge.KeyOf(roce.Fingerprint(frame), f.From); out != f.Key {
			f.Out = out
		}
	}
	if f.Due = at.Add(-early); l.before {
		f.Left = at
	}
	return f
}
