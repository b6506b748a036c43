package scenario

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// Validate checks the consistency of the Spec as a whole, which no single line can show. It returns the first problem.
func (s *Spec) Validate() error {
	for _, d := range s.links() {
		if err := d.link.Validate(); err != nil {
			return fmt.Errorf("link %s: %w", d.name, err)
		}
	}
	if err := s.LAN.Link.Validate(); err != nil {
		return fmt.Errorf("lan: %w", err)
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
	if err := validateFaultSet(s.Faults); err != nil {
		return err
	}
	return validateFaultSet(s.LAN.Faults)
}

// validateFaultSet checks the faults of one link.
func validateFaultSet(faults []fault.Fault) error {
	set, err := fault.NewSet(faults)
	if err != nil {
		return err
	}
	for _, f := range faults {
		if f.Field == fault.Flow {
			return fmt.Errorf("%s: field=flow: the frames of a run are IPv4; use tos or udpsum", f.Action)
		}
	}
	return set.CheckTypes(opcodeNames())
}

// opcodeNames lists the opcodes that a fault may name, and the kinds of LoWAR packets.
func opcodeNames() []string {
	var names []string
	for op := range 256 {
		if o := roce.Opcode(op); o.Known() {
			names = append(names, o.String())
		}
	}
	for op := range iwarp.Opcode(16) {
		if op.Known() {
			names = append(names, op.String())
		}
	}
	for _, t := range []roce.RepairType{roce.RepairData, roce.RepairAnnounce, roce.RepairFeedback} {
		names = append(names, t.String())
	}
	return append(names, roce.UDP.String(), roce.TCP.String(), iwarp.KindFragment)
}

// validateConnections finds statements about connections that do not exist.
func (s *Spec) validateConnections() error {
	check := func(verb string, qp int) error {
		if qp >= s.QPs {
			return fmt.Errorf("%s: qp=%d: there are %d, numbered from 0", verb, qp, s.QPs)
		}
		return nil
	}
	for _, f := range slices.Concat(s.Faults, s.LAN.Faults) {
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
	for i := range s.Loads {
		if err := s.Loads[i].validate(s); err != nil {
			return err
		}
	}
	if err := s.Turns.validate(s); err != nil {
		return err
	}
	switch {
	case len(s.Loads) == 0 && len(s.Posts) == 0 && len(s.Injections) == 0 && !s.Turns.Taken():
		return errors.New("nothing to do; add a load, a post-…, a turns or an inject line")
	case s.Limit <= 0:
		return errors.New("run: limit=0s: every run needs a limit; write limit=60s")
	case s.For > s.Limit:
		return fmt.Errorf("run: for=%s is beyond limit=%s; raise the limit", s.For, s.Limit)
	}
	return nil
}
