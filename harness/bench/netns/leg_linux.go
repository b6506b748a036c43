package netns

import (
	"github.com/rdma-gauntlet/gauntlet/harness/merge"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// leg is a hop of the path during a run.
type leg struct {
	hop
	at     [2]*Namespace // its ends, by side
	chain  chain
	taps   [2]*tap
	forged []merge.Forgery // crafted frames of this hop
	census census
	lead   linkReport // of the traffic
}

// buildLegs makes the links. That of the Spec is netem's if so decided, the LAN of a box is always a relay's.
func (s *session) buildLegs(netem bool) error {
	for _, h := range routeOf(s.job.Spec, s.acts != nil) {
		l := &leg{hop: h, at: [2]*Namespace{s.topology.A, s.topology.B}}
		if side, boxed := h.part.Box(); boxed {
			l.at[side] = s.topology.X
		}
		l.chain = s.chainOf(l, netem)
		s.legs = append(s.legs, l)
		if err := l.chain.open(); err != nil {
			return err
		}
	}
	return nil
}

// wan is the leg whose link is that of the Spec.
func (s *session) wan() *leg { return s.legs[len(s.legs)-1] }

// reserve gives the relays a processor of their own, if there are two: nil when not. They do little and are to be on time,
// so one is enough for both.
func (s *session) reserve() (*int, error) {
	if s.relays == nil {
		reserved, err := packetio.Reserve()
		if reserved == nil || err != nil {
			return nil, err
		}
		s.relays = reserved
		s.later(reserved.Close)
	}
	return &s.relays.Processor, nil
}

// openTaps begins to watch both ends of every leg.
func (s *session) openTaps() error {
	for _, l := range s.legs {
		for side, n := range l.at {
			file, err := s.scratch("spool")
			if err != nil {
				return err
			}
			t, err := openTap(n, l.tap(trace.Side(side)), s.base, file, s.ignored())
			if err != nil {
				return err
			}
			l.taps[side] = t
			s.later(func() error { t.close(); return nil })
		}
	}
	return nil
}

// watchHealth collects the ends of links and taps, which have no reason to end before the run.
func (s *session) watchHealth() {
	s.ailing = make(chan error, 4*len(s.legs)) // room for all: nobody may listen any more
	watch := func(ended <-chan struct{}, why func() error) {
		if ended != nil {
			go func() { <-ended; s.ailing <- why() }()
		}
	}
	for _, l := range s.legs {
		for _, st := range l.chain {
			watch(st.ended(), st.death)
		}
		for _, t := range l.taps {
			watch(t.ended, func() error { return t.err })
		}
	}
}
