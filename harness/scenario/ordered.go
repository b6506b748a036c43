package scenario

import "github.com/rdma-gauntlet/gauntlet/harness/trace"

// Ordered is how many requests a Spec asks of one side.
type Ordered struct {
	Requests int64 // 0 when Endless
	// those of Requests that are posted unsignaled, and so complete without a CQE; 0 <= Silent <= Requests
	Silent  int64
	Endless bool // the number of requests is limited by the time of the run alone
}

// Ordered counts the requests that the Spec asks of a side. A load that time ends asks for no number of them.
func (s *Spec) Ordered(side trace.Side) (o Ordered) {
	for _, l := range s.Loads {
		if l.From != side {
			continue
		}
		if l.Count == 0 || s.For > 0 {
			return Ordered{Endless: true}
		}
		o.Requests += int64(l.Count) * int64(s.QPs)
	}
	for _, p := range s.Posts {
		if p.From != side || p.Receive {
			continue
		}
		o.Requests++
		if p.WR.Unsignal {
			o.Silent++
		}
	}
	o.Requests += s.Turns.requests(side)
	return o
}

// requests is how many of them a side posts, all rounds together.
func (t Turns) requests(side trace.Side) int64 {
	// in a round of rping: two SENDs of the side that begins; of the other side a READ, a WRITE, and a SEND after each
	// of the two
	const told, answered = 2, 4
	switch {
	case !t.Taken():
		return 0
	case t.Kind == WriteTurns:
		return int64(t.Count)
	case side == t.From:
		return told * int64(t.Count)
	}
	return answered * int64(t.Count)
}
