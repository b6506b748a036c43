// Package shorthand writes a Spec in a few words: the flags of the command run. They become scenario lines, so that a
// word and a line of a Spec file mean the same and are checked by the same code; what they leave open is chosen to fit
// the path.
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

// Words say what to run. Those with a unit are text.
type Words struct {
	Impl       string // implementation, or two separated by a comma for A and B
	Rate       string // of the line, layer 1
	RTT        string // round-trip propagation delay
	Jitter     string
	Loss       string // a probability, or a model
	Burst      string // burst loss; "" is none
	Queue      int    // packets that may wait for the line
	MTU        int    // bytes
	Message    string // size
	Sizes      string // distribution of sizes in place of Message; "" is none
	Offered    string // share of the rate at which messages arrive; "" is as fast as the queue depth allows
	Every      time.Duration
	Operation  string // write, send, read, ...
	Congestion string // congestion control, or none
	QPs        int
	Depth      int           // requests outstanding per QP
	CQMod      int           // one signalled completion in this many
	Count      int           // messages per QP; 0 is a default, or none with Duration
	Duration   time.Duration // 0 is as long as the messages take
	// in which it has to be done; 0 is that of the Spec, or of the defaults an hour beyond Duration
	Limit   time.Duration
	Timeout int // local ACK timeout code; -1 is a default
	Seed    uint64
	Params  []string // name=value
	Faults  []string // scenario lines
}

// Read makes the Spec of a file, if there is one, and the words; see Spec.
func (w *Words) Read(file []string, said func(flag string) bool) (given *scenario.Spec, err error) {
	if len(file) > 0 {
		if given, err = scenario.ReadFile(file[0]); err != nil {
			return nil, err
		}
	}
	return w.Spec(given, said)
}

// Spec changes a given Spec by the words that the user said, or makes one of all words when it is nil. Said reports
// whether a word was said, by the name of its flag.
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

// lines turns words into scenario lines.
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

// longest bounds --duration; a longer run is a mistyped one.
const longest = 24 * time.Hour

// lossModel reads --loss: a bare number is independent loss.
func (w *Words) lossModel() string {
	if w.Loss == "0" {
		return "none"
	}
	if w.Loss == "" || strings.ContainsAny(w.Loss[:1], "0123456789.-+") {
		return "random p=" + w.Loss
	}
	return w.Loss
}

// allMessages bounds what all connections send when nobody says how much: 650 MB of the default size, some seconds of 1
// Gb/s.
const allMessages = 10_000

// loadFlags are those that make the workload line; one of them replaces the workload of a file.
var loadFlags = []string{"msg", "cdf", "offered", "every", "count", "op"}

// load is the workload line.
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

// fit chooses what the words left open from what they said: a queue that holds the bandwidth-delay product twice, and a
// transport timer that outlasts the round trip.
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
