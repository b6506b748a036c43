package rc

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

func conservation() rule.Rule {
	return rule.Rule{
		ID: "RC-CNS-001", Level: rule.Must,
		Title: "What is delivered was sent, and what is acknowledged was delivered",
		Source: rule.Source{Ref: "IBTA 9.7", Requirement: "The reliable service neither loses, invents nor repeats messages: each arrives exactly " +
			"once."},
		Needs: rule.Both | rule.Fates, Sees: rule.RequestIn | rule.ResponseOut, Stimulus: "any delivery, under random loss", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			return rule.Check{
				Sight: func(s *rule.Sight) {
					if s.Point == trace.ResponderOut || !s.Intact() || s.Rec.Fate == trace.Injected {
						return // what the harness made was never sent
					}
					if !c.PositionUnsure() && !s.Pkt.PSN.Less(c.MAX) {
						c.Failf(rule.Channel, "%v %s arrives and was never sent", s.Pkt.Opcode, c.Rel(s.Pkt.PSN))
					} else {
						c.Met()
					}
				},
				End: func(vtime.Time) {
					if c.Started && !c.Fatal && c.EPSN.Less(c.UNA) {
						c.Failf(rule.Responder, "%d packets are acknowledged and were never accepted, from %s on", c.UNA.Sub(c.EPSN), c.Rel(c.EPSN))
					}
				},
			}
		},
	}
}

func quiescence() rule.Rule {
	return rule.Rule{
		ID: "RC-CNS-002", Level: rule.Must,
		Title: "After all completions no request is sent",
		Source: rule.Source{Ref: "IBTA 9.7.3", Requirement: "A requester sends request packets for work requests that are not " +
			"completed."},
		Needs: rule.TapRequester | rule.Done, Sees: rule.RequestOut, Stimulus: "a run that ends, under random loss", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			var q sendQueue
			idle := vtime.Never // since when nothing is outstanding
			quiet := func(now vtime.Time) bool { return idle != vtime.Never && !c.Port.Lags(idle, now) }
			settle := func(now vtime.Time) {
				if quiet(now) {
					c.Met()
				}
			}
			return rule.Check{
				Sight: func(s *rule.Sight) {
					if quiet(s.At) {
						c.Failf(rule.Requester, "%v %s is sent with nothing outstanding; silence expected", s.Pkt.Opcode, c.Rel(s.Pkt.PSN))
					}
				},
				Event: func(e *trace.Event) {
					switch {
					case !c.Mine(e):
					case e.Kind == trace.Post:
						settle(e.At)
						q.post(e)
						idle = vtime.Never
					case e.Kind == trace.CQE:
						if _, _, ok := q.complete(e.Body.ID); ok && q.outstanding() == 0 {
							idle = e.At
						}
					}
				},
				End: settle,
			}
		},
	}
}
