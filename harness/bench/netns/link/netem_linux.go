package link

import (
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/plan"
	"github.com/rdma-gauntlet/gauntlet/harness/merge"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
	"github.com/rdma-gauntlet/gauntlet/netem/tc"
)

// netemStage is the kernel's netem on the two ports of a link.
type netemStage struct {
	site    *Site
	seeds   [2]uint64 // by sender
	does    spec.Duplex
	quietly bool // the settings of a probe are of no interest
}

func (l *netemStage) open() error { return nil }

func (l *netemStage) close() error { return nil }

func (l *netemStage) delayOnly() error {
	bare := func(s spec.Link) spec.Link {
		return spec.Link{Rate: s.Rate, Delay: s.Delay, Jitter: s.Jitter, Queue: s.Queue}
	}
	l.quietly = true
	return l.apply(spec.Duplex{AB: bare(l.does.AB), BA: bare(l.does.BA)})
}

func (l *netemStage) impairAll(vtime.Time) error {
	l.quietly = false
	return l.apply(l.does)
}

// apply sets both directions, in the kernel's time, and stores the settings as read back. A direction is set on the
// port by which its frames leave the link.
func (l *netemStage) apply(d spec.Duplex) error {
	seeded := tc.Probe().Seed
	for i, dir := range []struct {
		name, device string
		link         spec.Link
	}{{"A>B", l.site.Ports[trace.B], d.AB}, {"B>A", l.site.Ports[trace.A], d.BA}} {
		o := tc.Options{Packet: l.site.Spec.QP[0].MTU + plan.FrameOverhead}
		if seed := l.seeds[i]; seeded {
			o.Seed = &seed
		}
		applied, err := tc.Apply(l.site.Namespace, dir.device, dir.link.Dilated(l.site.Base.Dilation), o)
		if err != nil {
			return err
		}
		if !l.quietly {
			l.site.Fact("netem "+dir.name, summary(applied.Values))
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

func (l *netemStage) busy() (bool, error) { return false, nil }

func (l *netemStage) ended() <-chan struct{} { return nil }

func (l *netemStage) death() error { return nil }

func (l *netemStage) report() (Report, error) { return Report{}, nil }

func (l *netemStage) fates() ([]merge.LinkFate, error) { return nil, nil }
