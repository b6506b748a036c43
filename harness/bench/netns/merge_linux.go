package netns

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/merge"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ndjson"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// header describes the trace of a Spec.
func header(sp *scenario.Spec) trace.Header {
	h := trace.Header{Version: trace.FormatVersion, Bench: "netns", Taps: [2]bool{true, true}, Bytes: true,
		Reports: trace.ReportCQE | trace.ReportMemory}
	if sp.Devices[trace.A].Present() || sp.Devices[trace.B].Present() {
		h.Reports = 0 // what one end reports does not make up for the other
	} else if sp.Reads.Detail {
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

// merge makes one trace of the taps, the links' logs and what the processes reported, and plays it into the sink; the
// captures are written on the way, when it is known what became of each packet. After a run that broke it makes do with
// what there is.
func (s *session) merge(whole bool) error {
	h := header(s.job.Spec)
	h.Reports &= s.reports()
	witness, ending := s.testify(&h)
	if s.acts != nil {
		h.Divide(s.acts.Acts)
	}
	sink, err := s.job.Open(h)
	if err != nil {
		return err
	}
	events, err := s.reported()
	if err != nil && whole {
		return err
	}
	spans, err := s.spans(whole)
	if err != nil {
		return err
	}
	captures, err := s.captures(&h)
	if err != nil {
		return err
	}
	out := &weave{sinks: []trace.Sink{sink, trace.NewTimeline(&h, captures)}, events: events, cut: s.cut, witness: witness, ending: ending}
	err = merge.Hops(&h, spans, merge.Options{Zero: s.wall, Window: s.window(), Until: s.cut}, out)
	if closeErr := captures.close(); err == nil {
		err = closeErr
	}
	return err
}

// testify says in the header what the tool of a device tells, and returns who reads the rest off its packets.
func (s *session) testify(h *trace.Header) (*dut.Witness, dut.Ending) {
	f := s.foreign
	if f == nil || f.Peer != nil {
		return nil, dut.Ending{}
	}
	e := f.ending(s.epoch, s.cut)
	h.Conns[0].Ends[f.Side].Reports = f.Tool.Tells() &^ e.Silent()
	return f.Tool.Witness(s.job.Spec, f.Side), e
}

// spans is what was seen of each leg.
func (s *session) spans(whole bool) (list []merge.Span, err error) {
	for _, l := range s.legs {
		span := merge.Span{Watch: &l.census, Forged: l.forged, Least: l.least()}
		logged := false
		if span.Fates, logged, err = l.chain.fates(); err != nil && whole {
			return nil, err
		}
		span.Partial = !logged
		span.Ordered = l.ordered() && (span.Partial || !slices.ContainsFunc(l.faults, holdsBack)) // a partial log says when it let go
		for _, t := range l.taps {
			src, err := t.source(s.wall, s.epoch)
			if err != nil {
				return nil, err
			}
			span.Sources = append(span.Sources, src)
		}
		list = append(list, span)
	}
	return list, nil
}

// least is what a packet takes at least over a hop, by sender; zero where one may be let through without delay.
func (h *hop) least() (d [2]vtime.Duration) {
	for side, l := range []spec.Link{h.link.AB, h.link.BA} {
		if l.Reorder == 0 {
			d[side] = l.Delay - l.Jitter
		}
	}
	return d
}

// ordered reports whether no packet overtakes another on a hop, those aside that a script holds back.
func (h *hop) ordered() bool {
	ab, ba := &h.link.AB, &h.link.BA
	return ab.Jitter == 0 && ba.Jitter == 0 && ab.Reorder == 0 && ba.Reorder == 0
}

func holdsBack(f fault.Fault) bool { return f.Action == fault.Delay || f.Action == fault.Reorder }

// window is how long a packet can be on its way: over a link and through its queue.
func (s *session) window() vtime.Duration {
	most := vtime.Duration(0)
	for _, h := range routeOf(s.job.Spec, s.acts != nil) {
		most = max(most, h.window(s.job.Spec.QP[0].MTU))
	}
	return min(most, maxWindow)
}

// window is the same of one hop, without the bound.
func (h *hop) window(mtu int) vtime.Duration {
	d := h.link.AB.Delay + h.link.BA.Delay + 500*vtime.Millisecond
	for _, l := range []spec.Link{h.link.AB, h.link.BA} {
		d += l.Jitter + vtime.Duration(l.Queue)*l.Rate.Time(mtu+frameOverhead)
	}
	for _, f := range h.faults {
		d += f.By
	}
	return d
}

// maxWindow bounds the memory of the merger on a slow link with a long queue, which is rarely full.
const maxWindow = 30 * vtime.Second

// reports is what all ends tell: a rule that needs more is INCONCLUSIVE.
func (s *session) reports() trace.Reports {
	r := trace.ReportCQE | trace.ReportMemory | trace.ReportStores | trace.ReportTimers | trace.ReportProbes
	if !s.told("cqe") {
		r &^= trace.ReportCQE
	}
	if !s.told("memory") {
		r &^= trace.ReportMemory
	}
	if !s.told("file") {
		r &^= trace.ReportStores | trace.ReportTimers | trace.ReportProbes
	}
	return r
}

// reported reads what the processes reported, in order of its time. B is at the end of the last hop.
func (s *session) reported() ([]trace.Event, error) {
	var c trace.Collector
	var first error
	for i, f := range s.events {
		if e := s.parties()[i]; !e.caps.Tells("file") {
			c.Events = append(c.Events, e.told...)
			continue
		}
		_, err := f.Seek(0, io.SeekStart)
		if err == nil {
			var r *ndjson.Reader
			if r, err = ndjson.NewReader(f); err == nil {
				err = r.Play(&c)
			}
		}
		if err != nil && first == nil {
			first = fmt.Errorf("netns: events of %s: %w", s.parties()[i].name, err)
		}
	}
	for i := range c.Events {
		if e := &c.Events[i]; e.Side == trace.B {
			e.Conn += (len(s.legs) - 1) * s.job.Spec.QPs
		}
	}
	if s.foreign != nil { // a tool sends the same bytes again and again, so where they were placed says nothing of which came
		c.Events = slices.DeleteFunc(c.Events, func(e trace.Event) bool { return e.Kind == trace.Store })
		if s.foreign.Peer == nil {
			c.Events = append(c.Events, s.foreign.Tool.Told(s.job.Spec, s.foreign.Side, s.foreign.ending(s.epoch, s.cut))...)
			c.Events = append(c.Events, s.foreign.Tool.Witness(s.job.Spec, s.foreign.Side).Begin()...)
		}
	}
	sort.SliceStable(c.Events, func(i, j int) bool { return c.Events[i].At < c.Events[j].At })
	return c.Events, first
}

// weave puts events between records, by time, on the way to several sinks, and ends the trace at a given time: what
// endpoints did later, while they were being stopped, is not of the run.
type weave struct {
	sinks  []trace.Sink
	events []trace.Event
	cut    vtime.Time

	witness *dut.Witness // of a device
	ending  dut.Ending
}

// Packet implements trace.Sink.
func (w *weave) Packet(r *trace.Record) {
	if r.Fate == trace.Injected {
		r.Cause = "inject"
	}
	w.upTo(min(r.Time(), w.cut))
	if r.Time() > w.cut {
		return
	}
	w.tell(w.witness.Packet(r))
	for _, s := range w.sinks {
		s.Packet(r)
	}
}

// tell plays what a witness says.
func (w *weave) tell(events []trace.Event) {
	for i := range events {
		w.Event(&events[i])
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
	if last := w.witness.End(w.ending); len(last) > 0 {
		w.upTo(last[0].At)
		w.tell(last)
	}
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

// captureFiles are the pcapng files of all taps, or none.
type captureFiles struct {
	trace.Views
	files   []*os.File
	buffers []*bufio.Writer
	writers []*capture.Writer
}

func (s *session) captures(h *trace.Header) (*captureFiles, error) {
	c := &captureFiles{}
	if s.job.Taps == "" {
		return c, nil
	}
	if err := os.MkdirAll(s.job.Taps, 0o755); err != nil {
		return nil, fmt.Errorf("netns: captures: %w", err)
	}
	for _, l := range s.legs {
		for side := range l.taps {
			if err := c.add(s.job.Taps, h, l.tap(trace.Side(side)), s.wall); err != nil {
				_ = c.close() // the first error says more
				return nil, fmt.Errorf("netns: captures: %w", err)
			}
		}
	}
	return c, nil
}

// add begins the file of one tap.
func (c *captureFiles) add(dir string, h *trace.Header, tap capture.Tap, zero time.Time) error {
	f, err := os.Create(filepath.Join(dir, tap.File()))
	if err != nil {
		return err
	}
	buf := bufio.NewWriterSize(f, 1<<20)
	c.files, c.buffers = append(c.files, f), append(c.buffers, buf)
	w, err := capture.NewWriter(buf, h, tap, zero)
	if err != nil {
		return err
	}
	c.writers, c.Views = append(c.writers, w), append(c.Views, w)
	return nil
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
