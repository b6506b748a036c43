package scenario

import (
	"errors"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// frameOverhead is what a full RoCEv2 packet over IPv4 costs on the line beside its payload: preamble 8, Ethernet 14, IP
// 20, UDP 8, BTH 12, ICRC 4, FCS 4, inter-frame gap 12.
const frameOverhead = 82

// Validate checks what no single line can: that the Spec as a whole makes sense. It returns the first problem.
func (s *Spec) Validate() error {
	if err := s.validateLinks(); err != nil {
		return err
	}
	if s.QP[0].MTU != s.QP[1].MTU {
		return fmt.Errorf("qp: mtu=%d at A and mtu=%d at B; both ends of a connection share the path MTU", s.QP[0].MTU, s.QP[1].MTU)
	}
	for _, l := range s.Loads {
		if l.Count == 0 && s.For == 0 {
			return errors.New("load: never ends; give it a count, or the run a duration (run for=10s)")
		}
	}
	for _, p := range s.Posts {
		if p.QP >= s.QPs {
			return fmt.Errorf("%s: qp=%d: there are %d, numbered from 0", p.verb(), p.QP, s.QPs)
		}
	}
	if len(s.Loads) == 0 && len(s.Posts) == 0 && len(s.Injections) == 0 {
		return errors.New("nothing to do; add a load, a post-… or an inject line")
	}
	if s.Limit <= 0 {
		return errors.New("run: limit=0: every run needs a limit")
	}
	return nil
}

func (s *Spec) validateLinks() error {
	for _, d := range []struct {
		name string
		link spec.Link
	}{{"A>B", s.Link.AB}, {"B>A", s.Link.BA}} {
		if err := d.link.Validate(); err != nil {
			return fmt.Errorf("link %s: %w", d.name, err)
		}
	}
	return nil
}

// Warnings lists what is legal and will probably disappoint, one line each, with the number that would do.
func (s *Spec) Warnings() []string {
	var out []string
	rate := s.Link.AB.Rate
	need := int(rate.Bytes(s.RTT())/unit.Size(s.QP[0].MTU+frameOverhead)) + 1
	if rate > 0 && s.Link.AB.Queue < need {
		out = append(out, fmt.Sprintf("link: queue=%d is below the bandwidth-delay product of %d packets; bursts will overflow it", s.Link.AB.Queue, need))
	}
	if t := s.QP[0].TransportTimer(); t != 0 && t < s.RTT()*3/2 {
		out = append(out, fmt.Sprintf("qp: transport timer %s is below 1.5 RTT (%s); expect spurious timeouts, use timeout=%d or more", t, s.RTT(), timeoutFor(s.RTT())))
	}
	return out
}

// timeoutFor returns the smallest code, 14 at least, whose transport timer is 1.5 RTT or more.
func timeoutFor(rtt vtime.Duration) int {
	for code := 14; code < 31; code++ {
		if 4096*vtime.Nanosecond<<code >= rtt*3/2 {
			return code
		}
	}
	return 31
}

// FitTimeout sets the transport timers to the smallest code, 14 at least (perftest's default), that covers 1.5 RTT.
func (s *Spec) FitTimeout() {
	for side := range s.QP {
		s.QP[side].Timeout = engine.LocalACKTimeout(timeoutFor(s.RTT()))
	}
}
