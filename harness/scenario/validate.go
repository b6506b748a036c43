package scenario

import (
	"errors"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// Validate checks what no single line can: that the Spec as a whole makes sense. It returns the first problem.
func (s *Spec) Validate() error {
	for _, d := range s.links() {
		if err := d.link.Validate(); err != nil {
			return fmt.Errorf("link %s: %w", d.name, err)
		}
	}
	if a, b := s.QP[0].MTU, s.QP[1].MTU; a != b {
		return fmt.Errorf("qp: mtu=%d at A and mtu=%d at B; both ends of a connection share the path MTU", a, b)
	}
	if err := s.validateFaults(); err != nil {
		return err
	}
	if err := s.validateConnections(); err != nil {
		return err
	}
	return s.validateEnd()
}

// validateFaults finds the faults that could never strike, which would make a scenario pass for the wrong reason.
func (s *Spec) validateFaults() error {
	set, err := fault.NewSet(s.Faults)
	if err != nil {
		return err
	}
	for _, f := range s.Faults {
		if f.Field == fault.Flow {
			return fmt.Errorf("%s: field=flow: the frames of a run are IPv4; use tos or udpsum", f.Action)
		}
	}
	return set.CheckTypes(opcodeNames())
}

// opcodeNames lists the opcodes that a fault may name.
func opcodeNames() []string {
	var names []string
	for op := range 256 {
		if o := roce.Opcode(op); o.Known() {
			names = append(names, o.String())
		}
	}
	return names
}

// validateConnections finds statements about connections that do not exist.
func (s *Spec) validateConnections() error {
	check := func(verb string, qp int) error {
		if qp >= s.QPs {
			return fmt.Errorf("%s: qp=%d: there are %d, numbered from 0", verb, qp, s.QPs)
		}
		return nil
	}
	for _, f := range s.Faults {
		if err := check(string(f.Action), f.QP); err != nil {
			return err
		}
	}
	for _, in := range s.Injections {
		if err := check("inject", in.QP); err != nil {
			return err
		}
	}
	for _, p := range s.Posts {
		if err := check(p.verb(), p.QP); err != nil {
			return err
		}
	}
	return nil
}

// validateEnd checks that there is something to do and that it ends.
func (s *Spec) validateEnd() error {
	for _, l := range s.Loads {
		if l.Count == 0 && s.For == 0 {
			return errors.New("load: never ends; give it a count, or the run a duration (run for=10s)")
		}
	}
	switch {
	case len(s.Loads) == 0 && len(s.Posts) == 0 && len(s.Injections) == 0:
		return errors.New("nothing to do; add a load, a post-… or an inject line")
	case s.Limit <= 0:
		return errors.New("run: limit=0s: every run needs a limit; write limit=60s")
	case s.For > s.Limit:
		return fmt.Errorf("run: for=%s is beyond limit=%s; raise the limit", s.For, s.Limit)
	}
	return nil
}
