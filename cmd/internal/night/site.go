package night

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/site"
)

// Site writes the pages of a store into a folder and returns how many files they are. Tonight is what the newest night
// tells of itself, if anything is known of it.
func Site(dir, store string, nights []history.Night, tonight *model.Night) (int, error) {
	s := site.Site{Version: build.Version(), Store: store, Folder: here(dir), Nights: nights, Tonight: tonight}
	pages, err := s.Pages()
	if err != nil {
		return 0, err
	}
	files := make([]document.Document, len(pages))
	for i, p := range pages {
		files[i] = document.Document(p)
	}
	if err := document.Folder(dir, files); err != nil {
		return 0, fmt.Errorf("site: %w", err)
	}
	return len(files), nil
}

// here is a folder as seen from the working directory, from where the paths of runs begin too.
func here(dir string) string {
	if wd, err := os.Getwd(); err == nil && filepath.IsAbs(dir) {
		if rel, err := filepath.Rel(wd, dir); err == nil {
			return rel
		}
	}
	return dir
}
