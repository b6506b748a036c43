// Package losstape records loss tapes of runs: a sink of the trace writes down the losses of one direction by a key.
// Playing a tape in the same Spec and recording it again gives the same tape, by which a replay is checked; recording
// it under another key converts it.
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

// New returns a sink for the packets that a side of the Spec sends. Only tape.ByTime uses the slot.
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

// byChance is the cause of a loss by the link's loss process.
const byChance = "loss"

// Packet implements trace.Sink. Copies by the link and forged packets never met the loss process.
func (k *Sink) Packet(r *trace.Record) {
	if r.From != k.from || r.Copy || r.Fate == trace.Injected {
		return
	}
	lost := r.Cause == byChance
	if k.key != tape.ByIdentity {
		k.recorder.Note(r.Sent.Add(-k.rate.Time(r.WireBytes)), lost) // time of entering the link
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

// Tape returns the recorded tape.
func (k *Sink) Tape() (*tape.Tape, error) { return k.recorder.Tape() }

// Missed returns an error if the run with a tape did not lose all its packets; again is the tape of that run under the
// same key. A tape of another link or workload names packets that are never sent.
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

// entries returns the identities by which a tape may name a loss, with its class and without.
func entries(t *tape.Tape) map[tape.ID]bool {
	out := make(map[tape.ID]bool, 2*len(t.IDs))
	for _, id := range t.IDs {
		out[id] = true
		id.Class = ""
		out[id] = true
	}
	return out
}
