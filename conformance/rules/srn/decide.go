package srn

import (
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/selective"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

var decisions = define(rule.Rule{
	ID: "SRN-RTX-001", Level: rule.Must,
	Title: "Recovery decides as IRN does: the expected packet first, then the packets missing below one " +
		"that arrived, each once",
	Source: rule.Source{Ref: "FASR V-A, IRN 3.1",
		Requirement: "We implement IRN and SRNIC based on the FaSR protocol stack on the same FPGA."},
	Needs: rule.TapRequester | rule.Completions, Sees: rule.RequestOut | rule.Arrivals, Stimulus: "lost packets",
	New: func(c *rule.Context) rule.Check {
		d := decider{c: c, intake: rule.NewIntake(c), Sender: selective.NewSender(c, rule.Requester, handed)}
		d.Judges(selective.FirstIsHead, selective.OnlyHoles, selective.HoleOnce, selective.TimeoutHead)
		if dropsAnswers(c) {
			return rule.Check{}
		}
		return rule.Check{Sight: d.sight, Event: d.Event, End: d.End}
	},
})

const (
	// handed is how many packets a requester may have handed to its port: fewer than in other schemes, because its
	// pipeline makes the port late.
	handed = 8
	// roomForAnswers is more than any window in tests, so that no answer finds the buffer full.
	roomForAnswers = 4096
)

// decider runs the reference sender over the requests. It processes an answer when that has passed the pipeline.
type decider struct {
	*selective.Sender
	c      *rule.Context
	intake rule.Intake
}

// dropsAnswers reports whether the requester's pipeline has so little room that it may drop answers, which no tap
// shows.
func dropsAnswers(c *rule.Context) bool {
	n, err := strconv.Atoi(c.Attr.Params["buffer"])
	return err == nil && n < roomForAnswers
}

func (d *decider) sight(s *rule.Sight) {
	c, p := d.c, s.Pkt
	d.Begin()
	taken := d.intake.Sight(s)
	switch {
	case p.Opcode.NumberedApart() || c.Failed || s.Point == trace.ResponderIn:
	case s.Point == trace.RequesterOut && p.Opcode.IsRead() && p.PSN.Less(d.UNA):
		d.Passes(s) // it asks again for missing data
	case s.Point == trace.RequesterOut:
		d.Leaves(s)
	case !s.Intact() || !c.Addressed(s):
	case rule.Selective(p):
		d.Heard(s, taken, p.PSN, p.SACK.PSN)
	default:
		last, _ := rule.Acknowledged(p)
		d.Heard(s, taken, last.Next(), last.Next())
		if p.Opcode == roce.Acknowledge && !p.AETH.Syndrome.IsACK() {
			d.Hush()
		}
	}
}
