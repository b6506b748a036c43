package recording

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// captureFiles are open captures.
type captureFiles struct {
	files    []*os.File
	captures []*capture.Reader
	sources  []capture.Source
}

// openAll opens captures; when one cannot be opened, none stays open.
func openAll(paths []string) (*captureFiles, error) {
	c := &captureFiles{}
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("trace: %w", err), c.close())
		}
		c.files = append(c.files, file)
		if err := c.add(path, file); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	c.label(paths)
	return c, nil
}

// label gives several files the sides of their names, and two files without such names A and B in their order. The name of a single
// file says nothing.
func (c *captureFiles) label(paths []string) {
	if len(paths) < 2 {
		return
	}
	named := 0
	for i, path := range paths {
		if side, ok := sideOfFile(path); ok {
			c.sources[i] = capture.AtTap{Source: c.captures[i], Side: side}
			named++
		}
	}
	if named == 0 && len(paths) == 2 {
		for i := range paths {
			c.sources[i] = capture.AtTap{Source: c.captures[i], Side: trace.Side(i)}
		}
	}
}

// add takes in a capture by its name.
func (c *captureFiles) add(path string, r io.Reader) error {
	in, err := capture.NewReader(r)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	c.captures = append(c.captures, in)
	c.sources = append(c.sources, in)
	return nil
}

// sideOfFile tells the tap of files named A.pcapng or B-something.pcap.
func sideOfFile(path string) (trace.Side, bool) {
	name := filepath.Base(path)
	if len(name) < 2 || !strings.ContainsRune(".-_", rune(name[1])) {
		return trace.A, false
	}
	return trace.ParseSide(name[:1])
}

// close closes all files and joins their errors.
func (c *captureFiles) close() error {
	var err error
	for _, f := range c.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// header returns that of our own captures; ok is false when any is of other origin.
func (c *captureFiles) header() (h trace.Header, ok bool) {
	for _, in := range c.captures {
		if own := in.Header(); own == nil || len(own.Conns) == 0 {
			return h, false
		}
	}
	h = *c.captures[0].Header()
	h.Bytes, h.Reports, h.Taps = true, 0, [2]bool{}
	for _, in := range c.captures {
		for side, tapped := range in.Taps() {
			h.Taps[side] = h.Taps[side] || tapped
		}
	}
	return h, h.Taps != [2]bool{}
}

// with opens the captures anew and runs f on them.
func with(paths []string, f func(*captureFiles) error) error {
	c, err := openAll(paths)
	if err != nil {
		return err
	}
	return errors.Join(f(c), c.close())
}

// anew opens the same captures from their beginnings and runs a function on them.
type anew func(func(*captureFiles) error) error

// filesAnew is anew for files.
func filesAnew(paths []string) anew {
	return func(f func(*captureFiles) error) error { return with(paths, f) }
}

// peek reads the first frame of every capture: before that, the interfaces of a pcapng file are not known.
func (c *captureFiles) peek() {
	var f capture.Frame
	for _, src := range c.sources {
		// An error shows again when the capture is read.
		_ = src.Next(&f)
	}
}

// count fills in what the captures held.
func (c *captureFiles) count(l *learner, to *Capture) {
	for _, in := range c.captures {
		s := in.Stats()
		to.Frames, to.Skipped, to.Cut, to.Dropped = to.Frames+s.Frames, to.Skipped+s.Foreign, to.Cut+s.Cut, to.Dropped+s.Dropped
	}
	to.MTU, to.BadICRC = l.mtu(), l.bad
}

// counts says what the captures held.
func (c *captureFiles) counts() string {
	var frames, foreign uint64
	for _, in := range c.captures {
		frames += in.Stats().Frames
		foreign += in.Stats().Foreign
	}
	return fmt.Sprintf("%d frames on UDP port 4791, %d others", frames, foreign)
}
