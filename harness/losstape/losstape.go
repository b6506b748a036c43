// Package losstape makes loss tapes of runs: it watches the trace of one and writes down what the link lost in one
// direction, by the key that is asked for. A tape that is played in the same Spec and recorded again is the same tape,
// which is how a replay is checked, and recorded under another key it is converted.
package losstape

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/wire"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
	"github.com/rdma-gauntlet/gauntlet/netem/tape"
)

// Sink records the losses of one direction of a run. It is a trace.Sink.
type Sink struct {
	from     trace.Side
	rate     unit.Rate
	key      tape.Key
	classify *wire.Classifier
	sent     fault.Tally
	recorder *tape.Recorder
}

var _ trace.Sink = (*Sink)(nil)

// New returns a sink for the packets that a side of the Spec sends. The slot counts for tape.ByTime only.
func New(s *scenario.Spec, from trace.Side, key tape.Key, slot vtime.Duration) (*Sink, error) {
	link := Direction(s, from)
	r, err := tape.NewRecorder(key, slot, link.Loss.String(), s.Seed)
	if err != nil {
		return nil, err
	}
	return &Sink{from: from, rate: link.Rate, key: key, classify: wire.NewClassifier(s), recorder: r}, nil
}

// Direction returns the link that a side sends into.
func Direction(s *scenario.Spec, from trace.Side) *spec.Link {
	if from == trace.B {
		return &s.Link.BA
	}
	return &s.Link.AB
}

// byChance is the cause that the link states for a packet that its loss process took.
const byChance = "loss"

// Packet implements trace.Sink. Copies that the link made, and what the harness forged, never met the loss process.
func (k *Sink) Packet(r *trace.Record) {
	if r.From != k.from || r.Copy || r.Fate == trace.Injected {
		return
	}
	lost := r.Cause == byChance
	if k.key != tape.ByIdentity {
		k.recorder.Note(r.Sent.Add(-k.rate.Time(r.WireBytes)), lost) // when it entered the link
		return
	}
	id := k.classify.Packet(r.From, &r.Packet)
	tx := k.sent.Next(wire.FaultSide(r.From), id.QP, id.PSN, string(id.Class))
	if lost {
		k.recorder.Lost(tape.ID{QP: id.QP, Offset: id.Offset, Tx: tx, Class: string(id.Class)})
	}
}

// Event implements trace.Sink.
func (*Sink) Event(*trace.Event) {}

// End implements trace.Sink.
func (*Sink) End(vtime.Time) {}

// Tape returns what was recorded.
func (k *Sink) Tape() (*tape.Tape, error) { return k.recorder.Tape() }

// Missed says what a tape asked for that a run with it did not lose, as recorded again under the same key; nil when the
// tape was played to its end. A tape of another link or workload names packets that are never sent.
func Missed(played, again *tape.Tape) error {
	missed, first := uint64(0), ""
	note := func(n uint64, what any) {
		if missed == 0 {
			first = fmt.Sprint(what)
		}
		missed += n
	}
	switch played.Key {
	case tape.ByIdentity:
		lost := entries(again)
		for _, id := range played.IDs {
			if !lost[id] {
				note(1, id)
			}
		}
	case tape.ByIndex:
		for _, s := range played.Spans {
			if from := max(s.From, again.Length); s.To >= from {
				note(s.To-from+1, fmt.Sprint("packet ", from))
			}
		}
	}
	if missed == 0 {
		return nil
	}
	return fmt.Errorf("tape: %d of its %d losses never came up, the first is %s; the tape is of "+
		"another link or workload", missed, played.Lost(), first)
}

// entries are the identities by which a tape may name what was lost: with the class, and with the class left open.
func entries(t *tape.Tape) map[tape.ID]bool {
	out := make(map[tape.ID]bool, 2*len(t.IDs))
	for _, id := range t.IDs {
		out[id] = true
		id.Class = ""
		out[id] = true
	}
	return out
}
