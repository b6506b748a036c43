package neg

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// extension is the feature of transports with opcodes of the manufacturer-specific classes.
const extension = "extension"

var bogusSACK = rule.Rule{
	ID: "NEG-EXT-001", Level: rule.Must,
	Title: "A selective acknowledgement of a PSN before or at the expected one, or never sent, counts only for its " +
		"cumulative part",
	Source: rule.Source{Ref: "package roce, extension opcodes", Requirement: "A SACK names a packet after the expected " +
		"one; anything else it names is no information about losses"},
	Needs: rule.TapRequester | rule.Completions | rule.Fates, Sees: rule.RequestOut | rule.ResponseIn,
	Features: []string{extension}, Stimulus: "a SACK that names an impossible PSN", BlackBox: "ENG",
	New: disregards("SACK of an impossible PSN", false, func(c *rule.Context, s *rule.Sight) bool {
		p := s.Pkt
		return s.Rec.Fate == trace.Injected && s.Intact() && rule.Selective(p) && c.Started &&
			(p.SACK.PSN.LessEq(p.PSN) || c.MAX.LessEq(p.SACK.PSN))
	}),
}

var foreignDialect = rule.Rule{
	ID: "NEG-EXT-002", Level: rule.Must,
	Title: "An extension packet for a QP of another mode is dropped silently",
	Source: rule.Source{Ref: "IBTA 9.6.1", Requirement: "The opcode must be one that the destination queue pair serves, " +
		"otherwise the packet is discarded"},
	Needs: rule.Both | rule.Fates | rule.Completions, Sees: rule.Requests | rule.Responses,
	Features: []string{extension}, Stimulus: "an extension packet for a QP of another mode", BlackBox: "ENG",
	New: func(c *rule.Context) rule.Check {
		var spoken dialect
		requests := silence{c: c, what: "request of another mode", bad: func(_ *rule.Context, s *rule.Sight) bool {
			return spoken.isForeign(s) && s.Pkt.Opcode.IsRequest()
		}}
		responses := disregard{c: c, what: "response of another mode", bad: func(_ *rule.Context, s *rule.Sight) bool {
			return spoken.isForeign(s) && rule.Selective(s.Pkt)
		}}
		check := both(requests.check(), responses.check())
		judge := check.Sight
		check.Sight = func(s *rule.Sight) { spoken.learn(s); judge(s) }
		return check
	},
}

// dialect is the opcode class of a QP's own requests.
type dialect struct {
	class roce.Class
	known bool
}

func (d *dialect) learn(s *rule.Sight) {
	if !d.known && s.Rec.Fate != trace.Injected && s.Pkt.Opcode.IsRequest() {
		d.class, d.known = s.Pkt.Opcode.Class(), true
	}
}

// isForeign reports whether s is an intact extension packet that the harness made and that is not of the QP's dialect.
// Go-Back-ONE adds its RACK to the RC class, so a RACK is foreign only to the other extensions.
func (d *dialect) isForeign(s *rule.Sight) bool {
	o := s.Pkt.Opcode
	extended := o.Class() == roce.ClassX || o.Class() == roce.ClassF
	if !d.known || s.Rec.Fate != trace.Injected || !s.Intact() || !extended {
		return false
	}
	if o == roce.RACK {
		return d.class != roce.ClassRC
	}
	return o.Class() != d.class
}
