package run

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/attributes"
	"github.com/rdma-gauntlet/gauntlet/conformance/judging"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/recording"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ladder"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/reports/html"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// JudgeOptions configure Judge.
type JudgeOptions struct {
	Path    string   // run folder, trace.ndjson, pcap or pcapng, a pipe of one of these three formats, or Standard
	More    []string // further captures of the same traffic
	Rules   []rule.Rule
	Scheme  string                           // recovery scheme whose rules apply; "" takes those of the implementations
	Schemes map[string]engine.Implementation // by scheme, and by name
	Tap     recording.Tap                    // where a foreign capture was taken; zero derives that from its frames
	QPs     *attributes.List                 // what the user states of the QPs in a foreign capture; nil for nothing
	// path of the counters of the switch that took the captures, see recording.ParsePortCounts; "" for none
	Ports   string
	Waivers []waivers.Waiver
	// the names that waivers must match; without names, the implementations that the trace names, also as
	// NAME-requester at A and NAME-responder at B
	Device  waivers.Device
	Report  string // path of an HTML report; "" writes none
	Command string
	Version string
	Commit  string
}

// ForeignScheme is the recovery scheme assumed of unknown devices: commodity RoCEv2 recovers by go-back-N.
const ForeignScheme = "gbn"

// Judge judges an existing trace. The status of the result follows from the verdicts; for a run folder whose run did
// not end in order it is FAIL or model.Incomplete. An error that is Unreadable means that the trace could not be read
// to its end.
func Judge(ctx context.Context, o JudgeOptions) (*model.Result, error) {
	started := time.Now()
	ports, err := o.ports()
	if err != nil {
		return nil, err
	}
	e := endingOf(o.Path)
	in, err := openTapped(ctx, append([]string{e.trace(o.Path)}, o.More...), o.stated())
	r := &model.Result{
		Format: model.FormatVersion, Version: o.Version, Commit: o.Commit, Started: started.UTC().Format(time.RFC3339),
		Command: o.Command, Bench: trace.FileBench, Folder: strings.Join(append([]string{o.Path}, o.More...), ", "),
	}
	switch {
	case e.tolerates(err): // there is nothing to judge
		e.settle(r)
		return r, o.report(r)
	case err != nil:
		return nil, err
	}
	defer in.close()
	if o.QPs != nil {
		if err := o.QPs.Unused(); err != nil {
			return nil, &Unreadable{in.name, err}
		}
	}
	if err := o.observe(r, in, &e); err != nil {
		return nil, err
	}
	if r.Certificates, err = certified(in.seen, ports, e.certificates); err != nil {
		return nil, &Unreadable{o.Ports, err}
	}
	o.weigh(r, in.seen)
	if err := Ladders(r, in.header, in.play, centres(r.Verdicts)); err != nil && !e.tolerates(err) {
		return nil, err
	}
	r.Wall = time.Since(started).Seconds()
	e.settle(r)
	return r, o.report(r)
}

// stated returns what the user states of a foreign capture.
func (o *JudgeOptions) stated() recording.Stated {
	if o.QPs == nil {
		return recording.Stated{Tap: o.Tap}
	}
	return recording.Stated{Tap: o.Tap, QP: o.QPs.Of}
}

// observe plays the trace to the rules and the metrics, and states in the result what they found and what they took for
// granted.
func (o *JudgeOptions) observe(r *model.Result, in *input, e *ending) error {
	h, spec, measured := in.header, e.spec(), metrics.Options{}
	if spec != nil {
		measured = Measured(spec)
	}
	judge := rule.NewJudge(h, o.Rules, o.declared(&h, spec))
	collector := metrics.NewCollector(&h, measured)
	if err := in.play(trace.NewTimeline(&h, trace.Views{judge, collector})); err != nil && !e.tolerates(err) {
		return err
	}
	r.Verdicts, r.Summary, r.Timeline, r.Sequences = judge.Verdicts(), collector.Summary(), collector.Timeline(),
		collector.Sequences()
	r.Dilated = h.Dilated
	if len(h.Conns) > 0 {
		r.Impl = [2]string{h.Conns[0].Ends[0].Impl, h.Conns[0].Ends[1].Impl}
	}
	if r.Capture = understood(&h, in.seen); r.Capture != nil {
		r.Capture.Attributes = o.knowledge(&in.seen.Attributes)
		r.Notes = append(r.Notes, r.Capture.Lines()...)
		return nil
	}
	r.SingleTap = h.Taps[trace.A] != h.Taps[trace.B] && !h.Between
	r.Notes = append(r.Notes, describe(&h))
	return nil
}

// weigh turns verdicts whose evidence is in doubt, or that are waived, into what is left of them.
func (o *JudgeOptions) weigh(r *model.Result, seen *recording.Capture) {
	if seen != nil {
		rule.Doubt(r.Verdicts, seen.Doubts())
	}
	// the error is nil also for a run that broke: the part of the trace that it left is valid
	judging.Invalidate(r.Verdicts, r.Certificates, nil)
	device := o.Device
	if len(device.Names) == 0 {
		device.Names = named(r.Impl)
	}
	waivers.Apply(r.Verdicts, o.Waivers, device, Today())
}

// implementation returns the implementation by which an end of a trace is judged: that of the scheme that the user
// names, the one of that name, or a program that declares the given features. An unknown device counts as one of
// ForeignScheme.
func (o *JudgeOptions) implementation(name, declares string) engine.Implementation {
	name = cmp.Or(o.Scheme, name)
	switch impl, known := o.Schemes[name]; {
	case known:
		return impl
	case o.Scheme != "":
		return engine.Implementation{Name: name, Recover: name}
	case declares != "":
		return Program(name, strings.Fields(declares), o.Schemes)
	}
	if impl, known := o.Schemes[ForeignScheme]; known {
		return impl
	}
	return engine.Implementation{Name: ForeignScheme, Recover: ForeignScheme}
}

// Program returns an implementation that is known by the features that it declares alone, which are those of
// engine.Implementation.Declares. The schemes say what packets one over IP accepts.
func Program(name string, features []string, schemes map[string]engine.Implementation) engine.Implementation {
	i, rc := engine.Implementation{Name: name}, false
	if len(features) > 0 && features[0] == "rc" {
		features, rc = features[1:], true
	}
	if len(features) > 0 {
		i.Recover, i.Features = features[0], features[1:]
	}
	if scheme := schemes[i.Recover]; !rc && scheme.OverIP() {
		i.Accepts = scheme.Accepts
	}
	return i
}

// declared returns the rules' options for the implementations at the ends of a trace, with the parameters in the trace.
// The Spec of the run has the orders of each end; it may be nil.
func (o *JudgeOptions) declared(h *trace.Header, s *scenario.Spec) rule.Options {
	var ends [2]trace.End
	if len(h.Conns) > 0 {
		ends = h.Conns[0].Ends
	}
	var impls [2]engine.Implementation
	for side := range ends {
		impls[side] = o.implementation(ends[side].Impl, h.Declares[side])
	}
	d := judging.Declared(impls, ends[trace.A].QP.Params)
	if s != nil && len(h.Conns) > 0 {
		for side, end := range h.Conns[0].Ends {
			s.QP[side].QueueDepth = end.QP.QueueDepth // the implementation may have chosen another than the Spec's
		}
		d.Orders = judging.Orders(s, [2]engine.Implementation{o.Schemes[s.Impl[trace.A]], o.Schemes[s.Impl[trace.B]]})
	}
	return d
}

// describe returns a line about the connections and the taps of a trace.
func describe(h *trace.Header) string {
	taps := "both ends were tapped"
	switch h.Taps {
	case [2]bool{true, false}, [2]bool{false, true}:
		taps = "one end was tapped: rules that need the other are inconclusive"
	case [2]bool{}:
		taps = "no packets"
		if h.Between {
			taps = "the tap stood between the ends: rules that need the port of one are inconclusive"
		}
	}
	return fmt.Sprintf("%d connections; %s", len(h.Conns), taps)
}

// understood returns how a foreign capture was interpreted, for reports; nil for other traces.
func understood(h *trace.Header, c *recording.Capture) *model.Capture {
	if c == nil {
		return nil
	}
	var dropped *uint64
	if c.Counted || c.Dropped > 0 {
		dropped = &c.Dropped
	}
	var doubts []string
	for _, d := range c.Doubts() {
		doubts = append(doubts, d.Why)
	}
	if c.Anew > 0 {
		doubts = append(doubts, quantity.Plural(int64(c.Anew), "connection", "connections")+" whose QPNs were used again")
	}
	return &model.Capture{Tap: c.Tap, Address: c.Address, Told: c.Told, Why: c.Why, Connections: len(h.Conns),
		Doubts: doubts,
		MTU:    c.MTU,
		Frames: c.Frames, Skipped: c.Skipped, Kinds: c.Kinds, Tunnels: c.Tunnels, Repeated: c.Twice, Late: c.Late,
		ClockNs: int64(c.Clocks),
		Cut:     c.Cut, Headless: c.Headless, Complete: string(c.Completeness()), Missing: c.Lacks(), Dropped: dropped,
		BadICRC: c.BadICRC, Limit: c.Limit, OneTap: h.Taps != [2]bool{true, true}}
}

// knowledge says which attributes the ends of a foreign capture are judged by.
func (o *JudgeOptions) knowledge(use *recording.Use) string {
	switch {
	case !use.Stated:
		return "unknown, but for those that the frames show"
	case use.Why != "":
		return "unknown: those that the user states are not used, because " + use.Why
	}
	how := "as the user states them"
	if use.Told {
		how += ", and otherwise as the set-up of the connections agrees on them"
	}
	return how + o.QPs.Presumed(o.Schemes[cmp.Or(o.Scheme, ForeignScheme)])
}

func (o *JudgeOptions) report(r *model.Result) error {
	if o.Report == "" {
		return nil
	}
	f, err := os.Create(o.Report)
	if err != nil {
		return fmt.Errorf("judge: %w", err)
	}
	r.Report = o.Report
	if err := html.Write(f, r); err != nil {
		_ = f.Close() // the error of html.Write says more
		return fmt.Errorf("judge: write %s: %w", o.Report, bare(err))
	}
	return f.Close()
}

// LadderOptions configure Ladder.
type LadderOptions struct {
	Path       string // as JudgeOptions.Path
	Conn       int    // -1 draws all
	From       uint64
	Count      int
	Absolute   bool
	Everything bool
}

// ladderMost bounds the packets of a drawing.
const ladderMost = 20_000

// Ladder draws a part of a trace. It draws the part that exists of a run that was cut off, and returns an error that
// says so.
func Ladder(ctx context.Context, w io.Writer, o LadderOptions) error {
	if o.Count < 1 || o.Count > ladderMost {
		return fmt.Errorf("count %d: want 1 to %d", o.Count, ladderMost)
	}
	e := endingOf(o.Path)
	in, err := openInput(ctx, e.trace(o.Path))
	if e.tolerates(err) {
		return e.err()
	}
	if err != nil {
		return err
	}
	defer in.close()
	h := in.header
	if o.Conn >= len(h.Conns) {
		return fmt.Errorf("connection %d: the trace has %d, numbered from 0", o.Conn, len(h.Conns))
	}
	s := &section{from: o.From, count: o.Count, conn: o.Conn}
	if err := in.play(s); err != nil && !e.tolerates(err) {
		return err
	}
	err = ladder.Draw(w, &h, s.Records, s.Events, ladder.Options{Absolute: o.Absolute, Everything: o.Everything,
		AllEvents: o.Everything, OneConn: o.Conn >= 0, Conn: o.Conn, First: o.From})
	return cmp.Or(err, e.err())
}

// section collects count records of a connection, or of all when conn is negative, beginning at index from of the
// trace, and the events between them.
type section struct {
	trace.Collector
	from  uint64
	count int
	conn  int
	index uint64
}

// Packet implements trace.Sink.
func (s *section) Packet(r *trace.Record) {
	if s.index >= s.from && len(s.Records) < s.count && (s.conn < 0 || r.Conn == s.conn) {
		s.Collector.Packet(r)
	}
	s.index++
}

// Event implements trace.Sink.
func (s *section) Event(e *trace.Event) {
	if s.index >= s.from && len(s.Records) < s.count && (s.conn < 0 || e.Conn == s.conn) {
		s.Collector.Event(e)
	}
}

// End implements trace.Sink.
func (s *section) End(vtime.Time) {}
