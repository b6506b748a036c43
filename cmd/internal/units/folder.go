package units

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
)

// Folder holds the results of one batch. It may span several folders: results are read from all and written to the
// first.
type Folder struct {
	dirs []string

	mu    sync.Mutex
	found int // results that were read
	made  int // results that were made and written
}

// OpenFolder opens folders, and makes the first if it does not exist.
func OpenFolder(dirs ...string) (*Folder, error) {
	if err := os.MkdirAll(dirs[0], 0o755); err != nil {
		return nil, fault.Broken(fmt.Errorf("units: %w", err))
	}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fault.Usage(fmt.Errorf("units: %s: no folder", dir))
		}
	}
	return &Folder{dirs: dirs}, nil
}

// get reads the result of a unit from the first folder that has it.
func (f *Folder) get(key, ending string) (result []byte, ok bool, err error) {
	for _, dir := range f.dirs {
		h, result, err := read(filepath.Join(dir, key+ending))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil && h.Key != key {
			err = fmt.Errorf("units: %s: holds the result of another unit, %s", filepath.Join(dir, key+ending), h.Key)
		}
		return result, err == nil, err
	}
	return nil, false, nil
}

// Kept returns the result of a unit from the folder, or makes it and writes it. An error of make writes nothing. In
// both cases the result has been encoded and decoded, so that its use does not depend on where it came from.
func Kept[T any](f *Folder, u Unit, make func() (T, error)) (T, error) {
	var out T
	text, ok, err := f.get(u.Key, ending)
	if err == nil && !ok {
		text, err = keep(f, u, ending, make)
	} else if ok {
		f.count(&f.found)
	}
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return out, fmt.Errorf("units: %s, %s: %w", u.Name, u.Key, err)
	}
	return out, nil
}

// keep makes a result, and writes it to a file with this ending.
func keep[T any](f *Folder, u Unit, ending string, make func() (T, error)) ([]byte, error) {
	running := processor.begin()
	x, err := make()
	taken := processor.end(running)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(x)
	if err != nil {
		return nil, fmt.Errorf("units: %s: %w", u.Name, err)
	}
	h := head{Key: u.Key, Work: u.Work, Name: u.Name, Seconds: taken.Seconds()}
	if err := write(filepath.Join(f.dirs[0], u.Key+ending), h, text); err != nil {
		return nil, err
	}
	f.count(&f.made)
	return text, nil
}

func (f *Folder) count(n *int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*n++
}

// paths lists the files of a folder with an ending, sorted.
func paths(dir, ending string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("units: %w", err)
	}
	var out []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ending) {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out, nil
}

// Costs reads the seconds that units took, by their work, from a folder of results.
func Costs(dir string) (map[string]float64, error) {
	files, err := paths(dir, ending)
	if err != nil {
		return nil, err
	}
	costs := map[string]float64{}
	for _, path := range files {
		h, _, err := read(path)
		if err != nil {
			return nil, err
		}
		costs[h.Work] = h.Seconds
	}
	if len(costs) == 0 {
		return nil, fmt.Errorf("units: %s: no results whose cost could be read", dir)
	}
	return costs, nil
}
