package night

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/harness/whole"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/history/store"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/site"
)

// Site writes the pages of a store into a folder and returns how many files they are, and what of the store could not
// be read. Tonight is what the newest night tells of itself, if anything is known of it.
func Site(
	ctx context.Context,
	dir, from string,
	nights []history.Night,
	tonight *model.Night,
) (int, []store.Skipped, error) {
	e, skipped, err := Documents(ctx, from)
	if err != nil {
		return 0, skipped, fault.Broken(err)
	}
	all, err := pages(dir, from, nights, tonight, e)
	if err != nil {
		return 0, skipped, fault.Broken(err)
	}
	n, err := write(dir, all)
	return n, skipped, err
}

// pages are those of a store, to be written into a folder. Paths of runs are absolute, or begin in the working
// directory.
func pages(dir, from string, nights []history.Night, tonight *model.Night, e site.Evidence) (*site.Site, error) {
	here, err := os.Getwd()
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	return &site.Site{
		Version:  build.Version(),
		Store:    from,
		Folder:   dir,
		From:     here,
		There:    there(),
		Nights:   nights,
		Tonight:  tonight,
		Evidence: e,
	}, err
}

// there reports whether a file is there, and remembers it: many points are of one run.
func there() func(path string) bool {
	seen := map[string]bool{}
	return func(path string) bool {
		is, known := seen[path]
		if !known {
			_, err := os.Stat(path)
			is, seen[path] = err == nil, err == nil
		}
		return is
	}
}

// page is the name of a page that not every site has.
var page = regexp.MustCompile(`^(series|change|failure|device)-[0-9a-f]{12}\.html$`)

// write writes all files, each whole or not at all, and removes pages of before.
func write(dir string, s *site.Site) (int, error) {
	list, err := s.Pages()
	if err != nil {
		return 0, fault.Broken(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, fault.Broken(fmt.Errorf("site: %w", err))
	}
	now := map[string]bool{}
	for _, p := range slices.Backward(list) { // the index last: what it links to is there
		now[p.Name] = true
		var text bytes.Buffer
		err := p.Write(&text)
		if err == nil {
			err = whole.Replace(filepath.Join(dir, p.Name), text.Bytes(), 0o644)
		}
		if err != nil {
			const again = "it and the index are as before; gauntlet site STORE --out FOLDER writes them again"
			return 0, fault.Broken(fmt.Errorf("site: write %s: %w; %s", filepath.Join(dir, p.Name), err, again))
		}
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if page.MatchString(e.Name()) && !now[e.Name()] {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return len(list), fault.Broken(err)
}

// Site writes the pages that the plan asks for, with the night in them, also when it had no result at all. What they
// show of runs goes into the store; documents of the store that cannot be read are notes of the night.
func (s *Session) Site(ctx context.Context) error {
	if s.options.Site == "" {
		return nil
	}
	if s.options.Kept != nil {
		if err := s.repeat(ctx); err != nil {
			return err
		}
	}
	e, skipped, err := Documents(ctx, s.options.Store)
	for _, x := range skipped {
		s.note(x.String())
	}
	if err != nil {
		return err
	}
	all, err := pages(s.options.Site, s.options.Store, s.nights(), s.out, e)
	if err != nil {
		return fault.Broken(err)
	}
	if err := KeepRuns(s.options.Store, all); err != nil {
		return err
	}
	_, err = write(s.options.Site, all)
	return err
}
