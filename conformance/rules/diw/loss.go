package diw

import (
	"fmt"
	"math"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// lossModel compares the losses that were declared with those that the paper's reasoning predicts for a link that loses
// each frame with the same probability: a datagram of f fragments arrives with (1-p)^f; a message is declared when its
// last datagram arrives, and then all others that did count. The probability is the one at which this very trace lost
// frames.
var lossModel = define(rule.Rule{
	ID: "WREC-LOSS-001", Level: rule.Should, Rests: validity.Everything,
	Title: "As many messages are declared, and as many bytes valid, as the loss of the link explains",
	Source: paper("VI-A2", "So for messages that comprise many 64KB UDP segments some of the overall message can be "+
		"saved even if some 64KB UDP segments are discarded."),
	Needs: rule.Both | rule.Fates | rule.Completions, Stimulus: "random loss",
	New: func(c *rule.Context) rule.Check {
		x := expectation{c: c}
		check := watching(func(w *watch) {
			w.sent, w.told, w.end = x.sent, x.told, x.judge
		})(c)
		inner := check.Sight
		check.Sight = func(s *rule.Sight) {
			if s.Point == trace.RequesterOut && s.Pkt.Opcode == roce.UDP {
				x.frame(s.Rec.Fate == trace.Dropped)
			}
			inner(s)
		}
		return check
	},
})

// expectation is the messages that were sent, by their shapes, and the losses that were declared of them.
type expectation struct {
	c            *rule.Context
	frames, lost float64
	runs         float64 // lost frames that follow a lost frame
	before       bool
	shape        []size    // of the message that is being sent
	under        []waiting // messages that may be on their way, oldest first
	shapes       map[string]*shapes
	declared     float64
	bytes        float64
}

// size is a datagram: its payload and its fragments.
type size struct{ bytes, fragments int }

// shapes is messages that were cut alike.
type shapes struct {
	list []size
	n    float64
}

// frame counts one frame on the link.
func (x *expectation) frame(lost bool) {
	x.frames++
	if lost {
		x.lost++
		if x.before {
			x.runs++
		}
	}
	x.before = lost
}

func (x *expectation) sent(d *datagram) {
	s := &d.Segment
	if d.err != nil || s.Opcode != iwarp.WriteRecord {
		return
	}
	if x.shape = append(x.shape, size{len(s.Payload), d.fragments}); !s.Last {
		return
	}
	if x.shapes == nil {
		x.shapes = map[string]*shapes{}
	}
	name := fmt.Sprint(x.shape)
	if x.shapes[name] == nil && len(x.shapes) < keep {
		x.shapes[name] = &shapes{list: append([]size(nil), x.shape...)}
	}
	if known := x.shapes[name]; known != nil {
		x.under = append(x.under, waiting{d.due, known})
	}
	x.shape = x.shape[:0]
	x.arrived(d.at)
}

// told counts the declarations of the target.
func (x *expectation) told(e *trace.Event, m *message) {
	if e.Kind != trace.Declared {
		return
	}
	if x.bytes += float64(e.Len); m != nil && m.entries == 1 {
		x.declared++
	}
}

// waiting is a message on its way.
type waiting struct {
	due   vtime.Time
	shape *shapes
}

// arrived counts the messages of which the end has come, or was lost, before now: those that are under way when
// observation stops do not count.
func (x *expectation) arrived(now vtime.Time) {
	n := 0
	for n < len(x.under) && x.under[n].due <= now {
		x.under[n].shape.n++
		n++
	}
	x.under = append(x.under[:0], x.under[n:]...)
}

// enough is how many messages say something about a probability.
const enough = 100

// judge compares, with three standard deviations on both sides.
func (x *expectation) judge() {
	x.arrived(x.c.Now())
	p := x.lost / max(1, x.frames)
	n, mean, variance, bytes, spread := 0.0, 0.0, 0.0, 0.0, 0.0
	for _, s := range x.shapes {
		arrives, first, second := s.moments(p)
		n += s.n
		mean += s.n * arrives
		variance += s.n * arrives * (1 - arrives)
		bytes += s.n * first
		spread += s.n * (second - first*first)
	}
	independent := x.runs <= x.lost*p+4*math.Sqrt(x.lost*p)+3
	if n < enough || x.lost == 0 || !independent {
		return
	}
	x.c.Met()
	x.compare("messages declared", x.declared, mean, variance)
	x.compare("bytes declared", x.bytes, bytes, spread)
}

// moments returns the probability that a message is declared, and the mean of the bytes that are and of their square.
func (s *shapes) moments(p float64) (arrives, first, second float64) {
	last := s.list[len(s.list)-1]
	arrives = math.Pow(1-p, float64(last.fragments))
	mean, variance := float64(last.bytes), 0.0
	for _, d := range s.list[:len(s.list)-1] {
		q := math.Pow(1-p, float64(d.fragments))
		mean += q * float64(d.bytes)
		variance += q * (1 - q) * float64(d.bytes) * float64(d.bytes)
	}
	return arrives, arrives * mean, arrives * (mean*mean + variance)
}

// compare fails when a number is off by more than three standard deviations.
func (x *expectation) compare(what string, got, want, variance float64) {
	if sigma := math.Sqrt(variance); math.Abs(got-want) > 3*sigma {
		x.c.Failf(rule.Responder, "%.0f %s, and the loss of the link explains %.0f, with a deviation of %.0f", got,
			what, want, sigma)
	}
}
