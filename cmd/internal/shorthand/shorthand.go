// Package shorthand makes a Spec from the flags of the command run. Flags become scenario lines, so that a flag and a
// line of a Spec file mean the same and are checked by the same code. Values left open are chosen to fit the path.
package shorthand

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Words are the values of the flags. Those with a unit are text.
type Words struct {
	Impl       string // implementation, or two separated by a comma for A and B
	Rate       string // of the line, layer 1
	RTT        string // round-trip propagation delay
	Jitter     string
	Loss       string // a probability, or a model
	Burst      string // burst loss; "" for none
	Queue      int    // packets that may wait for the line
	MTU        int    // bytes
	Message    string // size
	Sizes      string // distribution of sizes, in place of Message; "" for none
	Offered    string // share of the rate at which messages arrive; "" for as fast as the queue depth allows
	Every      time.Duration
	Operation  string // write, send, read, ...
	Congestion string // congestion control, or none
	QPs        int
	Depth      int           // requests outstanding per QP
	CQMod      int           // one signalled completion in this many
	Count      int           // messages per QP; 0 for a default, or with Duration for no limit
	Duration   time.Duration // of the run; 0 for as long as the messages take
	// time limit of the run; 0 keeps the Spec's, or with Duration means one hour more than that
	Limit   time.Duration
	Timeout int // local ACK timeout code; -1 for a default
	Seed    uint64
	Params  []string // name=value
	Faults  []string // scenario lines
}

// Read makes the Spec from the words and a file, if there is one; see Spec.
func (w *Words) Read(file []string, said func(flag string) bool) (given *scenario.Spec, err error) {
	if len(file) > 0 {
		if given, err = scenario.ReadFile(file[0]); err != nil {
			return nil, err
		}
	}
	return w.Spec(given, said)
}

// Spec changes the given Spec by the words whose flags the user set. If given is nil, it makes a Spec from all words.
// Said reports whether the user set a flag, by its name.
func (w *Words) Spec(given *scenario.Spec, said func(flag string) bool) (*scenario.Spec, error) {
	s := given
	if given == nil {
		s = scenario.Default()
	}
	lines, err := w.lines(func(flag string) bool { return given == nil || said(flag) })
	if err != nil {
		return nil, err
	}
	if w.Timeout < -1 || w.Timeout > 31 {
		return nil, fmt.Errorf("--timeout %d: want a code from 0 (no timer) to 31", w.Timeout)
	}
	for _, l := range lines {
		if err := s.Line(l); err != nil {
			return nil, err
		}
	}
	if given == nil || slices.ContainsFunc(loadFlags, said) {
		s.Loads, s.Turns = nil, scenario.Turns{}
		if err := s.Line(w.load()); err != nil {
			return nil, err
		}
	}
	w.fit(s, said, given == nil)
	return s, s.Validate()
}

// lines converts words to scenario lines.
func (w *Words) lines(given func(string) bool) ([]string, error) {
	var out []string
	add := func(name, format string, args ...any) {
		if given(name) {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	rtt, err := vtime.ParseDuration(w.RTT)
	if err != nil {
		return nil, fmt.Errorf("--rtt: %w", err)
	}
	add("impl", "impl %s", strings.ReplaceAll(w.Impl, ",", " "))
	add("rate", "link rate=%s", w.Rate)
	add("rtt", "link delay=%s", rtt/2)
	add("jitter", "link jitter=%s", w.Jitter)
	add("loss", "loss %s", w.lossModel())
	if w.Burst != "" {
		out = append(out, "loss burst:"+w.Burst)
	}
	add("mtu", "qp mtu=%d", w.MTU)
	add("qps", "qp count=%d", w.QPs)
	add("qd", "qp qd=%d", w.Depth)
	add("cqmod", "qp cqmod=%d", w.CQMod)
	add("cc", "qp cc=%s", w.Congestion)
	add("seed", "seed %d", w.Seed)
	if w.Duration < 0 || w.Duration > longest {
		return nil, fmt.Errorf("--duration %s: want more than 0 and at most %s", w.Duration, longest)
	}
	if w.Duration != 0 {
		out = append(out, fmt.Sprintf("run for=%s limit=%s", vtime.FromStd(w.Duration),
			vtime.FromStd(w.Duration+time.Hour)))
	}
	if w.Limit != 0 {
		out = append(out, "run limit="+vtime.FromStd(w.Limit).String())
	}
	for _, p := range w.Params {
		out = append(out, "param "+p)
	}
	return append(out, w.Faults...), nil
}

// longest bounds --duration, in which a longer time is a mistake.
const longest = 24 * time.Hour

// lossModel converts --loss: a bare number means independent loss.
func (w *Words) lossModel() string {
	if w.Loss == "0" {
		return "none"
	}
	if w.Loss == "" || strings.ContainsAny(w.Loss[:1], "0123456789.-+") {
		return "random p=" + w.Loss
	}
	return w.Loss
}

// allMessages bounds the default number of messages over all connections: 650 MB of the default size, some seconds at 1
// Gb/s.
const allMessages = 10_000

// loadFlags are the flags that make the workload line. Any of them replaces the workload of a file.
var loadFlags = []string{"msg", "cdf", "offered", "every", "count", "op"}

// load returns the workload line.
func (w *Words) load() string {
	count := w.Count
	if count == 0 && w.Duration == 0 {
		count = min(100, max(1, allMessages/max(1, w.QPs)))
	}
	size := "msg=" + w.Message
	if w.Sizes != "" {
		size = "cdf=" + w.Sizes
	}
	line := fmt.Sprintf("load %s %s count=%d", w.Operation, size, count)
	if w.Offered != "" {
		line += " offered=" + w.Offered
	}
	if w.Every != 0 {
		line += fmt.Sprintf(" every=%s", vtime.FromStd(w.Every))
	}
	return line
}

// fit chooses values that the words leave open: a queue of at least twice the bandwidth-delay product, and a transport
// timer longer than the round trip.
func (w *Words) fit(s *scenario.Spec, said func(string) bool, wordsOnly bool) {
	if said("queue") {
		s.Link.AB.Queue, s.Link.BA.Queue = w.Queue, w.Queue
	} else if wordsOnly {
		bdp := s.Link.AB.BDPPackets(s.RTT(), w.MTU+82)
		s.Link.AB.Queue = max(1000, 2*bdp)
		s.Link.BA.Queue = s.Link.AB.Queue
	}
	if said("timeout") {
		for side := range s.QP {
			s.QP[side].Timeout = engine.LocalACKTimeout(max(w.Timeout, 0))
		}
	} else if wordsOnly {
		s.FitTimeout()
	}
}
