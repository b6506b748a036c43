package scenario

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
)

// Turns is the work of two applications that take turns: each posts requests in answer to the messages that it has
// received. It is the only work of its run, on one connection. Count 0 means that the Spec has no turns.
type Turns struct {
	Kind  TurnKind
	From  trace.Side // the side that begins the first round
	Msg   unit.Size  // bytes of each WRITE and READ
	Count int        // rounds
}

// TurnKind names the sequence of requests of a round.
type TurnKind string

// The kinds. In a round of WriteTurns each side WRITEs once, when the last byte of the other's WRITE has arrived, as
// ib_write_lat does. In a round of PingTurns one side SENDs the address of a buffer, the other READs the buffer and
// confirms by a SEND; then the first SENDs the address of another buffer, and the second WRITEs the data that it has
// read there and confirms, as rping does.
const (
	WriteTurns TurnKind = "write"
	PingTurns  TurnKind = "rping"
)

// Taken reports whether there are any turns.
func (t Turns) Taken() bool { return t.Count > 0 }

// The sizes that rping takes, in bytes: its text has to fit, and its buffers are 64 KiB.
const (
	leastPing = unit.Size(32)
	mostPing  = 64*unit.KiB - 1
)

// String prints the turns as a statement.
func (t Turns) String() string {
	return fmt.Sprintf("turns %s from=%s msg=%s count=%d", t.Kind, t.From, t.Msg, t.Count)
}

// readTurns reads "turns write from=A msg=64 count=100".
func readTurns(s *Spec, st *statement) {
	kinds := []TurnKind{WriteTurns, PingTurns}
	t := Turns{Msg: -1}
	w, _ := st.word()
	if t.Kind = TurnKind(w); !slices.Contains(kinds, t.Kind) {
		st.errorf("%.60q: want write or rping", w)
		return
	}
	st.side("from", &t.From)
	st.size("msg", &t.Msg, maxMessage)
	whole(st, "count", &t.Count, 1, maxWR)
	switch {
	case t.Msg < 0:
		st.errorf("msg is missing; write msg=64")
	case t.Count == 0:
		st.errorf("count is missing; write count=100")
	case t.Kind == PingTurns && (t.Msg < leastPing || t.Msg > mostPing):
		st.errorf("msg=%s: rping takes %s to %s", t.Msg, leastPing, mostPing)
	case t.Msg == 0:
		st.errorf("msg=0: a WRITE of no bytes is not seen by who waits for its last one")
	}
	s.Turns = t
}

// validate checks the turns against the rest of the Spec.
func (t Turns) validate(s *Spec) error {
	switch {
	case !t.Taken():
		return nil
	case len(s.Loads)+len(s.Posts) > 0:
		return errors.New("turns: they have the connection to themselves; leave out load and post-… lines")
	case s.QPs != 1:
		return errors.New("turns: one connection takes them; leave out qp count=")
	case s.QP[0].QueueDepth < 2 || s.QP[1].QueueDepth < 2 || s.Receives < 2 || !s.Replenish:
		return errors.New("turns: both sides need room for two requests and two receives")
	}
	return nil
}

// text prints the turns as a statement; "" for none.
func (t Turns) text() string {
	if !t.Taken() {
		return ""
	}
	return t.String() + "\n"
}
