// Package recording opens a trace from any source: a run folder, NDJSON, or captures of this or any other program. It
// derives the connections of captures of other programs from their frames. Callers need not know the kind of source.
package recording

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
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
// and taps/*.pcapng; or a folder of captures. It returns the header of the trace, and a function that plays it and may
// be called again.
//
// Captures that package capture wrote give the trace from which they were written, without the events. For other
// captures, the connections, the MTU and the start PSNs are derived from the frames. Two files, or interfaces whose
// names begin with "A:" and "B:", are the two taps of one link if both saw the same frames; the tap that sees a frame
// first is at its sender. Any other capture is of one tap, whose place is derived from the frames; side A is then the
// end that sends the first request.
func Open(path string) (trace.Header, func(trace.Sink) error, error) {
	r, err := Read(path, Stated{})
	return r.Header, r.Play, err
}

// Recording is an opened trace.
type Recording struct {
	Header  trace.Header
	Play    func(trace.Sink) error // may be called again; payloads of foreign captures may be zeros
	Capture *Capture               // description of a foreign capture; nil for a trace with a header

	unsealed map[netip.Addr]bool // senders of a foreign capture that never make a right ICRC
}

// Read is Open that also returns how a foreign capture was understood, and that takes what the user states of it.
func Read(path string, as Stated) (Recording, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Recording{}, fmt.Errorf("trace: %w", err)
	}
	if info.IsDir() {
		return openFolder(path, as)
	}
	if strings.HasSuffix(path, ".ndjson") {
		return as.known(openNDJSON(path))
	}
	return openCaptures([]string{path}, as)
}

// known returns a recording whose header has what s could state; it is an error if s states any of it.
func (s Stated) known(h trace.Header, play func(trace.Sink) error, err error) (Recording, error) {
	switch {
	case err != nil:
	case s.Tap.stated():
		err = errors.New("trace: its header says where its taps are; --tap is for captures of other programs")
	case s.QP != nil:
		err = errors.New("trace: its header has the QP attributes; --qp is for captures of other programs")
	}
	return Recording{Header: h, Play: play}, err
}

// openFolder opens NDJSON with the bytes of the captures if both exist, otherwise the one that exists.
func openFolder(dir string, as Stated) (Recording, error) {
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
		return openCaptures(captures, as)
	case len(captures) == 0:
		return as.known(openNDJSON(text))
	}
	return as.known(openBoth(text, captures))
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

// openText reads the header of NDJSON at once and the whole text at every play. reading calls a function with the text
// from its beginning.
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

// reading calls f with an open file and adds the path to errors.
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
func openCaptures(paths []string, as Stated) (Recording, error) {
	return learnCaptures(strings.Join(paths, ", "), filesAnew(paths), as)
}

// crowd is the number of connections, or flows, above which memory is short: no heads of frames are kept, and it is
// collected before the play.
const crowd = 10_000

// learnCaptures opens captures of this or any other program. Captures of other programs are read once to derive their
// connections and the place of the tap, again if frames have to be reordered or left out, and at every play for which
// the reading before did not keep their heads.
func learnCaptures(name string, with anew, stated Stated) (Recording, error) {
	h, own, err := ownHeader(with)
	if err != nil {
		return Recording{Header: h}, err
	}
	if own {
		return stated.known(h, func(s trace.Sink) error {
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
	as, err := r.learn(name, with, stated)
	if err != nil {
		return r, err
	}
	if len(r.Header.Conns) > crowd {
		runtime.GC() // what was needed to learn them is as large as what a judge keeps of them
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

// ownHeader returns the header of captures that this program wrote; own is false for others.
func ownHeader(with anew) (h trace.Header, own bool, err error) {
	err = with(func(c *captureFiles) error {
		c.peek()
		h, own, err = c.header()
		return err
	})
	return h, own, err
}

// playForeign merges two taps, or plays one tap. Early is the number of packets of two taps that arrived before they
// had left, by the clocks of the taps.
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
				return addFrames(in, &own, c.sources, s)
			})
		})
	}, nil
}

// injections counts the frames that arrived at one tap and that the other tap, at the port of their sender, does not
// have.
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
