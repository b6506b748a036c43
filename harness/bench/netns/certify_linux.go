package netns

import (
	"fmt"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
)

// certify issues the certificates of the run, as far as it got: of the idle link before and after, and of what it did to
// the traffic.
func (s *session) certify() {
	bounds := certify.DefaultBounds()
	if s.foreign != nil { // a device that computes in the kernel takes the processor from everybody
		bounds.DelayLeast = promptLeast
	}
	s.evidence.Certificates = append(s.evidence.Certificates, certify.Certify("before", bounds, s.unloaded(s.before)...))
	if s.after == nil {
		return // the run broke
	}
	during := certify.Certify("during", bounds, s.busy()...)
	s.evidence.Certificates = append(s.evidence.Certificates,
		certify.Issue("during", append(during.Items, s.prompt()...)), certify.Certify("after", bounds, s.unloaded(s.after)...))
}

// These are how long a host may let an endpoint wait for a processor. Rules allow an endpoint as much (rule.Drain), so beyond
// that a slow host would be taken for a slow endpoint. Over the kernel's TCP nothing waits for the endpoint but what it reads and
// writes, for which rules allow 20 ms; half of that is left to the socket.
const (
	promptLeast   = 5 * vtime.Millisecond
	promptOverTCP = 10 * vtime.Millisecond
)

// prompt judges whether the host gave the endpoints what they needed.
func (s *session) prompt() (items []certify.Item) {
	for _, e := range s.parties() {
		late, most := vtime.Duration(e.end.Late)*vtime.Nanosecond, promptLeast
		if e.ready.TCP != "" {
			most = promptOverTCP
		}
		items = append(items, certify.Item{
			Name: e.name + " waited", Want: "at most " + most.String(), Got: late.Std().Round(time.Microsecond).String(),
			Bound: "what rules allow for a reaction; leave more processor time to the run, or lower the rate", OK: late <= most,
		}, certify.Item{
			Name: e.name + " receive drops", Want: "0", Got: fmt.Sprint(e.end.Dropped),
			Bound: "exact: frames that the kernel dropped because the endpoint was slow; lower the rate", OK: e.end.Dropped == 0,
		})
	}
	return items
}

// measured is both directions of a leg, of which nothing is known yet.
func (l *leg) measured() [2]certify.Measured {
	names := l.directions()
	return [2]certify.Measured{{Direction: names[trace.A], Link: l.way(trace.A)}, {Direction: names[trace.B], Link: l.way(trace.B)}}
}

// unloaded is what the probes measured.
func (s *session) unloaded(p *[2]probed) []certify.Measured {
	out := s.wan().measured()
	for side := range out {
		m := &out[side]
		m.Probes = &certify.Probes{Sent: p[side].Sent, Delays: p[side].Delays, WireBytes: probeBytes}
		if p[side].Burst.Arrived > 0 {
			m.Burst = &p[side].Burst
		}
	}
	return out[:]
}

// busy is what the taps and the links say of the traffic.
func (s *session) busy() (list []certify.Measured) {
	for _, l := range s.legs {
		list = append(list, l.busy()...)
	}
	return list
}

func (l *leg) busy() []certify.Measured {
	out := l.measured()
	for side := range out {
		c, m := &l.census.paths[side], &out[side]
		// A packet of unknown origin is one whose departure the tap did not see.
		missed := c.unknown + c.made - min(c.made, l.lead.Made[side])
		m.Capture = &certify.Capture{Frames: c.frames, Drops: l.taps[side].dropped + missed}
		m.Schedule = &certify.Schedule{LateP99: l.lead.LateP99, LateMax: l.lead.LateMax, Overflow: l.lead.Overflow}
		if c.losses.Sent == 0 {
			continue
		}
		m.Losses, m.Changes = &c.losses, &c.changes
		if l.lead.Exact {
			m.Losses.Decided = &l.lead.Lost[side]
		}
	}
	return out[:]
}
