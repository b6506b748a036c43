package recording

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"reflect"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ndjson"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// captureFiles are open captures.
type captureFiles struct {
	files    []*os.File
	captures []*capture.Reader
	names    []string // of the captures
	sources  []capture.Source
	twice    uint64 // frames that were left out, because they had been seen before
}

// Part is one of the captures that are read together: a file, or the copy of what has no file of its own.
type Part struct {
	Name string      // the path, if there is no copy
	Copy io.ReaderAt // nil: there is none
	Size int64       // bytes of the copy
}

// open returns the bytes of a part from their beginning.
func (p *Part) open(c *captureFiles) (io.Reader, error) {
	if p.Copy != nil {
		return io.NewSectionReader(p.Copy, 0, p.Size), nil
	}
	file, err := os.Open(p.Name)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	c.files = append(c.files, file)
	return file, nil
}

// openAll opens captures; when one cannot be opened, none stays open.
func openAll(parts []Part) (*captureFiles, error) {
	c := &captureFiles{}
	for i := range parts {
		in, err := parts[i].open(c)
		if err == nil {
			err = c.add(parts[i].Name, in)
		}
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

// add takes in a capture by its name.
func (c *captureFiles) add(path string, r io.Reader) error {
	in, err := capture.NewReader(r)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	c.captures, c.names = append(c.captures, in), append(c.names, path)
	c.sources = append(c.sources, in)
	return nil
}

// close closes all files and joins their errors.
func (c *captureFiles) close() error {
	var err error
	for _, f := range c.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// header returns that of our own captures; ok is false when any is of other origin. The error is capture.ErrTwoRuns
// where their headers differ.
func (c *captureFiles) header() (h trace.Header, ok bool, err error) {
	for _, in := range c.captures {
		if own := in.Header(); own == nil || len(own.Conns) == 0 {
			return h, false, nil
		}
	}
	h = *c.captures[0].Header()
	for _, in := range c.captures[1:] {
		if !reflect.DeepEqual(in.Header(), &h) {
			return h, true, capture.ErrTwoRuns
		}
	}
	h.Bytes, h.Reports, h.Taps = true, 0, [2]bool{}
	for _, in := range c.captures {
		for side, tapped := range in.Taps() {
			h.Taps[side] = h.Taps[side] || tapped
		}
	}
	return h, h.Taps != [2]bool{}, nil
}

// anew opens the same captures from their beginnings and runs a function on them.
type anew func(func(*captureFiles) error) error

// again is anew for these parts.
func again(parts []Part) anew {
	return func(f func(*captureFiles) error) error {
		c, err := openAll(parts)
		if err != nil {
			return err
		}
		return errors.Join(f(c), c.close())
	}
}

// filesAnew is anew for files.
func filesAnew(paths []string) anew {
	parts := make([]Part, len(paths))
	for i, path := range paths {
		parts[i].Name = path
	}
	return again(parts)
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
	to.Counted = true
	for i, in := range c.captures {
		s := in.Stats()
		to.Counted = to.Counted && s.Counted
		to.Files = append(to.Files, File{c.names[i], s.Frames + s.Foreign})
		to.Frames, to.Skipped, to.Cut, to.Dropped = to.Frames+s.Frames, to.Skipped+s.Foreign, to.Cut+s.Cut,
			to.Dropped+s.Dropped
		addAll(&to.Kinds, s.Kinds)
		addAll(&to.Tunnels, s.Tunnels)
	}
	to.Twice = c.twice
	to.Frames -= c.twice
	to.MTU, _ = l.sizes.most()
	to.BadICRC, to.Headless = l.bad, l.headless
	if l.beyond > 0 {
		to.Limit = fmt.Sprintf("limit: %d frames are of more than %d flows, and judged as of no "+
			"connection; split the capture", l.beyond, l.limit)
	}
}

// addAll adds counts.
func addAll(to *map[string]uint64, counts map[string]uint64) {
	for what, n := range counts {
		if *to == nil {
			*to = map[string]uint64{}
		}
		(*to)[what] += n
	}
}

// counts says what the captures held.
func (c *captureFiles) counts(l *learner) string {
	var frames, foreign uint64
	for _, in := range c.captures {
		frames += in.Stats().Frames
		foreign += in.Stats().Foreign
	}
	text := fmt.Sprintf("%d frames on UDP port 4791, %d others", frames, foreign)
	if l.headless > 0 {
		text += fmt.Sprintf("; %d of them without all their headers: capture 128 bytes of a frame or more", l.headless)
	}
	return text
}

// trusting is as, but the ICRC of the frames that were read is not looked at again, when none was wrong.
func (l *learner) trusting(as anew) anew {
	if l.bad > 0 {
		return as
	}
	frames := l.frames // and nothing else of it
	return func(f func(*captureFiles) error) error {
		return as(func(c *captureFiles) error {
			for i := range c.sources {
				c.sources[i] = &capture.Sound{Source: c.sources[i], Frames: frames[i]}
			}
			return f(c)
		})
	}
}

// dress plays in with the frames of the captures put back into its records.
func dress(in *ndjson.Reader, own *trace.Header, sources []capture.Source, s trace.Sink) error {
	var broken error
	next, stop := iter.Pull2(func(yield func(uint64, *trace.Record) bool) {
		_, broken = capture.Reunite(own, sources, yield)
	})
	d := &dresser{sink: s, next: next, more: true}
	err := in.Play(d)
	stop()
	return errors.Join(err, broken)
}

// dresser walks a trace and its frames side by side; both are in the order of the stream.
type dresser struct {
	sink  trace.Sink
	next  func() (uint64, *trace.Record, bool)
	index uint64 // of the next record from the trace
	at    uint64 // of bytes
	bytes *trace.Record
	more  bool
}

// Packet implements trace.Sink.
func (d *dresser) Packet(r *trace.Record) {
	for d.more && (d.bytes == nil || d.at < d.index) {
		d.at, d.bytes, d.more = d.next()
	}
	if d.more && d.at == d.index {
		b := d.bytes
		r.Raw, r.Packet.Payload, r.Packet.Pad = b.Raw, b.Packet.Payload, b.Packet.Pad
		if c := b.Changed; c != nil && r.Changed != nil {
			r.Changed.Raw, r.Changed.Packet.Payload, r.Changed.Packet.Pad = c.Raw, c.Packet.Payload, c.Packet.Pad
		}
	}
	d.index++
	d.sink.Packet(r)
}

// Event implements trace.Sink.
func (d *dresser) Event(e *trace.Event) { d.sink.Event(e) }

// End implements trace.Sink.
func (d *dresser) End(at vtime.Time) { d.sink.End(at) }
