package scenario

import (
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// readSeed reads "seed 7". A seed is a word and not a key because the statement has no other field.
func readSeed(s *Spec, st *statement) {
	w, _ := st.word()
	x, ok := unsigned(w)
	if !ok {
		st.errorf("%.60q: want one whole number below 2^64", w)
	}
	s.Seed = x
}

// readImpl reads "impl NAME" or "impl NAME-OF-A NAME-OF-B". Whether the names exist is for the registry to say, which
// this package must not know.
func readImpl(s *Spec, st *statement) {
	a, ok := st.word()
	b, two := st.word()
	if !two {
		b = a
	}
	if !ok || tooLong(a) || tooLong(b) {
		st.errorf("want one name of at most %d letters, or two for A and B", maxName)
	}
	s.Impl = [2]string{a, b}
}

func tooLong(name string) bool {
	if Foreign(name) {
		_, path, _ := strings.Cut(name, ":")
		return len(path) > maxPath
	}
	return len(name) > maxName
}

// readParam adds to the parameters, and overrides those that are given again: flags of a command line come after the
// file. Their meaning is the implementation's.
func readParam(s *Spec, st *statement) {
	if s.Params == nil {
		s.Params = engine.Params{}
	}
	for k, v := range st.keys {
		if k == "" {
			st.fail(k, v, "want name=value")
		}
		s.Params[k] = v
	}
	if len(st.keys) == 0 {
		st.errorf("want name=value")
	}
	clear(st.keys)
}

// directions takes an optional leading "A>B" or "B>A" and returns the links that the statement is about.
func (s *Spec) directions(st *statement) []*spec.Link {
	if len(st.words) > 0 {
		switch st.words[0] {
		case "A>B":
			st.word()
			return []*spec.Link{&s.Link.AB}
		case "B>A":
			st.word()
			return []*spec.Link{&s.Link.BA}
		}
	}
	return []*spec.Link{&s.Link.AB, &s.Link.BA}
}

// readLink changes the fields that the statement names and keeps the others.
func readLink(s *Spec, st *statement) {
	if len(st.keys) == 0 {
		st.errorf("want fields such as rate=10G delay=20ms queue=1000")
	}
	for _, l := range s.directions(st) {
		next, err := spec.ParseLink(merge(l.String(), st))
		if err != nil {
			st.err = err
			return
		}
		next.Loss = l.Loss
		*l = next
	}
	clear(st.keys)
}

// merge puts the keys of a statement after those words of old that they do not override.
func merge(old string, st *statement) string {
	var words []string
	for _, w := range strings.Fields(old) {
		k, _, _ := strings.Cut(w, "=")
		if _, given := st.keys[k]; !given {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ") + " " + st.rest()
}

// readLoss replaces the whole process, unlike readLink: half a model would be a mixture of two.
func readLoss(s *Spec, st *statement) {
	links := s.directions(st)
	loss, err := spec.ParseLoss(strings.Join(st.words, " ") + " " + st.rest())
	switch {
	case err != nil:
		st.err = err
		return
	case len(st.words)+len(st.keys) == 0:
		st.errorf("want a model, such as loss random p=1e-4, or loss none")
	case len(loss.File) > maxPath:
		st.fail("file", loss.File, "want a shorter path")
	}
	for _, l := range links {
		l.Loss = loss
	}
	st.words = nil
	clear(st.keys)
}

// readFault leaves the line to package fault, whose form this is.
func readFault(s *Spec, st *statement) {
	f, err := fault.Parse(st.text)
	if err != nil {
		st.err = err
		return
	}
	s.Faults = append(s.Faults, f)
	st.clear()
}
