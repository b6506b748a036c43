package units

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
)

// batchFile is the name of the file in a folder of results that describes their batch.
const batchFile = "batch.json"

// mostBatch bounds that file, in bytes: about a hundred for each unit.
const mostBatch = 256 << 20

// Batch is the list of units of a command.
type Batch struct {
	Format  int      `json:"format"`
	Command []string `json:"command"` // without the program's name and the flags that do not change the result
	Maker   Maker    `json:"maker"`
	Units   []Entry  `json:"units"`
}

// Entry is a unit in a batch.
type Entry struct {
	Key  string `json:"key"`
	Name string `json:"name"`
}

// NewBatch returns the batch of a command; equal units are listed once.
func NewBatch(command []string, all []Unit) *Batch {
	b := &Batch{Format: formatVersion, Command: command, Maker: self()}
	for _, u := range distinct(all) {
		b.Units = append(b.Units, Entry{u.Key, u.Name})
	}
	return b
}

// distinct leaves out units whose key an earlier one has.
func distinct(all []Unit) []Unit {
	var out []Unit
	seen := map[string]bool{}
	for _, u := range all {
		if !seen[u.Key] {
			seen[u.Key] = true
			out = append(out, u)
		}
	}
	return out
}

// CommandLine returns the command, quoted for a shell.
func (b *Batch) CommandLine() string { return build.Quoted(b.Command) }

// Begin writes the batch to the first folder of f if that has none, and checks that all folders have the same batch.
// Several machines may call it at once. The error is the user's when a folder is of another batch.
func (f *Folder) Begin(b *Batch) error {
	for i, dir := range f.dirs {
		there, err := readBatch(dir)
		switch {
		case errors.Is(err, os.ErrNotExist) && i == 0:
			err = b.write(dir)
		case err == nil:
			if err := b.same(there, dir); err != nil {
				return fault.Usage(err)
			}
		}
		if err != nil {
			return fault.Broken(err)
		}
	}
	return nil
}

// same returns an error unless the batch of a folder is equal to b.
func (b *Batch) same(there *Batch, dir string) error {
	switch ours, theirs := b.CommandLine(), there.CommandLine(); {
	case there.Maker.Program != b.Maker.Program:
		return fmt.Errorf("units: %s was begun by %s; this is %s: take that one, or a new folder", dir,
			there.Maker, b.Maker)
	case ours != theirs:
		return fmt.Errorf("units: %s holds results of %q, not of %q; take another folder", dir, theirs, ours)
	}
	mine, err := b.text()
	if err != nil {
		return err
	}
	if other, err := there.text(); err != nil || !bytes.Equal(mine, other) {
		return fmt.Errorf("units: %s holds other units of the same command: "+
			"a file that the command reads has changed; take a new folder", dir)
	}
	return nil
}

func (b *Batch) text() ([]byte, error) { return json.Marshal(b) }

// write writes the batch to a folder atomically.
func (b *Batch) write(dir string) error {
	text, err := b.text()
	if err != nil {
		return err
	}
	return put(filepath.Join(dir, batchFile), append(text, '\n'))
}

// readBatch reads the batch of a folder; the error is os.ErrNotExist if there is none.
func readBatch(dir string) (*Batch, error) {
	path := filepath.Join(dir, batchFile)
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("units: %s is no folder of results: %w", dir, err)
	}
	if !info.Mode().IsRegular() || info.Size() > mostBatch {
		return nil, fmt.Errorf("units: %s: want a file of %d bytes at most", path, mostBatch)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("units: %w", err)
	}
	var b Batch
	err = json.Unmarshal(text, &b)
	switch {
	case err != nil:
		return nil, fmt.Errorf("units: %s: truncated or damaged: %w", path, err)
	case b.Format != formatVersion:
		return nil, fmt.Errorf("units: %s: format %d, by %s; this program reads %d", path, b.Format,
			b.Maker, formatVersion)
	case len(b.Command) == 0:
		return nil, fmt.Errorf("units: %s: names no command", path)
	}
	return &b, nil
}
