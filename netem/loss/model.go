package loss

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// none loses no packet.
type none struct{}

func (none) Lose(vtime.Time) bool { return false }
func (none) restart(uint64)       {}

// bernoulli loses each packet independently.
type bernoulli struct {
	source
	p chance
}

func (b *bernoulli) Lose(vtime.Time) bool { return b.hit(b.p) }

// gilbert is the Gilbert-Elliott channel (Gilbert 1960, Elliott 1963) with netem's parameters: the current state
// decides about the packet, then the chain moves. It takes two draws per packet in every state.
type gilbert struct {
	source
	p, r          chance // transition probabilities: good to bad, bad to good
	inGood, inBad chance // loss probabilities in the two states
	bad           bool   // current state
}

func (g *gilbert) restart(seed uint64) {
	g.source.restart(seed)
	g.bad = false
}

func (g *gilbert) Lose(vtime.Time) bool {
	lose, leave := g.inGood, g.p
	if g.bad {
		lose, leave = g.inBad, g.r
	}
	lost := g.hit(lose)
	if g.hit(leave) {
		g.bad = !g.bad
	}
	return lost
}

// markov4 is netem's "loss state" chain (Salsano, Ludovici, Ordine, Giannuzzi, "Definition of a general and intuitive
// loss model for packet networks and its implementation in the Netem module", 2012). The chain moves first, then the
// new state decides about the packet. The probabilities are named as in netem's manual page; p13 is that of the
// transition from 1 to 3:
//
//	good (1)   good reception             p13 to burst, p14 to lone, else it stays
//	calm (2)   good within a burst        p23 to burst, else it stays
//	burst (3)  loss within a burst        p31 to good, p32 to calm, else it stays
//	lone (4)   independent loss           always back to good
type markov4 struct {
	source
	p13, p31, p32, p14, p23 chance
	state                   state
}

type state uint8

const (
	good state = iota + 1
	calm
	burst
	lone
)

func (m *markov4) restart(seed uint64) {
	m.source.restart(seed)
	m.state = good
}

func (m *markov4) Lose(vtime.Time) bool {
	m.state = m.next(m.draw())
	return m.state == burst || m.state == lone
}

// next returns the state after the current one for draw u. In each state the lowest values of u select the first
// branch, as in the kernel.
func (m *markov4) next(u chance) state {
	switch m.state {
	case good:
		return branch(u, m.p14, lone, m.p13, burst, good)
	case calm:
		return branch(u, m.p23, burst, 0, calm, calm)
	case burst:
		return branch(u, m.p32, calm, m.p31, good, burst)
	}
	return good
}

// branch returns a if u < p, b if p <= u < p+q, and otherwise stay.
func branch(u, p chance, a state, q chance, b, stay state) state {
	switch {
	case u < p:
		return a
	case u < p+q:
		return b
	}
	return stay
}

// sojourn is a two-state channel whose bad periods all have the same length. Each packet in the good state begins a bad
// period with probability p, and is then its first packet; the packet after a period may begin the next one. The
// geometric sojourn times of a Markov chain would mix short and long bursts, which hides the burst length beyond which
// a code fails.
type sojourn struct {
	source
	p      chance // probability that a packet begins a bad period
	h      chance // probability that a packet in a bad period is lost
	length int    // packets in a bad period
	left   int    // packets left in the current bad period; 0 in the good state; left <= length
}

func (s *sojourn) restart(seed uint64) {
	s.source.restart(seed)
	s.left = 0
}

func (s *sojourn) Lose(vtime.Time) bool {
	if s.left == 0 && s.hit(s.p) {
		s.left = s.length
	}
	if s.left == 0 {
		return false
	}
	s.left--
	return s.hit(s.h)
}
