package units

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Whole is a batch that has all its results.
type Whole struct {
	*Batch
	Twice int // number of units with the same result in two or more files
}

// mostNamed is the largest number of keys, or files, that an error names.
const mostNamed = 5

// Merge checks that some folders together hold all results of one batch, and that several results of a unit are equal.
// The error names the folders, files and units for which that is not so.
func Merge(dirs []string) (*Whole, error) {
	b, err := oneBatch(dirs)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, u := range b.Units {
		names[u.Key] = u.Name
	}
	m := merger{names: names, files: map[string]string{}, digests: map[string]string{}, twice: map[string]bool{}}
	for _, dir := range dirs {
		files, err := paths(dir, ending) // endingAgain has the same suffix
		if err != nil {
			return nil, err
		}
		for _, path := range files {
			m.take(path)
		}
	}
	if m.errs.n == 0 {
		m.missing(b.Units)
	}
	return &Whole{b, len(m.twice)}, m.errs.join()
}

// Nested applies Merge to the batches in subfolders, such as those of the commands of a night, and returns how many
// units they have and how many of these have several results. Each batch must be in all folders.
func Nested(dirs []string) (all, twice int, err error) {
	var errs troubles
	seen := map[string]bool{}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*", batchFile))
		if err != nil {
			return 0, 0, err
		}
		for _, f := range files {
			name := filepath.Base(filepath.Dir(f))
			if seen[name] {
				continue
			}
			seen[name] = true
			below := make([]string, len(dirs))
			for i, d := range dirs {
				below[i] = filepath.Join(d, name)
			}
			b, err := Merge(below)
			if err != nil {
				errs.add(err)
				continue
			}
			all, twice = all+len(b.Units), twice+b.Twice
		}
	}
	return all, twice, errs.join()
}

// oneBatch returns the batch of the folders, which must be the same and of this program.
func oneBatch(dirs []string) (*Batch, error) {
	var first *Batch
	for _, dir := range dirs {
		b, err := readBatch(dir)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil, fmt.Errorf("units: %s is no folder of results: it has no %s", dir, batchFile)
		case err != nil:
			return nil, err
		case b.Maker.Program != self().Program:
			return nil, fmt.Errorf("units: %s is of another version: it was made by %s, and this is %s; merge with "+
				"that one", dir, b.Maker, self())
		}
		if first == nil {
			first = b
		}
		if err := first.same(b, dir); err != nil {
			return nil, err
		}
	}
	return first, nil
}

// merger collects the files of results.
type merger struct {
	names          map[string]string // names of the batch's units, by key
	files, digests map[string]string // of the first result of each unit, by key
	twice          map[string]bool   // keys of units with several equal results
	errs           troubles
}

// take adds a file.
func (m *merger) take(path string) {
	h, _, err := read(path)
	switch name, known := m.names[h.Key]; {
	case err != nil:
		m.errs.add(err)
	case h.Maker.Program != self().Program:
		m.errs.add(fmt.Errorf("units: %s is of another version: it was made by %s", path, h.Maker))
	case !known:
		m.errs.add(fmt.Errorf("units: %s: unit %s is not of this batch", path, h.Key))
	case m.files[h.Key] == "":
		m.files[h.Key], m.digests[h.Key] = path, h.Digest
	case m.digests[h.Key] != h.Digest:
		m.errs.add(fmt.Errorf("units: %s (unit %s) has two results, in %s and %s: "+
			"one of the machines is broken, or the result depends on the machine", name, h.Key, m.files[h.Key], path))
	default:
		m.twice[h.Key] = true
	}
}

// missing adds an error that names the units without a result.
func (m *merger) missing(all []Entry) {
	var left []string
	for _, u := range all {
		if m.files[u.Key] == "" {
			left = append(left, fmt.Sprintf("%s (unit %s)", u.Name, u.Key))
		}
	}
	if len(left) == 0 {
		return
	}
	named := strings.Join(left[:min(mostNamed, len(left))], "; ")
	if more := len(left) - mostNamed; more > 0 {
		named += fmt.Sprintf("; and %d more", more)
	}
	m.errs.add(fmt.Errorf("units: %d of %d units have no result: %s", len(left), len(all), named))
}

// troubles counts errors, and keeps the first few.
type troubles struct {
	n     int
	named []error
}

func (t *troubles) add(err error) {
	if t.n++; t.n <= mostNamed {
		t.named = append(t.named, err)
	}
}

func (t *troubles) join() error {
	if more := t.n - mostNamed; more > 0 {
		return errors.Join(append(t.named, fmt.Errorf("units: and %d more", more))...)
	}
	return errors.Join(t.named...)
}
