package netns

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/party"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// halt stops all programs, waits an RTT and 20 ms for the links to drain, collects their reports, and closes the taps.
// It is best effort: it skips processes that have exited; the first error is returned.
func (s *session) halt() (first error) {
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	for _, c := range s.cables {
		c.End()
	}
	s.devices.Leave()
	for _, e := range s.parties.All() {
		keep(e.Stop())
		keep(s.silence(e))
	}
	time.Sleep((s.base.Dilation.Machine(s.spec.RTT()) + 20*vtime.Millisecond).Std())
	keep(s.devices.Count())
	for _, l := range s.legs {
		keep(l.stop())
	}
	keep(s.tookAll())
	keep(s.devices.Finish())
	for _, c := range s.cables {
		if first == nil {
			items, err := c.Certify()
			s.cabled = append(s.cabled, items...)
			keep(err)
		}
	}
	return first
}

// tookAll checks what the endpoints say of frames that they did not take.
func (s *session) tookAll() error {
	for side, e := range s.parties.Ends {
		if e == nil {
			continue
		}
		l := s.legs[0]
		if trace.Side(side) == trace.B {
			l = s.legs.wan()
		}
		if err := e.Took(l.taps[side].Arrived()); err != nil {
			return err
		}
	}
	return nil
}

// silence stops the packets of the kernel's TCP of an endpoint, where the endpoint lacks the privilege to do so itself.
func (s *session) silence(e *party.Party) error {
	if e.Ready.TCP == "" || e == s.parties.Box {
		return nil
	}
	return s.network.Ends()[e.Side].In.Blackhole(drive.Addr(e.Side.Other()).AsSlice())
}

// verify has each side compare its memory with the requests that the other posted.
func (s *session) verify(context.Context) error {
	for _, side := range []trace.Side{trace.A, trace.B} {
		s.evidence.Count(side.String()+" counts: ", s.devices.Moved(side))
	}
	for side, e := range s.parties.Ends {
		if e == nil {
			continue
		}
		if s.spec.For == 0 && e.End.Undone != "" {
			s.evidence.Incomplete = strings.TrimPrefix(s.evidence.Incomplete+"; "+e.Name+": "+e.End.Undone, "; ")
		}
		s.evidence.Count(e.Side.String()+" dropped: ", e.Counters)
		s.evidence.Share(e.Side, e.Shared)
		s.evidence.Processor[side] = time.Duration(e.End.Processor)
		s.fact(e.Name, fmt.Sprintf("%d QPs made in %s; %d MiB of memory at most", s.spec.QPs,
			time.Duration(e.Ready.SetupTime).Round(time.Millisecond), e.End.MaxMemory>>20))
	}
	if s.parties.Box != nil {
		s.evidence.Divided(s.spec.QPs)
		s.evidence.Count("box: ", s.parties.Box.Counters)
	}
	return s.parties.Verify()
}
