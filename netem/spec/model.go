package spec

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// model describes the text form of a loss process: its name, its probabilities in printing order, and its parameters
// without default.
type model struct {
	id       Model
	word     string
	keys     []string // its probabilities
	required []string
	defaults Loss
}

// models lists the processes in the order in which errors name them.
func models() []model {
	return []model{
		{id: NoLoss, word: "none"},
		{id: Bernoulli, word: "random", keys: []string{"p"}, required: []string{"p"}},
		{id: Gilbert, word: "gemodel", keys: []string{"p", "r", "h", "k"}, required: []string{"p", "r"},
			defaults: Loss{K: 1}},
		{id: Markov4, word: "state", keys: []string{"p13", "p31", "p32", "p14", "p23"}, required: []string{"p13"},
			defaults: Loss{P23: 1}},
		{id: Sojourn, word: "burst", keys: []string{"p", "h"}, required: []string{"p", "len"}, defaults: Loss{H: 1}},
		{id: Tape, word: "tape", required: []string{"file"}},
	}
}

// findModel returns the model with a name of the text form or of Go; the two differ for NoLoss only.
func findModel(name string) (model, error) {
	var names []string
	for _, m := range models() {
		if name == m.word || name == string(m.id) {
			return m, nil
		}
		names = append(names, m.word)
	}
	return model{}, fmt.Errorf("loss: unknown model %q; known are %s", name, strings.Join(names, ", "))
}

func (m model) name() string { return "loss " + m.word }

// fresh returns the process with default parameters.
func (m model) fresh() Loss {
	l := m.defaults
	l.Model = m.id
	return l
}

// ratios returns the probabilities of this model, with their keys.
func (m model) ratios(l *Loss) []named {
	out := make([]named, len(m.keys))
	for i, k := range m.keys {
		out[i] = named{k, *l.ratio(k)}
	}
	return out
}

// ratio returns a pointer to a probability.
func (l *Loss) ratio(key string) *unit.Ratio {
	return map[string]*unit.Ratio{
		"p": &l.P, "r": &l.R, "h": &l.H, "k": &l.K,
		"p13": &l.P13, "p31": &l.P31, "p32": &l.P32, "p14": &l.P14, "p23": &l.P23,
	}[key]
}

// fields returns the fields that the text form of the model may set.
func (m model) fields(l *Loss) []field {
	var fs []field
	for _, k := range m.keys {
		fs = append(fs, field{k, into(l.ratio(k), unit.ParseRatio)})
	}
	switch m.id {
	case NoLoss:
		return nil
	case Tape:
		return append(fs, field{"file", into(&l.File, func(s string) (string, error) { return s, nil })})
	case Sojourn:
		fs = append(fs, field{"len", into(&l.Length, strconv.Atoi)})
	}
	return append(fs, field{"slot", into(&l.Slot, vtime.ParseDuration)})
}

// complete returns an error for a required parameter that is missing from the text.
func (m model) complete(args []string) error {
	for _, want := range m.required {
		if !given(args, want) {
			return fmt.Errorf("%s: %s is missing; write %s=…", m.name(), want, want)
		}
	}
	return nil
}

func given(args []string, key string) bool {
	for _, a := range args {
		if strings.HasPrefix(a, key+"=") {
			return true
		}
	}
	return false
}
