package lowar

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/shim"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Capacities of the paper's prototype, the defaults of a device.
const (
	// "The shared Reordering Buffer is configured to accommodate up to 2048 out-of-order packets" (LoWAR V)
	paperROB   = 2048
	paperUnits = 1024 // "1024 coding units we set" (LoWAR V)
)

// capacity returns a parameter of the responder's end, or the paper's value; both ends have the same.
func capacity(c *rule.Context, name string, paper int64) int64 {
	if n, err := strconv.ParseInt(c.PeerAttr.Params[name], 10, 64); err == nil {
		return n
	}
	return paper
}

// bounded makes the check of a rule about a variable with a limit; what names it in findings.
func bounded(what string, limit func(c *rule.Context) int64, names ...string) func(*rule.Context) rule.Check {
	return func(c *rule.Context) rule.Check {
		return rule.Check{Event: func(e *trace.Event) {
			if e.Kind != trace.Probe || !slices.Contains(names, e.Name) {
				return
			}
			// Each report is judged once: encoding by the sender's half of the connection, decoding by the receiver's.
			if encoding := strings.HasSuffix(e.Name, "encoding"); c.Mine(e) == encoding {
				c.Met()
				if e.Value > limit(c) || e.Value < 0 {
					c.FailAt(e.At, rule.NoRecord, blame(!encoding), what+": "+strconv.FormatInt(e.Value, 10)+" in use, want at most "+
						strconv.FormatInt(limit(c), 10))
				}
			}
		}}
	}
}

// state defines a rule about the variables that an engine reports.
func state(id, title, requirement, stimulus string, sees rule.Class, check func(*rule.Context) rule.Check) rule.Rule {
	return define(rule.Rule{ID: id, Title: title, Source: rule.Source{Ref: "LOWAR IV-B2, V", Requirement: requirement},
		Stimulus: stimulus,
		Needs:    rule.Probes | rule.Attributes, Sees: sees, New: check})
}

func reorderBuffer() rule.Rule {
	r := state("LOWAR-ROB-001",
		"The reorder buffer never exceeds its capacity; when it is full the block is given up",
		"The shared Reordering Buffer is configured to accommodate up to 2048 out-of-order packets.",
		"a reorder buffer of two packets, and a loss",
		decoded, func(c *rule.Context) rule.Check {
			h := newHole(c, func(why shim.Failure, _ psn.PSN) bool { return why == shim.FailedFull })
			limit := func(c *rule.Context) int64 { return capacity(c, "rob", paperROB) }
			return together(bounded("reorder buffer", limit, "rob")(c), rule.Check{Sight: h.sight})
		})
	r.Needs |= decodes
	return r
}

var unitsBounded = state("LOWAR-UNIT-001",
	"The coding units in use by all connections of an endpoint never exceed their number",
	"LoWAR dynamically assigns these units to different connections. [...] In the release stage, they are re-enqueued "+
		"into the queue with binds dissolved (Appendix).", "a run with loss", 0,
	bounded("coding units", func(c *rule.Context) int64 { return capacity(c, "units", paperUnits) },
		"units_encoding", "units_decoding"))

func unitsExhausted() rule.Rule {
	r := state("LOWAR-UNIT-002",
		"Without a free coding unit a block is still sent, without repair packets, and is counted",
		"The introduction of coding units allows shared and reusable storage across multiple connections.",
		"one coding unit and several QPs",
		sendsRequests, func(c *rule.Context) rule.Check {
			bare := int64(0)
			st := newStream(c, false)
			st.short = func(b *block) {
				if b.repairs == 0 {
					c.FailAt(b.at, b.index, rule.Requester, "ends the block at "+c.Rel(b.base)+
						": repair packets or a count as unprotected expected; neither seen")
				}
			}
			check := st.check()
			check.Event = func(e *trace.Event) {
				st.event(e)
				if st.unprotected > bare {
					bare = st.unprotected
					c.Met()
				}
			}
			return check
		})
	r.Needs |= rule.TapRequester
	return r
}

func inOrder() rule.Rule {
	r := state("LOWAR-DEC-008",
		"While it tracks, the shim passes packets up strictly in order: the transport sees none out of order",
		"Once the Bitmaps confirm repair completion, packets in the ROB are seamlessly fed into the upper RDMA stack.",
		"each packet of a block lost in turn",
		rule.RequestIn, func(c *rule.Context) rule.Check {
			early := int64(0)
			return rule.Check{
				Sight: func(s *rule.Sight) {
					if s.Point == trace.ResponderIn && s.Recovered {
						c.Met()
					}
				},
				Event: func(e *trace.Event) {
					if e.Kind != trace.Probe || e.Name != "early" || c.Mine(e) {
						return
					}
					if d := c.Decoders[0]; e.Value > early && d.Tracking && d.Held > 0 {
						c.FailAt(e.At, rule.NoRecord, rule.Responder,
							"the transport sees a packet out of order; none expected while "+c.Request(d.Next)+
								" may be recovered")
					}
					early = e.Value
				},
			}
		})
	r.Needs |= decodes
	r.Source.Ref = "LOWAR IV-A"
	return r
}

var tracksAgain = define(rule.Rule{
	ID:    "LOWAR-DEC-009",
	Title: "After a failure packets are passed through until the missing one arrives; then losses are recovered again",
	Source: rule.Source{Ref: "LOWAR IV-B2", Requirement: "LoWAR will pass it to RDMA stacks to activate GBN " +
		"retransmission and stop tracking the connection until its retransmission arrives."},
	Needs: decodes, Sees: decoded, Stimulus: "two packets of a unit lost, and one of a later block",
	New: func(c *rule.Context) rule.Check {
		a := newAccuser(c, func(*rule.Sight) bool { return c.Decoders[0].Failures > 0 })
		h := newHole(c, func(shim.Failure, psn.PSN) bool { return true })
		h.quiet = true
		return together(a.check(), rule.Check{Sight: h.sight})
	},
})
