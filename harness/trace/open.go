package trace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Names within a run folder.
const (
	NDJSONName = "trace.ndjson"
	TapsName   = "taps"
)

// Open finds a trace in a file or folder: NDJSON; pcap or pcapng of any origin; a run folder, which holds trace.ndjson
// and taps/*.pcapng; or a folder of captures. It returns what the trace is of, and a function that plays it, which may
// be called again.
//
// Captures that this package wrote give the trace from which they were written, without the events. Of others, the
// connections, the MTU and the start PSNs are learnt from the frames. Files named A.* and B.*, or interfaces whose names
// begin with "A:" and "B:", are the two taps of one link; any other file is one tap, at the side that sends the first
// request.
func Open(path string) (Header, func(Sink) error, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Header{}, nil, fmt.Errorf("trace: %w", err)
	}
	if info.IsDir() {
		return openFolder(path)
	}
	if strings.HasSuffix(path, ".ndjson") {
		return openNDJSON(path)
	}
	return openCaptures([]string{path})
}

// openFolder prefers everything: NDJSON with the bytes of the captures, and else what there is.
func openFolder(dir string) (Header, func(Sink) error, error) {
	captures := capturesIn(filepath.Join(dir, TapsName))
	if len(captures) == 0 {
		captures = capturesIn(dir)
	}
	text := filepath.Join(dir, NDJSONName)
	_, err := os.Stat(text)
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(captures) == 0:
		return Header{}, nil, fmt.Errorf("trace: %s holds neither %s nor captures", dir, NDJSONName)
	case err != nil:
		return openCaptures(captures)
	case len(captures) == 0:
		return openNDJSON(text)
	}
	return openBoth(text, captures)
}

// capturesIn lists the capture files of a folder by name.
func capturesIn(dir string) (list []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".gz")
		if ext := filepath.Ext(name); ext == ".pcapng" || ext == ".pcap" {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list
}

// openNDJSON reads the header now and the rest with every play.
func openNDJSON(path string) (h Header, play func(Sink) error, err error) {
	err = reading(path, func(r io.Reader) error {
		in, err := NewReader(r)
		if err == nil {
			h = *in.Header()
		}
		return err
	})
	return h, func(s Sink) error {
		return reading(path, func(r io.Reader) error {
			in, err := NewReader(r)
			if err != nil {
				return err
			}
			return in.Play(s)
		})
	}, err
}

// reading runs f on an open file and names the file in errors.
func reading(path string, f func(io.Reader) error) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	defer file.Close()
	if err := f(file); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// captureFiles are open captures.
type captureFiles struct {
	files    []*os.File
	captures []*Capture
	sources  []FrameSource
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
		capture, err := NewCapture(file)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", path, err), c.close())
		}
		c.captures = append(c.captures, capture)
		var src FrameSource = capture
		if side, ok := sideOfFile(path); ok {
			src = AtTap{capture, side}
		}
		c.sources = append(c.sources, src)
	}
	return c, nil
}

// sideOfFile tells the tap of files named A.pcapng or B-something.pcap.
func sideOfFile(path string) (Side, bool) {
	name := filepath.Base(path)
	if len(name) < 2 || !strings.ContainsRune(".-_", rune(name[1])) {
		return A, false
	}
	return ParseSide(name[:1])
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
func (c *captureFiles) header() (h Header, ok bool) {
	for _, capture := range c.captures {
		if own := capture.Header(); own == nil || len(own.Conns) == 0 {
			return h, false
		}
	}
	h = *c.captures[0].Header()
	h.Bytes, h.Reports, h.Taps = true, 0, [2]bool{}
	for _, capture := range c.captures {
		for side, tapped := range capture.Taps() {
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

// openCaptures opens captures of our own or of anyone else. Those of others are read twice: to learn, and to play.
func openCaptures(paths []string) (h Header, play func(Sink) error, err error) {
	h, own, err := ownHeader(paths)
	if err != nil {
		return h, nil, err
	}
	if own {
		return h, func(s Sink) error {
			return with(paths, func(c *captureFiles) error {
				end, err := Reunite(&h, c.sources, func(_ uint64, r *Record) bool { s.Packet(r); return true })
				s.End(end)
				return err
			})
		}, nil
	}
	err = with(paths, func(c *captureFiles) (err error) {
		h, err = learn(c.sources)
		if err == nil && len(h.Conns) == 0 {
			err = fmt.Errorf("trace: %s: no RoCEv2 connection in it; %s", strings.Join(paths, ", "), c.counts())
		}
		return err
	})
	return h, func(s Sink) error {
		return with(paths, func(c *captureFiles) error { return playForeign(&h, c.sources, s) })
	}, err
}

// ownHeader returns the header of captures that this package wrote.
func ownHeader(paths []string) (h Header, own bool, err error) {
	err = with(paths, func(c *captureFiles) error {
		c.peek()
		h, own = c.header()
		return nil
	})
	return h, own, err
}

// peek reads the first frame of every capture: before that, the interfaces of a pcapng file are not known.
func (c *captureFiles) peek() {
	var f Frame
	for _, src := range c.sources {
		// An error shows again when the capture is read.
		_ = src.Next(&f)
	}
}

// counts says what the captures held.
func (c *captureFiles) counts() string {
	var roce, foreign uint64
	for _, capture := range c.captures {
		roce += capture.Stats().Frames
		foreign += capture.Stats().Foreign
	}
	return fmt.Sprintf("%d frames on UDP port 4791, %d others", roce, foreign)
}

// playForeign merges two taps, or plays one.
func playForeign(h *Header, sources []FrameSource, s Sink) error {
	if h.Taps[A] && h.Taps[B] {
		_, err := Taps(h, sources, MergeOptions{}, s)
		return err
	}
	tap := A
	if h.Taps[B] {
		tap = B
	}
	return OneTap(h, tap, sources, s)
}

// openBoth plays the NDJSON of a run with the bytes from its captures.
func openBoth(text string, captures []string) (Header, func(Sink) error, error) {
	h, play, err := openNDJSON(text)
	if err != nil {
		return h, nil, err
	}
	own, ok, err := ownHeader(captures)
	if err != nil || !ok {
		return h, play, err
	}
	h.Bytes = true
	return h, func(s Sink) error {
		return with(captures, func(c *captureFiles) error {
			return reading(text, func(r io.Reader) error {
				in, err := NewReader(r)
				if err != nil {
					return err
				}
				return dress(in, &own, c.sources, s)
			})
		})
	}, nil
}

// dress plays in with the frames of the captures put back into its records.
func dress(in *Reader, own *Header, sources []FrameSource, s Sink) error {
	var broken error
	next, stop := iter.Pull2(func(yield func(uint64, *Record) bool) {
		_, broken = Reunite(own, sources, yield)
	})
	d := &dresser{sink: s, next: next, more: true}
	err := in.Play(d)
	stop()
	return errors.Join(err, broken)
}

// dresser walks a trace and its frames side by side; both are in the order of the stream.
type dresser struct {
	sink  Sink
	next  func() (uint64, *Record, bool)
	index uint64 // of the next record from the trace
	at    uint64 // of bytes
	bytes *Record
	more  bool
}

// Packet implements Sink.
func (d *dresser) Packet(r *Record) {
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

// Event implements Sink.
func (d *dresser) Event(e *Event) { d.sink.Event(e) }

// End implements Sink.
func (d *dresser) End(at vtime.Time) { d.sink.End(at) }
