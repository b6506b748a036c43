package netns

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/device"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/party"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/plan"
	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/merge"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// merge builds one trace from the taps, the links' logs and the processes' reports, and writes it to the sink; it
// writes the captures at the same time, when the fate of each packet is known. After a failed run it uses the evidence
// that exists.
func (s *session) merge(whole bool) error {
	h := plan.Header(s.spec)
	declare(&h, s.job.Impls)
	h.Reports &= reports(&s.parties)
	s.parties.Unsaid(&h)
	if s.parties.Silent() {
		leaveParts(&h)
	}
	if k := s.base.Dilation; k.Dilated() {
		h.Dilated = k.Factor()
	}
	during := device.Span{Epoch: s.at.epoch, Cut: s.at.cut}
	witness, ending := s.devices.Testify(&h, s.spec, during)
	if s.acts != nil {
		h.Divide(s.acts.Acts)
	}
	sink, err := s.job.Open(h)
	if err != nil {
		return err
	}
	events, err := s.reported(during)
	if err != nil && whole {
		return err
	}
	spans, err := s.legs.spans(whole, s.at)
	if err != nil {
		return err
	}
	captures, err := openCaptures(s.job.Taps, &h, s.legs, s.at.wall)
	if err != nil {
		return err
	}
	out := &weave{sinks: []trace.Sink{sink, trace.NewTimeline(&h, captures)}, events: events, cut: s.at.cut,
		witness: witness, ending: ending, last: s.counted}
	window := plan.RouteOf(s.spec, s.acts != nil).Window(s.spec.QP[0].MTU)
	err = merge.Hops(&h, spans, merge.Options{Zero: s.at.wall, Window: window, Until: s.at.cut}, out)
	if closeErr := captures.close(); err == nil {
		err = closeErr
	}
	return err
}

// declare notes in the header what the programs and images at the ends declare, so that the trace can be judged without
// them.
func declare(h *trace.Header, impls [2]engine.Implementation) {
	for side := range impls {
		if scenario.Foreign(impls[side].Name) {
			h.Declares[side] = strings.Join(impls[side].Declares(), " ")
		}
	}
}

// reports is the set of reports that all ends make: a rule that needs more is INCONCLUSIVE.
func reports(p *party.Parties) trace.Reports {
	r := trace.ReportCQE | trace.ReportMemory | trace.ReportStores | trace.ReportTimers | trace.ReportProbes
	if !p.Tells("cqe") {
		r &^= trace.ReportCQE
	}
	if !p.Tells("memory") {
		r &^= trace.ReportMemory
	}
	if !p.Tells("file") {
		r &^= trace.ReportStores | trace.ReportTimers | trace.ReportProbes
	}
	return r
}

// leaveParts leaves of the reports the completions of requests and receives: what was declared or lost, and who sent a
// message, is not told.
func leaveParts(h *trace.Header) {
	if h.Reports&trace.ReportCQE == 0 {
		return
	}
	h.Reports &^= trace.ReportCQE
	for i := range h.Conns {
		for side := range h.Conns[i].Ends {
			h.Conns[i].Ends[side].Reports |= trace.ReportDone | trace.ReportOrdered | trace.ReportFlushed |
				trace.ReportReceived
		}
	}
}

// reported returns the events that the processes, and the tool of a device, reported, in order of time. B is at the end
// of the last hop. The first error is returned with the events that could be read.
func (s *session) reported(during device.Span) (events []trace.Event, first error) {
	for _, e := range s.parties.All() {
		list, err := e.Reported()
		events, first = append(events, list...), cmp.Or(first, err)
	}
	for _, e := range s.parties.Ends {
		if ev, idle := e.AtRest(); idle {
			events = append(events, ev)
		}
	}
	for i := range events {
		if e := &events[i]; e.Side == trace.B {
			e.Conn += (len(s.legs) - 1) * s.spec.QPs
		}
	}
	events = s.devices.Amend(events, s.spec, during)
	counted, _ := s.devices.Counted(0, func(trace.Side) device.Passed { return device.Passed{} })
	events = append(counted, events...)
	sort.SliceStable(events, func(i, j int) bool { return events[i].At < events[j].At })
	return events, first
}

// counted returns the devices' counters at the end of a run; traced is the number of packets that the trace has at each
// side.
func (s *session) counted(traced [2]uint64) []trace.Event {
	_, after := s.devices.Counted(s.at.cut, func(side trace.Side) device.Passed {
		frames, kernel := s.legs[0].taps[side].Passed()
		return device.Passed{Traced: traced[side], Frames: frames, Kernel: kernel}
	})
	return after
}

// spans returns the evidence of each leg in a run.
func (l legs) spans(whole bool, at span) (list []merge.Span, err error) {
	for _, leg := range l {
		span := merge.Span{Watch: &leg.census, Forged: leg.link.Forged(), Least: leg.hop.Least()}
		logged := false
		if span.Fates, logged, err = leg.link.Fates(); err != nil && whole {
			return nil, err
		}
		span.Partial = !logged
		// a partial log has the time at which each packet left
		span.Ordered = leg.hop.Ordered() && (span.Partial || !leg.hop.HoldsBack())
		for _, t := range leg.taps {
			src, err := t.Source(at.wall, at.epoch)
			if err != nil {
				return nil, err
			}
			span.Sources = append(span.Sources, src)
		}
		list = append(list, span)
	}
	return list, nil
}

// captureFiles are the pcapng files of all taps, or none.
type captureFiles struct {
	trace.Views
	files   []*os.File
	buffers []*bufio.Writer
	writers []*capture.Writer
}

// openCaptures begins the files of the taps in a folder; "" is none. The run began at zero on the wall clock.
func openCaptures(dir string, h *trace.Header, legs legs, zero time.Time) (*captureFiles, error) {
	c := &captureFiles{}
	if dir == "" {
		return c, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("netns: captures: %w", err)
	}
	for _, l := range legs {
		for side := range l.taps {
			if err := c.add(dir, h, l.place(trace.Side(side)), zero); err != nil {
				_ = c.close() // the first error says more
				return nil, fmt.Errorf("netns: captures: %w", err)
			}
			c.writers[len(c.writers)-1].Lost(l.taps[side].Dropped())
		}
	}
	return c, nil
}

// add starts the file of one tap.
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
