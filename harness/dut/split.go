package dut

import "github.com/rdma-gauntlet/gauntlet/harness/scenario"

// Split turns each connection of a Spec into a Spec of its own, because a tool has only one connection, and connections
// share nothing but the link. Connections with the same work share one Spec.
func Split(s *scenario.Spec) (list []*scenario.Spec) {
	n := 1
	if differ(s) {
		n = s.QPs
	}
	for i := range n {
		list = append(list, alone(s, i))
	}
	return list
}

// differ reports whether a line of the Spec concerns one connection other than the first.
func differ(s *scenario.Spec) bool {
	for _, p := range s.Posts {
		if p.QP > 0 {
			return true
		}
	}
	for _, in := range s.Injections {
		if in.QP > 0 {
			return true
		}
	}
	for _, f := range s.Faults {
		if f.QP > 0 {
			return true
		}
	}
	return false
}

// alone returns the Spec of connection i only; a fault may apply to all connections.
func alone(given *scenario.Spec, i int) *scenario.Spec {
	s := *given
	s.QPs, s.Posts, s.Injections, s.Faults = 1, nil, nil, nil
	for _, p := range given.Posts {
		if p.QP == i {
			p.QP = 0
			s.Posts = append(s.Posts, p)
		}
	}
	for _, in := range given.Injections {
		if in.QP == i {
			in.QP = 0
			s.Injections = append(s.Injections, in)
		}
	}
	for _, f := range given.Faults {
		if f.QP == i || f.QP < 0 {
			f.QP = min(f.QP, 0)
			s.Faults = append(s.Faults, f)
		}
	}
	return &s
}
