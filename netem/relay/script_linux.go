package relay

import (
	"cmp"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// script holds the pending injections of one direction.
type script struct {
	timed   []Injection // injections with a time, sorted by At
	counted []Injection // injections after a packet, sorted by AfterN
	epoch   vtime.Time  // zero of Injection.At, on the clock of the run
}

// newScript returns the script with the injections of one side.
func newScript(all []Injection, side fault.Side, epoch vtime.Time) script {
	s := script{epoch: epoch}
	for _, in := range all {
		switch {
		case in.From != side:
		case in.AfterN > 0:
			s.counted = append(s.counted, in)
		default:
			s.timed = append(s.timed, in)
		}
	}
	slices.SortStableFunc(s.timed, func(a, b Injection) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(s.counted, func(a, b Injection) int { return cmp.Compare(a.AfterN, b.AfterN) })
	return s
}

// next returns the time of the first timed injection, or vtime.Never.
func (s *script) next() vtime.Time {
	if len(s.timed) == 0 {
		return vtime.Never
	}
	return s.epoch.Add(s.timed[0].At)
}

// injectTimed queues the timed injections that are due at now.
func (p *path) injectTimed(now vtime.Time) {
	for p.script.next() <= now {
		p.inject(&p.script.timed[0], p.script.next())
		p.script.timed = p.script.timed[1:]
	}
}

// injectBehind queues the injections that follow the packet of verdict v, the last packet offered to the channel. They
// arrive right after that packet or, if it is lost or held, at the time at which it would have arrived without jitter.
func (p *path) injectBehind(v *channel.Verdict) {
	for len(p.script.counted) > 0 && p.script.counted[0].AfterN <= p.channel.Counters().Offered {
		due := v.Arrive
		if v.Fate != channel.Delivered {
			due = v.Sent.Add(p.delay)
		}
		p.inject(&p.script.counted[0], due)
		p.script.counted = p.script.counted[1:]
	}
}

// inject logs a crafted frame and queues it, bypassing the channel.
func (p *path) inject(in *Injection, due vtime.Time) {
	p.stats.Injected++
	id, _ := p.relay.config.Classifier.Classify(p.side, in.Frame) // a crafted frame may well be foreign
	record := Record{
		At: due, From: p.side, QP: id.QP, PSN: id.PSN, Offset: id.Offset, Type: id.Type,
		Fate: Injected, Sent: vtime.Never, Arrive: due, Cause: cmp.Or(in.Name, "inject"),
	}
	p.relay.journal.add(&record)
	p.enqueue(&p.past, due, in.Frame)
}
