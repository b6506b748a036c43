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
	inputs   []io.Seeker // of the captures
	sizes    []int64     // bytes of the inputs
	captures []*capture.Reader
	names    []string // names of the captures
	sources  []capture.Source
	twice    uint64 // frames left out as repetitions by a mirror
	alone    uint64 // frames that a mirror showed again, and not twice
	single   uint64 // frames that a mirror showed once only
}

// Part is one of several captures that are read together: a file, or a copy in memory or elsewhere of data without a
// file of its own.
type Part struct {
	Name string      // the path of the file, or a name for messages when there is a copy
	Copy io.ReaderAt // nil: the part is a file
	Size int64       // bytes of the copy
}

// open returns a reader of the part from its beginning.
func (p *Part) open(c *captureFiles) (io.Reader, error) {
	if p.Copy != nil {
		copied := io.NewSectionReader(p.Copy, 0, p.Size)
		c.inputs, c.sizes = append(c.inputs, copied), append(c.sizes, p.Size)
		return copied, nil
	}
	file, err := os.Open(p.Name)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	c.files = append(c.files, file)
	if info, err := file.Stat(); err == nil {
		c.inputs, c.sizes = append(c.inputs, file), append(c.sizes, info.Size())
	}
	return file, nil
}

// progress returns the part of the captures that has been read: 1 for all, and where that is unknown.
func (c *captureFiles) progress() float64 {
	var read, all int64
	for i, in := range c.inputs {
		at, err := in.Seek(0, io.SeekCurrent)
		if err != nil {
			return 1
		}
		read, all = read+at, all+c.sizes[i]
	}
	if all == 0 {
		return 1
	}
	return min(float64(read)/float64(all), 1)
}

// openAll opens all parts; on an error it closes those already opened.
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

// add adds a capture under a name.
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

// header returns the header of captures that this program wrote; ok is false when any is of another program. The error
// is capture.ErrTwoRuns when their headers differ.
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

// anew opens the same captures from their beginnings, calls a function with them, and closes them.
type anew func(func(*captureFiles) error) error

// again returns the anew for parts.
func again(parts []Part) anew {
	return func(f func(*captureFiles) error) error {
		c, err := openAll(parts)
		if err != nil {
			return err
		}
		return errors.Join(f(c), c.close())
	}
}

// filesAnew returns the anew for files.
func filesAnew(paths []string) anew {
	parts := make([]Part, len(paths))
	for i, path := range paths {
		parts[i].Name = path
	}
	return again(parts)
}

// peek reads the first frame of every capture, because the interfaces of a pcapng file are not known before.
func (c *captureFiles) peek() {
	var f capture.Frame
	for _, src := range c.sources {
		// An error recurs when the capture is read.
		_ = src.Next(&f)
	}
}

// count sets the counts of a Capture.
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
	to.Twice, to.Alone, to.Single = c.twice, c.alone, c.single
	to.Frames -= c.twice
	to.MTU, _ = l.sizes.most()
	to.BadICRC, to.Headless = l.bad, l.headless
	if l.beyond > 0 {
		to.Limit = fmt.Sprintf("%d frames are of more than %d flows, and judged as of no connection; split the capture",
			l.beyond, l.limit)
	}
}

// addAll adds the counts of one map to another.
func addAll(to *map[string]uint64, counts map[string]uint64) {
	for what, n := range counts {
		if *to == nil {
			*to = map[string]uint64{}
		}
		(*to)[what] += n
	}
}

// counts returns a description of the frames of the captures, for an error.
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

// addFrames plays in, with the bytes of the captured frames added to its records.
func addFrames(in *ndjson.Reader, own *trace.Header, sources []capture.Source, s trace.Sink) error {
	var broken error
	next, stop := iter.Pull2(func(yield func(uint64, *trace.Record) bool) {
		_, broken = capture.Reunite(own, sources, yield)
	})
	d := &frameAdder{sink: s, next: next, more: true}
	err := in.Play(d)
	stop()
	return errors.Join(err, broken)
}

// frameAdder is a sink that adds frames to the records of a trace; both are in the order of the stream.
type frameAdder struct {
	sink  trace.Sink
	next  func() (uint64, *trace.Record, bool)
	index uint64 // index of the next record of the trace
	at    uint64 // index of the record in bytes
	bytes *trace.Record
	more  bool
}

// Packet implements trace.Sink.
func (d *frameAdder) Packet(r *trace.Record) {
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
func (d *frameAdder) Event(e *trace.Event) { d.sink.Event(e) }

// End implements trace.Sink.
func (d *frameAdder) End(at vtime.Time) { d.sink.End(at) }
