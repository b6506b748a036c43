// Package store keeps nights in a folder: one file for each night and host, of lines of JSON, named by the day and the
// hash of its content, and never changed. So two nights at once are no conflict, merging two stores is the union of
// their files, and what a newer program has written in them stays. The folder may be a branch of a repository.
//
// What is not such a file, or is no longer whole, is named and left alone.
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

// Bounds of a store.
const (
	maxFiles = 100_000
	maxFile  = 64 << 20 // bytes
	maxLine  = 1 << 20
)

// named is the name of a file: the day, and the first half of the SHA-256 of its content.
var named = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}-[0-9a-f]{32}\.ndjson$`)

// Skipped is a file that was not read.
type Skipped struct {
	File    string
	Why     string
	Damaged bool // it should have been read: its name is one of ours, and its content is not what that says
}

// String is the line for people.
func (s Skipped) String() string {
	return fmt.Sprintf("%s: skipped: %s", quote.Line(s.File, quote.Sentence), s.Why)
}

// Contents is what a store holds, the nights in the order of their files' names.
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

// list names the files of a store, and what else lies there. Hidden files are nobody's business, nor are folders.
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

// each calls f with 0 to n-1, as many at once as there are processors.
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

// Add writes a night into a store, which is made when there is none, and returns the file's path. A night that is there
// already is left as it is.
func Add(dir string, n *history.Night) (path string, err error) {
	text, err := encode(n)
	if err != nil {
		return "", err
	}
	return put(dir, n.Night+"-"+hash(text)+".ndjson", text)
}

// put writes a file whole or not at all.
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

// bare strips the path that the message has already.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Merged is what a merge did.
type Merged struct {
	Copied, Had int
	Skipped     []Skipped // of the stores that were read
}

// Merge copies into a store what others have, nights and documents, byte by byte, also what this program cannot read
// because a newer one wrote it. What is damaged is skipped.
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

// copy copies a file that is whole, unless it is there.
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

// Damaged are the files that should have been read and could not.
func Damaged(list []Skipped) []Skipped {
	return slices.DeleteFunc(slices.Clone(list), func(s Skipped) bool { return !s.Damaged })
}
