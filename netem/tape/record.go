package tape

import (
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Recorder records the losses of a run. Its memory is bounded by MaxEntries; Tape returns an error for a run that needs
// more.
type Recorder struct {
	tape Tape
	over bool
}

// NewRecorder returns an empty recorder for the key; slot is used for ByTime only. model and seed describe the recorded
// process, for the reader of the file.
func NewRecorder(key Key, slot vtime.Duration, model string, seed uint64) (*Recorder, error) {
	r := &Recorder{tape: Tape{Key: key, Slot: slot, Model: model, Seed: seed}}
	if err := r.tape.Validate(); err != nil {
		return nil, err
	}
	return r, nil
}

// Note records whether the next packet (ByIndex), or the packet at now (ByTime), was lost. A slot in which any packet
// was lost is a lost slot. Times must not decrease.
func (r *Recorder) Note(now vtime.Time, lost bool) {
	t := &r.tape
	at := t.Length
	if t.Key == ByTime {
		at = uint64(max(now, 0)) / uint64(t.Slot)
	}
	t.Length = max(t.Length, at+1)
	if lost {
		r.lose(at)
	}
}

// lose extends the last span or begins one.
func (r *Recorder) lose(at uint64) {
	t := &r.tape
	if last := len(t.Spans) - 1; last >= 0 && at <= t.Spans[last].To+1 {
		t.Spans[last].To = max(t.Spans[last].To, at)
		return
	}
	if len(t.Spans) == MaxEntries {
		r.over = true
		return
	}
	t.Spans = append(t.Spans, Span{at, at})
}

// Lost records a lost transmission (ByIdentity).
func (r *Recorder) Lost(id ID) {
	if len(r.tape.IDs) == MaxEntries {
		r.over = true
		return
	}
	r.tape.IDs = append(r.tape.IDs, id)
}

// Tape returns the recorded tape.
func (r *Recorder) Tape() (*Tape, error) {
	if r.over {
		return nil, fmt.Errorf("tape: more than %d entries; record a shorter run", MaxEntries)
	}
	t := r.tape
	t.Spans, t.IDs = slices.Clone(t.Spans), slices.Clone(t.IDs)
	slices.SortFunc(t.IDs, ID.compare)
	t.IDs = slices.Compact(t.IDs)
	if err := t.Validate(); err != nil {
		return nil, err
	}
	return &t, nil
}
