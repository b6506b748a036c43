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

// lossModel compares the declared messages with the number that the paper's reasoning predicts for a link that loses
// frames independently with probability p. A datagram of f fragments arrives with probability (1-p)^f. A message is
// declared when its last datagram arrives, with the bytes of the other datagrams that did. For p the model uses the
// share of frames lost in this trace.
var lossModel = define(rule.Rule{
	ID: "WREC-LOSS-001", Level: rule.Should, Rests: validity.Everything,
	Title: "The numbers of messages declared and of bytes valid match the loss of the link",
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

// expectation counts the messages sent, by shape, and the messages and bytes declared.
type expectation struct {
	c            *rule.Context
	frames, lost float64            // frames on the link, and those lost
	runs         float64            // lost frames after a lost frame
	before       bool               // the latest frame was lost
	shape        []size             // datagrams of the open message
	under        []waiting          // messages that may be in flight, oldest first
	shapes       map[string]*shapes // by their text
	declared     float64            // messages
	bytes        float64            // declared
}

// size is the payload in bytes and the number of fragments of a datagram.
type size struct{ bytes, fragments int }

// shapes counts the messages with equal datagrams.
type shapes struct {
	list []size  // datagrams
	n    float64 // messages that arrived or were lost
}

// frame counts a frame on the link.
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

// waiting is a message in flight.
type waiting struct {
	due   vtime.Time // arrival of its last datagram
	shape *shapes
}

// arrived counts the messages whose last datagram arrived, or was lost, before now. Messages in flight at the end do
// not count.
func (x *expectation) arrived(now vtime.Time) {
	n := 0
	for n < len(x.under) && x.under[n].due <= now {
		x.under[n].shape.n++
		n++
	}
	x.under = append(x.under[:0], x.under[n:]...)
}

// enough is the number of messages needed for a verdict.
const enough = 100

// judge compares the counts with the prediction, within three standard deviations.
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

// moments returns the probability that a message is declared, and the mean and the mean square of its declared bytes.
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

// compare reports a count that is off by more than three standard deviations.
func (x *expectation) compare(what string, got, want, variance float64) {
	if sigma := math.Sqrt(variance); math.Abs(got-want) > 3*sigma {
		x.c.Failf(rule.Responder, "%.0f %s; %.0f expected from the loss of the link, with a deviation of %.0f", got,
			what, want, sigma)
	}
}
