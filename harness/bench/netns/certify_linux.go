package netns

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
)

// certify issues the certificates of the run, as far as it got: of the idle link before and after, and of what it did to
// the traffic.
func (s *session) certify() {
	bounds := certify.DefaultBounds()
	s.evidence.Certificates = append(s.evidence.Certificates, certify.Certify("before", bounds, s.unloaded(s.before)...))
	if s.after == nil {
		return // the run broke
	}
	during := certify.Certify("during", bounds, s.busy()...)
	s.evidence.Certificates = append(s.evidence.Certificates,
		certify.Issue("during", append(during.Items, s.prompt()...)), certify.Certify("after", bounds, s.unloaded(s.after)...))
}

// promptLeast is how long a host may let an endpoint wait for a processor. Rules allow an endpoint 5 ms to react, so
// beyond that a slow host would be taken for a slow endpoint.
const promptLeast = 5 * vtime.Millisecond

// prompt judges whether the host gave the endpoints what they needed.
func (s *session) prompt() (items []certify.Item) {
	for _, e := range s.ends {
		items = append(items, certify.Item{
			Name: "endpoint " + e.side.String() + " waited", Want: "at most " + promptLeast.String(), Got: e.end.Late.String(),
			Bound: "what rules allow for a reaction; leave more processor time to the run, or lower the rate", OK: e.end.Late <= promptLeast,
		}, certify.Item{
			Name: "endpoint " + e.side.String() + " receive drops", Want: "0", Got: fmt.Sprint(e.end.Dropped),
			Bound: "exact: frames that the kernel dropped because the endpoint was slow; lower the rate", OK: e.end.Dropped == 0,
		})
	}
	return items
}

func (s *session) directions() [2]certify.Measured {
	l := s.job.Spec.Link
	return [2]certify.Measured{{Direction: "A>B", Link: l.AB}, {Direction: "B>A", Link: l.BA}}
}

// unloaded is what the probes measured.
func (s *session) unloaded(p *[2]probed) []certify.Measured {
	out := s.directions()
	for side := range out {
		m := &out[side]
		m.Probes = &certify.Probes{Sent: p[side].Sent, Delays: p[side].Delays, WireBytes: probeBytes}
		if p[side].Burst.Arrived > 0 {
			m.Burst = &p[side].Burst
		}
	}
	return out[:]
}

// busy is what the taps and the link say of the traffic.
func (s *session) busy() []certify.Measured {
	out := s.directions()
	for side := range out {
		c, m := &s.census.paths[side], &out[side]
		// A packet of unknown origin is one whose departure the tap did not see.
		missed := c.unknown + c.made - min(c.made, s.lead.Made[side])
		m.Capture = &certify.Capture{Frames: c.frames, Drops: s.taps[side].dropped + missed}
		m.Schedule = &certify.Schedule{LateP99: s.lead.LateP99, LateMax: s.lead.LateMax, Overflow: s.lead.Overflow}
		if c.losses.Sent == 0 {
			continue
		}
		m.Losses, m.Changes = &c.losses, &c.changes
		if s.lead.Exact {
			m.Losses.Decided = &s.lead.Lost[side]
		}
	}
	return out[:]
}
