package netns

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"

	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// header describes the trace of this run.
func (s *session) header() trace.Header {
	h := trace.Header{Version: trace.FormatVersion, Bench: "netns", Taps: [2]bool{true, true}, Bytes: true,
		Reports: trace.ReportCQE | trace.ReportMemory}
	if s.job.Spec.Reads.Detail {
		h.Reports |= trace.ReportStores | trace.ReportTimers | trace.ReportProbes
	}
	for i := range s.job.Spec.QPs {
		var c trace.Conn
		for side, q := range s.job.Spec.Ends(i) {
			c.Ends[side] = trace.End{Addr: drive.Addr(trace.Side(side)), Port: drive.SourcePort(i), Impl: s.job.Spec.Impl[side], QP: q, Known: true}
		}
		h.Conns = append(h.Conns, c)
	}
	return h
}

// merge makes one trace of the two taps, the link's log and the endpoints' events, and plays it into the sink; the
// captures are written on the way, when it is known what became of each packet.
func (s *session) merge(context.Context) error {
	h := s.header()
	sink, err := s.job.Open(h)
	if err != nil {
		return err
	}
	captures, err := s.captures(&h)
	if err != nil {
		return err
	}
	events, err := s.reported()
	if err != nil {
		return err
	}
	fates, err := s.link.fates()
	if err != nil {
		return err
	}
	var sources []trace.FrameSource
	for side, t := range s.taps {
		src, err := t.source(s.wall, s.epoch, s.dropped[side])
		if err != nil {
			return err
		}
		sources = append(sources, src)
	}
	s.census = &census{}
	out := &weave{sinks: []trace.Sink{sink, s.census, trace.NewTimeline(&h, captures)}, events: events, end: vtime.Time(s.elapsed)}
	_, err = trace.Merge(&h, sources, trace.MergeOptions{Zero: s.wall, Window: s.job.Spec.RTT() + 500*vtime.Millisecond, Fates: fates}, out)
	return errors.Join(err, captures.close())
}

// reported reads the events of both endpoints, in order of their time.
func (s *session) reported() ([]trace.Event, error) {
	var c trace.Collector
	for side := range s.ends {
		_, err := s.events[side].Seek(0, io.SeekStart)
		if err == nil {
			var r *trace.Reader
			if r, err = trace.NewReader(s.events[side]); err == nil {
				err = r.Play(&c)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("netns: events of %s: %w", trace.Side(side), err)
		}
	}
	sort.SliceStable(c.Events, func(i, j int) bool { return c.Events[i].At < c.Events[j].At })
	return c.Events, nil
}

// weave puts events between records, by time, on the way to several sinks.
type weave struct {
	sinks  []trace.Sink
	events []trace.Event
	end    vtime.Time
}

// Packet implements trace.Sink.
func (w *weave) Packet(r *trace.Record) {
	w.upTo(r.Time())
	for _, s := range w.sinks {
		s.Packet(r)
	}
}

// Event implements trace.Sink.
func (w *weave) Event(e *trace.Event) {
	for _, s := range w.sinks {
		s.Event(e)
	}
}

// End implements trace.Sink. What the endpoints reported after the last packet, such as the comparison of memory, comes
// before it.
func (w *weave) End(at vtime.Time) {
	w.upTo(vtime.Never)
	for _, s := range w.sinks {
		s.End(max(at, w.end))
	}
}

func (w *weave) upTo(at vtime.Time) {
	for len(w.events) > 0 && w.events[0].At < at {
		w.Event(&w.events[0])
		w.end = max(w.end, w.events[0].At)
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
	for side, device := range []string{DeviceA, DeviceB} {
		f, err := os.Create(filepath.Join(s.job.Taps, trace.Side(side).String()+".pcapng"))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("netns: captures: %w", err), c.close())
		}
		buf := bufio.NewWriterSize(f, 1<<20)
		c.files, c.buffers = append(c.files, f), append(c.buffers, buf)
		w, err := trace.NewTapWriter(buf, h, trace.Side(side), device, s.wall)
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		c.writers, c.Views = append(c.writers, w), append(c.Views, w)
	}
	return c, nil
}

func (c *captureFiles) close() error {
	var errs []error
	for _, w := range c.writers {
		_, err := w.Flush()
		errs = append(errs, err)
	}
	for i := range c.files {
		errs = append(errs, c.buffers[i].Flush(), c.files[i].Close())
	}
	c.files, c.buffers, c.writers = nil, nil, nil
	return errors.Join(errs...)
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
