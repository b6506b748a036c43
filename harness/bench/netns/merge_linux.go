package netns

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"

	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// header describes the trace of a Spec.
func header(sp *scenario.Spec) trace.Header {
	h := trace.Header{Version: trace.FormatVersion, Bench: "netns", Taps: [2]bool{true, true}, Bytes: true,
		Reports: trace.ReportCQE | trace.ReportMemory}
	if sp.Reads.Detail {
		h.Reports |= trace.ReportStores | trace.ReportTimers | trace.ReportProbes
	}
	for i := range sp.QPs {
		var c trace.Conn
		for side, q := range sp.Ends(i) {
			c.Ends[side] = trace.End{Addr: drive.Addr(trace.Side(side)), Port: drive.SourcePort(i), Impl: sp.Impl[side], QP: q, Known: true}
		}
		h.Conns = append(h.Conns, c)
	}
	return h
}

// merge makes one trace of the two taps, the link's log and the endpoints' events, and plays it into the sink; the
// captures are written on the way, when it is known what became of each packet. After a run that broke it makes do with
// what there is.
func (s *session) merge(whole bool) error {
	h := header(s.job.Spec)
	sink, err := s.job.Open(h)
	if err != nil {
		return err
	}
	events, err := s.reported()
	if err != nil && whole {
		return err
	}
	fates, err := s.link.fates()
	if err != nil && whole {
		return err
	}
	captures, err := s.captures(&h)
	if err != nil {
		return err
	}
	var sources []trace.FrameSource
	for _, t := range s.taps {
		src, err := t.source(s.wall, s.epoch)
		if err != nil {
			_ = captures.close() // the first error says more
			return err
		}
		sources = append(sources, src)
	}
	s.census = &census{}
	out := &weave{all: s.census, sinks: []trace.Sink{sink, trace.NewTimeline(&h, captures)}, events: events, cut: s.cut}
	_, err = trace.Merge(&h, sources, trace.MergeOptions{Zero: s.wall, Window: s.window(), Fates: fates}, out)
	if closeErr := captures.close(); err == nil {
		err = closeErr
	}
	return err
}

// window is how long a packet can be on its way: over the link and through its queue.
func (s *session) window() vtime.Duration {
	sp := s.job.Spec
	d := sp.RTT() + 500*vtime.Millisecond
	for _, l := range []spec.Link{sp.Link.AB, sp.Link.BA} {
		d += l.Jitter + vtime.Duration(l.Queue)*l.Rate.Time(sp.QP[0].MTU+frameOverhead)
	}
	for _, f := range sp.Faults {
		d += f.By
	}
	return min(d, maxWindow)
}

// maxWindow bounds the memory of the merger on a slow link with a long queue, which is rarely full.
const maxWindow = 30 * vtime.Second

// reported reads the events of both endpoints, in order of their time.
func (s *session) reported() ([]trace.Event, error) {
	var c trace.Collector
	var first error
	for side, f := range s.events {
		_, err := f.Seek(0, io.SeekStart)
		if err == nil {
			var r *trace.Reader
			if r, err = trace.NewReader(f); err == nil {
				err = r.Play(&c)
			}
		}
		if err != nil && first == nil {
			first = fmt.Errorf("netns: events of %s: %w", trace.Side(side), err)
		}
	}
	sort.SliceStable(c.Events, func(i, j int) bool { return c.Events[i].At < c.Events[j].At })
	return c.Events, first
}

// weave puts events between records, by time, on the way to several sinks, and ends the trace at a given time: what
// endpoints did later, while they were being stopped, is not of the run.
type weave struct {
	all    trace.Sink // gets all records, also later ones
	sinks  []trace.Sink
	events []trace.Event
	cut    vtime.Time
}

// Packet implements trace.Sink.
func (w *weave) Packet(r *trace.Record) {
	if r.Fate == trace.Injected {
		r.Cause = "inject"
	}
	w.all.Packet(r)
	w.upTo(min(r.Time(), w.cut))
	if r.Time() > w.cut {
		return
	}
	for _, s := range w.sinks {
		s.Packet(r)
	}
}

// Event implements trace.Sink. Memory is compared after the end, and that is its time.
func (w *weave) Event(e *trace.Event) {
	if e.At > w.cut {
		if e.Kind != trace.Memory {
			return
		}
		e.At = w.cut
	}
	for _, s := range w.sinks {
		s.Event(e)
	}
}

// End implements trace.Sink.
func (w *weave) End(vtime.Time) {
	w.upTo(vtime.Never)
	for _, s := range w.sinks {
		s.End(w.cut)
	}
}

func (w *weave) upTo(at vtime.Time) {
	for len(w.events) > 0 && w.events[0].At < at {
		w.Event(&w.events[0])
		w.events = w.events[1:]
	}
}

// captureFiles are the pcapng files of both taps, or none.
type captureFiles struct {
	trace.Views
	files   []*os.File
	buffers []*bufio.Writer
	writers []*trace.TapWriter
}

func (s *session) captures(h *trace.Header) (*captureFiles, error) {
	c := &captureFiles{}
	if s.job.Taps == "" {
		return c, nil
	}
	if err := os.MkdirAll(s.job.Taps, 0o755); err != nil {
		return nil, fmt.Errorf("netns: captures: %w", err)
	}
	for side, device := range devices {
		f, err := os.Create(filepath.Join(s.job.Taps, trace.Side(side).String()+".pcapng"))
		if err != nil {
			_ = c.close() // the first error says more
			return nil, fmt.Errorf("netns: captures: %w", err)
		}
		buf := bufio.NewWriterSize(f, 1<<20)
		c.files, c.buffers = append(c.files, f), append(c.buffers, buf)
		w, err := trace.NewTapWriter(buf, h, trace.Side(side), device, s.wall)
		if err != nil {
			_ = c.close()
			return nil, fmt.Errorf("netns: captures: %w", err)
		}
		c.writers, c.Views = append(c.writers, w), append(c.Views, w)
	}
	return c, nil
}

// close flushes the files; the first error, with the file's name, is returned.
func (c *captureFiles) close() (first error) {
	keep := func(i int, err error) {
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		if first == nil && err != nil {
			first = fmt.Errorf("netns: write %s: %w", c.files[i].Name(), err)
		}
	}
	for i, w := range c.writers {
		_, err := w.Flush()
		keep(i, err)
	}
	for i := range c.files {
		keep(i, c.buffers[i].Flush())
		keep(i, c.files[i].Close())
	}
	c.files, c.buffers, c.writers = nil, nil, nil
	return first
}

// counters lists what an endpoint dropped, in the order of the names.
func counters(e *endpoint) [][2]string {
	var out [][2]string
	for name, n := range e.end.Counters {
		out = append(out, [2]string{fmt.Sprintf("%s dropped: %s", e.side, name), fmt.Sprint(n)})
	}
	sort.Slice(out, func(i, j int) bool { return out[i][0] < out[j][0] })
	return out
}
