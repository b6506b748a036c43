package loss

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// none loses nothing.
type none struct{}

func (none) Lose(vtime.Time) bool { return false }
func (none) restart(uint64)       {}

// bernoulli loses each packet independently.
type bernoulli struct {
	source
	p chance
}

func (b *bernoulli) Lose(vtime.Time) bool { return b.hit(b.p) }

// gilbert is the Gilbert-Elliott channel (Gilbert 1960, Elliott 1963) with netem's parameters: a packet meets the state
// that the chain is in, then the chain moves. It takes two draws per packet in every state.
type gilbert struct {
	source
	p, r          chance
	inGood, inBad chance
	bad           bool
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
// packet meets the new state. The probabilities are named as in netem's manual page, p13 being the way from 1 to 3:
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

// next moves by one draw u. In each state the first range of u is the first branch, as in the kernel.
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

// branch returns a when u falls in the first p, b when in the next q, and otherwise stay.
func branch(u, p chance, a state, q chance, b, stay state) state {
	switch {
	case u < p:
		return a
	case u < p+q:
		return b
	}
	return stay
}

// sojourn is a two-state channel whose bad periods all last equally long. Each packet of the good state begins a bad
// period with probability p, and is then its first packet; the packet after a period may begin the next one at once.
// The geometric sojourn of a Markov chain would mix short bursts with long ones, which hides where a code that repairs
// bursts up to a length gives up.
type sojourn struct {
	source
	p, h   chance
	length int
	left   int // packets until the bad period ends
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
