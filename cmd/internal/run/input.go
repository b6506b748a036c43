package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/recording"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Standard names standard input as the path of a trace.
const Standard = "-"

// spoolLimit bounds the copy of a pipe, in bytes.
const spoolLimit = 16 << 30

// Unreadable is the error of a trace that does not exist, has no known format, or is truncated. Its text names the file
// once.
type Unreadable struct {
	Name string // as the user gave it
	Err  error
}

// Error implements error.
func (u *Unreadable) Error() string {
	text := u.Err.Error()
	if errors.Is(u.Err, trace.ErrTruncated) {
		text += "; copy or capture it again, to its end"
	}
	for _, form := range []string{" " + u.Name + ":", " " + u.Name + " ", strconv.Quote(u.Name)} {
		if strings.Contains(" "+text, form) {
			return text
		}
	}
	return u.Name + ": " + text
}

// Unwrap returns the cause.
func (u *Unreadable) Unwrap() error { return u.Err }

// input is a trace to read: a file, a folder, a pipe, or several captures of one traffic. A trace is played more than
// once, so an input holds a copy of each pipe.
type input struct {
	name   string
	header trace.Header
	open   func(trace.Sink) error
	seen   *recording.Capture // how the frames of a foreign capture were interpreted; nil for other traces
	spools []*os.File         // copies of pipes
}

// openInput opens the trace at a path.
func openInput(ctx context.Context, path string) (*input, error) {
	return openTapped(ctx, []string{path}, recording.Stated{})
}

// openTapped opens the trace at a path, or the captures at several paths; as is what the user states of foreign
// captures.
func openTapped(ctx context.Context, paths []string, as recording.Stated) (*input, error) {
	in := &input{}
	var parts []recording.Part
	var err error
	for _, path := range paths {
		var p recording.Part
		if p, err = in.part(ctx, path); err != nil {
			in.name = p.Name
			break
		}
		parts = append(parts, p)
		in.name += strings.Repeat(", ", min(1, len(in.name))) + p.Name
	}
	if err == nil {
		var r recording.Recording
		r, err = recording.ReadAll(parts, as)
		in.header, in.open, in.seen = r.Header, r.Play, r.Capture
	}
	if err != nil {
		in.close()
		return nil, in.blame(ctx, err)
	}
	return in, nil
}

// part returns the part of a recording at a path. It copies a path that can be read only once.
func (in *input) part(ctx context.Context, path string) (recording.Part, error) {
	p := recording.Part{Name: path}
	if path == Standard {
		p.Name = "standard input"
	}
	if !piped(path) {
		return p, nil
	}
	copied, err := spool(ctx, path, p.Name, spoolLimit)
	if err != nil {
		return p, err
	}
	in.spools = append(in.spools, copied)
	info, err := copied.Stat()
	if err != nil {
		return p, err
	}
	p.Copy, p.Size = copied, info.Size()
	return p, nil
}

// piped reports whether a path can be read only once: standard input, a FIFO or a device.
func piped(path string) bool {
	if path == Standard {
		return true
	}
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// play plays the trace to s. It may be called more than once.
func (in *input) play(s trace.Sink) error {
	if err := in.open(s); err != nil {
		return &Unreadable{in.name, err}
	}
	return nil
}

// close frees the copies of pipes.
func (in *input) close() {
	for _, f := range in.spools {
		_ = f.Close() // the copy was only read
	}
}

// errSpool is in the error of a pipe that could not be copied: this machine is at fault, not the trace.
var errSpool = errors.New("copy it to a file with more room and name that, or set TMPDIR")

// blame wraps an error as Unreadable, unless the user interrupted the command or this machine is at fault.
func (in *input) blame(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, errSpool) {
		return err
	}
	return &Unreadable{in.name, err}
}

// spool copies a path that can be read only once into an unlinked file, so that nothing is left on disk however the
// process ends. It waits for a pipe without data until ctx ends.
func spool(ctx context.Context, path, name string, most int64) (*os.File, error) {
	to, err := scratch()
	if err != nil {
		return nil, fmt.Errorf("spool of %s in %s: %w; %w", name, os.TempDir(), err, errSpool)
	}
	copied := make(chan error, 1)
	go func() { copied <- copyAll(to, path, name, most) }()
	select {
	case err = <-copied:
	case <-ctx.Done(): // the copying goroutine ends with the process
		err = fmt.Errorf("%s: interrupted: %w", name, context.Cause(ctx))
	}
	if err != nil {
		_ = to.Close() // the copy is incomplete
		return nil, err
	}
	return to, nil
}

// copyAll copies a pipe to its end.
func copyAll(to *os.File, path, name string, most int64) error {
	from := os.Stdin
	if path != Standard {
		var err error
		if from, err = os.Open(path); err != nil {
			return err
		}
		defer from.Close()
	}
	head := make([]byte, recording.HeadLength)
	n, _ := io.ReadFull(from, head) // io.Copy returns the same error
	head = head[:n]
	if err := recording.Begins(head); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	copied, err := io.Copy(writing{to}, io.LimitReader(io.MultiReader(bytes.NewReader(head), from), most+1))
	var full *spoolError
	switch {
	case errors.As(err, &full):
		return fmt.Errorf("spool of %s in %s: %w; %w", name, os.TempDir(), full.error, errSpool)
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case copied > most:
		return fmt.Errorf("%s: more than %d bytes, the limit of a pipe; write it to a file and name that", name, most)
	}
	return nil
}

// writing marks write errors of the copy, so that they can be told from read errors of its source.
type writing struct{ *os.File }

// spoolError is a write error of the copy.
type spoolError struct{ error }

// Write implements io.Writer.
func (w writing) Write(p []byte) (int, error) {
	n, err := w.File.Write(p)
	if err != nil {
		err = &spoolError{bare(err)}
	}
	return n, err
}

// ReadFrom hides os.File.ReadFrom, whose errors do not tell reading from writing.
func (w writing) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{w}, r)
}

// scratch creates an unlinked temporary file.
func scratch() (*os.File, error) {
	f, err := os.CreateTemp("", "gauntlet-spool-*")
	if err != nil {
		return nil, bare(err)
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close() // the error of Remove says more
		return nil, err
	}
	return f, nil
}
