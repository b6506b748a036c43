package netns

import (
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
)

// certify issues the certificates of the run: of the idle link before and after, and of what it did to the traffic.
func (s *session) certify() {
	bounds := certify.DefaultBounds()
	s.evidence.Certificates = []certify.Certificate{
		certify.Certify("before", bounds, s.idle(&s.before)...),
		certify.Certify("during", bounds, s.busy()...),
		certify.Certify("after", bounds, s.idle(&s.after)...),
	}
}

func (s *session) directions() [2]certify.Measured {
	l := s.job.Spec.Link
	return [2]certify.Measured{{Direction: "A>B", Link: l.AB}, {Direction: "B>A", Link: l.BA}}
}

// idle is what the probes measured.
func (s *session) idle(p *[2]probed) []certify.Measured {
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
		m.Capture = &certify.Capture{Frames: c.frames, Drops: s.dropped[side] + c.unknown}
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
