// Package recording opens a trace wherever it was recorded: in a run folder, in NDJSON, or in captures of our own or of
// any other program, whose connections it learns from their frames. What opens a recording cannot tell which it was.
package recording

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/merge"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ndjson"
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
// Captures that package capture wrote give the trace from which they were written, without the events. Of others, the
// connections, the MTU and the start PSNs are learnt from the frames. Two files, or interfaces whose names begin with
// "A:" and "B:", are the two taps of one link when both saw the same frames; which end each is at shows in which of
// them sees a frame first. All else is one tap, and its frames tell where that stands: side A is the end that sends the
// first request.
func Open(path string) (trace.Header, func(trace.Sink) error, error) {
	r, err := Read(path, Tap{})
	return r.Header, r.Play, err
}

// Recording is an opened trace.
type Recording struct {
	Header  trace.Header
	Play    func(trace.Sink) error // may be called again
	Capture *Capture               // nil for a trace whose header says what it is of

	unsealed map[netip.Addr]bool // senders of a foreign capture that never make a right ICRC
}

// Read is Open for whoever wants to know how a foreign capture was understood, or knows where it was taken.
func Read(path string, tap Tap) (Recording, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Recording{}, fmt.Errorf("trace: %w", err)
	}
	if info.IsDir() {
		return openFolder(path, tap)
	}
	if strings.HasSuffix(path, ".ndjson") {
		return tap.known(openNDJSON(path))
	}
	return openCaptures([]string{path}, tap)
}

// known is a trace that says itself where its taps are.
func (t Tap) known(h trace.Header, play func(trace.Sink) error, err error) (Recording, error) {
	if err == nil && t.told() {
		err = errors.New("trace: it says itself where its taps are, and nobody else can")
	}
	return Recording{Header: h, Play: play}, err
}

// openFolder prefers everything: NDJSON with the bytes of the captures, and else what there is.
func openFolder(dir string, tap Tap) (Recording, error) {
	captures := capturesIn(filepath.Join(dir, TapsName))
	if len(captures) == 0 {
		captures = capturesIn(dir)
	}
	text := filepath.Join(dir, NDJSONName)
	_, err := os.Stat(text)
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(captures) == 0:
		return Recording{}, fmt.Errorf("trace: %s holds neither %s nor captures", dir, NDJSONName)
	case err != nil:
		return openCaptures(captures, tap)
	case len(captures) == 0:
		return tap.known(openNDJSON(text))
	}
	return tap.known(openBoth(text, captures))
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

// openNDJSON opens a file of NDJSON.
func openNDJSON(path string) (trace.Header, func(trace.Sink) error, error) {
	return openText(func(f func(io.Reader) error) error { return reading(path, f) })
}

// openText reads the header of NDJSON now and the rest with every play. Reading runs a function on the text from its
// beginning.
func openText(reading func(func(io.Reader) error) error) (h trace.Header, play func(trace.Sink) error, err error) {
	err = reading(func(r io.Reader) error {
		in, err := ndjson.NewReader(r)
		if err == nil {
			h = *in.Header()
		}
		return err
	})
	return h, func(s trace.Sink) error {
		return reading(func(r io.Reader) error {
			in, err := ndjson.NewReader(r)
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

// openCaptures opens files of captures.
func openCaptures(paths []string, tap Tap) (Recording, error) {
	return learnCaptures(strings.Join(paths, ", "), filesAnew(paths), tap)
}

// learnCaptures opens captures of our own or of anyone else. Those of others are read once to learn their connections
// and where their tap stands, once more where they have to be read in another way than they lie in their files, and to
// play.
func learnCaptures(name string, with anew, tap Tap) (Recording, error) {
	h, own, err := ownHeader(with)
	if err != nil {
		return Recording{Header: h}, err
	}
	if own {
		return tap.known(h, func(s trace.Sink) error {
			return with(func(c *captureFiles) error {
				end, err := capture.Reunite(&h, c.sources, func(_ uint64, r *trace.Record) bool {
					s.Packet(r)
					return true
				})
				s.End(end)
				return err
			})
		}, nil)
	}
	r := Recording{Capture: &Capture{}}
	as, err := r.learn(name, with, tap)
	if err != nil {
		return r, err
	}
	r.Play = func(s trace.Sink) error {
		n := &injections{Sink: s}
		defer func() { r.Capture.Injected = n.count }()
		return as(func(c *captureFiles) (err error) {
			r.Capture.Early, err = playForeign(&r.Header, c.sources, n)
			return err
		})
	}
	return r, nil
}

// ownHeader returns the header of captures of our own.
func ownHeader(with anew) (h trace.Header, own bool, err error) {
	err = with(func(c *captureFiles) error {
		c.peek()
		h, own, err = c.header()
		return err
	})
	return h, own, err
}

// playForeign merges two taps, or plays one. It returns how many packets of the former arrived before they had left.
func playForeign(h *trace.Header, sources []capture.Source, s trace.Sink) (early uint64, err error) {
	if h.Taps[trace.A] && h.Taps[trace.B] {
		stats, err := merge.Taps(h, sources, merge.Options{Foreign: true}, s)
		return stats.Early, err
	}
	tap := trace.A
	if h.Taps[trace.B] {
		tap = trace.B
	}
	return 0, merge.OneTap(h, tap, sources, s)
}

// openBoth plays the NDJSON of a run with the bytes from its captures.
func openBoth(text string, captures []string) (trace.Header, func(trace.Sink) error, error) {
	h, play, err := openNDJSON(text)
	if err != nil {
		return h, nil, err
	}
	own, ok, err := ownHeader(filesAnew(captures))
	if err != nil || !ok {
		return h, play, err
	}
	h.Bytes = true
	return h, func(s trace.Sink) error {
		return filesAnew(captures)(func(c *captureFiles) error {
			return reading(text, func(r io.Reader) error {
				in, err := ndjson.NewReader(r)
				if err != nil {
					return err
				}
				return dress(in, &own, c.sources, s)
			})
		})
	}, nil
}

// injections counts the frames that arrived at one tap and that the other, at the port of their sender, does not show.
type injections struct {
	trace.Sink
	count uint64
}

// Packet implements trace.Sink.
func (n *injections) Packet(r *trace.Record) {
	if r.Fate == trace.Injected {
		n.count++
	}
	n.Sink.Packet(r)
}
