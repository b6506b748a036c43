// Package store stores nights in a folder: one file for each night and host, of lines of JSON, named by the day and the
// hash of its content, and never changed. So two nights at the same time cause no conflict, the union of two stores'
// files is their merge, and data from newer programs is preserved. The folder may be a branch of a repository.
//
// Other files, and damaged ones, are reported and left unchanged.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/harness/whole"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
)

// Limits of a store.
const (
	maxFiles = 100_000
	maxFile  = 64 << 20 // bytes
	maxLine  = 1 << 20
)

// named matches the name of a file: the day, and the first half of the SHA-256 of its content.
var named = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}-[0-9a-f]{32}\.ndjson$`)

// Skipped is a file that was not read.
type Skipped struct {
	File    string
	Why     string
	Damaged bool // its name is that of a night or document, but its content does not match the name
}

// String returns the line to display.
func (s Skipped) String() string {
	return fmt.Sprintf("%s: skipped: %s", quote.Line(s.File, quote.Sentence), s.Why)
}

// Contents holds the nights of a store, in the order of their files' names, and the files that were not read.
type Contents struct {
	Nights  []history.Night
	Skipped []Skipped
}

// Read reads a whole store.
func Read(dir string) (*Contents, error) {
	names, skipped, err := list(dir)
	if err != nil {
		return nil, err
	}
	nights, bad := make([]*history.Night, len(names)), make([]*Skipped, len(names))
	each(len(names), func(i int) {
		path := filepath.Join(dir, names[i])
		text, why := intact(path)
		if why == nil {
			nights[i], why = decode(text)
		}
		switch {
		case why != nil:
			nights[i], bad[i] = nil, &Skipped{path, why.Error(), errors.Is(why, errDamaged)}
		case !strings.HasPrefix(names[i], nights[i].Night):
			nights[i], bad[i] = nil, &Skipped{path, "is of the night " + quote.Line(nights[i].Night, quote.Name), false}
		}
	})
	c := &Contents{Skipped: skipped}
	for i, n := range nights {
		if n != nil {
			c.Nights = append(c.Nights, *n)
		} else {
			c.Skipped = append(c.Skipped, *bad[i])
		}
	}
	return c, nil
}

// list lists the names of the files of a store, and other files. It ignores hidden files and folders.
func list(dir string) (names []string, skipped []Skipped, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("store: %w; store add makes a store", err)
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, ".") || e.IsDir():
		case !named.MatchString(name):
			skipped = append(skipped, Skipped{filepath.Join(dir, name), "not a file of a store", false})
		default:
			names = append(names, name)
		}
	}
	if len(names) > maxFiles {
		return nil, nil, fmt.Errorf("store: %s has more than %d files; keep older years in another", dir, maxFiles)
	}
	return names, skipped, nil
}

// each calls f with 0 to n-1, as many calls at once as there are processors.
func each(n int, f func(i int)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
}

// Add writes a night into a store, which it creates if necessary, and returns the file's path. An identical night that
// exists is kept.
func Add(dir string, n *history.Night) (path string, err error) {
	text, err := encode(n)
	if err != nil {
		return "", err
	}
	return put(dir, n.Night+"-"+hash(text)+".ndjson", text)
}

// put writes a file completely or not at all.
func put(dir, name string, text []byte) (path string, err error) {
	path = filepath.Join(dir, name)
	if _, err := os.Stat(path); err == nil {
		if old, err := intact(path); err == nil && len(old) == len(text) {
			return path, nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("store: %w", err)
	}
	if err := whole.Write(path, text, 0o644); err != nil {
		return "", fmt.Errorf("store: write %s: %w; nothing was changed", path, err)
	}
	return path, nil
}

// bare removes the path from an error whose message has it already.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Merged is the result of a merge.
type Merged struct {
	Copied, Had int
	Skipped     []Skipped // in the stores that were read
}

// Merge copies nights and documents of other stores into a store, byte by byte, including those of newer programs that
// this one cannot read. Damaged files are skipped.
func Merge(into string, from []string) (*Merged, error) {
	m := &Merged{}
	for _, dir := range from {
		names, skipped, err := list(dir)
		if err != nil {
			return m, err
		}
		m.Skipped = append(m.Skipped, skipped...)
		more, skipped, err := listDocuments(dir)
		if err != nil {
			return m, err
		}
		m.Skipped = append(m.Skipped, skipped...)
		for _, name := range more {
			names = append(names, filepath.Join(documents, name))
		}
		for _, name := range names {
			if err := m.copy(into, dir, name); err != nil {
				return m, err
			}
		}
	}
	return m, nil
}

// copy copies an intact file, unless the store has it.
func (m *Merged) copy(into, dir, name string) error {
	text, why := intact(filepath.Join(dir, name))
	if why != nil {
		m.Skipped = append(m.Skipped, Skipped{filepath.Join(dir, name), why.Error(), true})
		return nil
	}
	if _, err := intact(filepath.Join(into, name)); err == nil {
		m.Had++
		return nil
	}
	_, err := put(into, name, text)
	if err == nil {
		m.Copied++
	}
	return err
}

// Damaged returns the files that should have been read and could not.
func Damaged(list []Skipped) []Skipped {
	return slices.DeleteFunc(slices.Clone(list), func(s Skipped) bool { return !s.Damaged })
}
