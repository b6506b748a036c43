package srn

import (
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var decisions = define(rule.Rule{
	ID: "SRN-RTX-001", Level: rule.Must,
	Title:  "Recovery decides as IRN does: the expected packet first, then what is missing below one that arrived, each once",
	Source: rule.Source{Ref: "FASR V-A, IRN 3.1", Requirement: "We implement IRN and SRNIC based on the FaSR protocol stack on the same FPGA."},
	Needs:  rule.TapRequester, Sees: rule.RequestOut | rule.Arrivals, Stimulus: "lost packets",
	New: func(c *rule.Context) rule.Check {
		d := decider{c: c, intake: rule.NewIntake(c), off: dropsAnswers(c), sacked: map[psn.PSN]hearing{}, again: map[psn.PSN]bool{}}
		return rule.Check{Sight: d.sight, Event: d.event, End: d.end}
	},
})

const (
	// lag is how many packets may leave before an endpoint has certainly acted on an answer: what it had handed to its port.
	lag = 8
	// overdue is how many new packets may pass one that has to be sent again.
	overdue = 64
	// roomForAnswers is more than any window of tests has, so that no answer finds the buffer full.
	roomForAnswers = 4096
)

// decider is the reference: what of the requests is acknowledged, and what may be sent again.
type decider struct {
	c      *rule.Context
	intake rule.Intake
	off    bool // what it cannot know may be lost: nothing is judged
	begun  bool

	una, next psn.PSN
	sent      int                 // packets that have left
	moves     []move              // of una, which the sender may not know of yet
	known     psn.PSN             // una as far as it does
	sacked    map[psn.PSN]hearing // and when that was said
	high      psn.PSN             // newest that was
	again     map[psn.PSN]bool
	recovery  bool
	recover   psn.PSN    // newest that had been sent when a packet was last sent again
	quiet     bool       // until all is acknowledged: the peer has refused something
	expired   vtime.Time // the timer: what began to leave before was wanted before
	due       bool       // the packet due0 has to be sent again
	due0      psn.PSN
	dueAt     vtime.Time // from then on, at the latest
	passed    int        // new packets since
}

func (d *decider) sight(s *rule.Sight) {
	c, p := d.c, s.Pkt
	if !d.begun && c.Started {
		d.start(c.Start)
	}
	taken := d.intake.Sight(s)
	switch {
	case p.Opcode.NumberedApart() || c.Failed || d.off || s.Point == trace.ResponderIn:
	case s.Point == trace.RequesterOut && !p.PSN.Less(d.next):
		d.fresh(s.At, p.PSN)
	case s.Point == trace.RequesterOut && p.Opcode.IsRead() && p.PSN.Less(d.una):
		// It asks once more for data that do not come.
	case s.Point == trace.RequesterOut:
		d.repeat(s)
	case s.Intact() && c.Addressed(s):
		d.heard(taken, p)
	}
}

// start sets the first PSN.
func (d *decider) start(p psn.PSN) {
	d.begun, d.una, d.next, d.high, d.known = true, p, p, p, p
}

// hearing is when an answer came: the packets that had left by then, and when the pipeline has taken it at the latest.
type hearing struct {
	sent  int
	ready vtime.Time
}

// move is an answer that moved una.
type move struct {
	hearing
	una psn.PSN
}

// certain reports whether the sender has certainly acted on an answer.
func (d *decider) certain(now vtime.Time, h hearing) bool {
	return d.sent-h.sent > lag && now >= h.ready
}

// leaves notes that a packet leaves, and returns the una that its sender certainly knew.
func (d *decider) leaves(now vtime.Time) psn.PSN {
	d.sent++
	for len(d.moves) > 0 && d.certain(now, d.moves[0].hearing) {
		d.known = d.moves[0].una
		d.moves = d.moves[1:]
	}
	return d.known
}

// dropsAnswers reports a requester whose pipeline has so little room that answers may be dropped there, which no tap shows.
func dropsAnswers(c *rule.Context) bool {
	n, err := strconv.Atoi(c.Attr.Params["buffer"])
	return err == nil && n < roomForAnswers
}

// fresh takes a new packet.
func (d *decider) fresh(now vtime.Time, p psn.PSN) {
	d.leaves(now)
	d.next = p.Next()
	if now >= d.dueAt {
		d.passed++
	}
	if d.due && d.passed > overdue {
		d.due = false
		d.c.Failf(rule.Requester, "%s expected first, which a selective acknowledgement showed to be missing; %d new packets have left since", d.c.Request(d.due0), d.passed)
	}
}

// repeat judges a packet that is sent again.
func (d *decider) repeat(s *rule.Sight) {
	now, p := d.c.Began(s), s.Pkt.PSN
	known := d.leaves(now)
	said, arrived := d.sacked[p]
	switch {
	case d.quiet || p.Less(d.una) && !p.Less(known) || now < d.expired:
		return
	case p.Less(d.una):
		d.c.Failf(rule.Requester, "sent again although acknowledged; nothing before %s expected", d.c.Request(d.una))
	case arrived && p != d.una && d.certain(now, said):
		d.c.Failf(rule.Requester, "sent again although a SACK says that it arrived; only what is missing expected")
	case !d.recovery && p != d.una:
		d.c.Failf(rule.Requester, "sent again first; %s expected, the oldest that is missing", d.c.Request(d.una))
	case d.again[p] && p == d.una && !d.c.Offers(rule.Completions):
		d.expire(s.At) // nobody reports timeouts, and this may be one
	case d.again[p]:
		d.c.Failf(rule.Requester, "sent again a second time in one recovery; once expected")
	case p != d.una && !p.Less(d.high):
		d.c.Failf(rule.Requester, "sent again, and nothing above it has arrived; only what is missing below %s expected", d.c.Request(d.high))
	default:
		d.c.Met()
	}
	d.recovery, d.recover, d.again[p] = true, d.next.Prev(), true
	d.due = d.due && d.due0 != p
}

// heard takes an answer that has passed the pipeline at some time.
func (d *decider) heard(at vtime.Time, p *roce.Packet) {
	last, ok := rule.Acknowledged(p)
	if !ok || d.next.LessEq(last) {
		return
	}
	if p.Opcode == roce.Acknowledge && !p.AETH.Syndrome.IsACK() {
		d.quiet = true
	}
	if d.una.LessEq(last) {
		d.advance(at, last.Next())
	}
	if !rule.Selective(p) {
		return
	}
	if q := p.SACK.PSN; q.In(d.una.Next(), d.next) {
		if _, before := d.sacked[q]; !before {
			d.sacked[q] = hearing{d.sent, at}
		}
		d.high = psn.Max(d.high, q)
	}
	if p.PSN == d.una && !d.recovery && !d.quiet && !d.due {
		d.due, d.due0, d.dueAt, d.passed = true, d.una, at, 0
	}
}

// advance moves una, and ends recovery when what had been sent by the last retransmission is acknowledged.
func (d *decider) advance(at vtime.Time, una psn.PSN) {
	d.una = una
	d.moves = append(d.moves, move{hearing{d.sent, at}, una})
	d.high = psn.Max(d.high, una)
	for p := range d.sacked {
		if p.Less(una) {
			delete(d.sacked, p)
		}
	}
	d.due = d.due && !d.due0.Less(una)
	d.quiet = d.quiet && una != d.next
	if d.recovery && d.recover.Less(una) {
		d.recovery = false
		clear(d.again)
	}
}

// event takes a timeout, after which everything may go again, the expected packet first; and whatever was sent before it is
// taken for lost.
func (d *decider) event(e *trace.Event) {
	if e.Kind == trace.Timeout && d.c.Mine(e) {
		d.expire(e.At)
	}
}

// expire takes a timeout.
func (d *decider) expire(at vtime.Time) {
	d.recovery, d.due, d.expired = false, false, at
	d.high = psn.Max(d.high, d.next)
	clear(d.again)
}

func (d *decider) end(vtime.Time) {
	if d.due && !d.quiet && !d.c.Failed && d.passed > lag {
		d.c.Failf(rule.Requester, "%s expected again, which a selective acknowledgement showed to be missing; it never came", d.c.Request(d.due0))
	}
}
