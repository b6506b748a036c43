package registry

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// Ends finds the implementations at both ends of a Spec, and has them check their attributes and parameters.
func Ends(s *scenario.Spec) (impls [2]engine.Implementation, err error) {
	known := Catalogue{}
	if impls, err = known.Both(s); err != nil {
		return impls, err
	}
	for side := range impls {
		if err := impls[side].Try(s.Ends(0)[side], &memory.Host{}); err != nil {
			return impls, fault.Usage(err)
		}
	}
	if err := Together(impls); err != nil {
		return impls, fault.Usage(err)
	}
	if what := known.Lacks(s); what != "" {
		return impls, fault.Usage(fmt.Errorf("%s: NOT-APPLICABLE", what))
	}
	return impls, nil
}

// Both returns the implementations at both ends of a Spec.
func (c Catalogue) Both(s *scenario.Spec) (impls [2]engine.Implementation, err error) {
	for side, name := range s.Impl {
		if impls[side], err = c.Find(name); err != nil {
			return impls, err
		}
	}
	return impls, nil
}

// Together returns an error unless two implementations can talk to each other: both speak RoCEv2, with any scheme, or
// have the same scheme.
func Together(impls [2]engine.Implementation) error {
	a, b := &impls[0], &impls[1]
	if a.Recover != b.Recover && (a.OverIP() || b.OverIP()) {
		return fmt.Errorf("implementations %s and %s: they do not speak the same protocol; name one, or "+
			"two that speak RoCEv2", a.Name, b.Name)
	}
	return nil
}

// Framed reports whether packets between two implementations must be encoded also in virtual time: headers of
// transports over IP exist only in encoded form.
func Framed(impls [2]engine.Implementation) bool { return impls[0].OverIP() || impls[1].OverIP() }
