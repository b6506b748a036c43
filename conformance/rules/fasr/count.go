package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
)

var countIsReceivers = define(rule.Rule{
	ID: "FASR-SND-005", Level: rule.MustNot,
	Title: "The sender does not change lost-cnt by itself: it is that of the last SACK, or zero outside recovery",
	Source: rule.Source{Ref: "FASR III-B2", Requirement: "The sender does not locally update its lost-cnt. Rather, " +
		"it relies on the lost-cnt transmitted by the receiver."},
	Needs: rule.TapRequester | responderState, Sees: rule.ResponseIn, Stimulus: "several lost packets",
	New: func(c *rule.Context) rule.Check {
		var heard []int64
		w := newReports(c, true, func(prev, cur *snapshot) {
			if cur.sndLost == prev.sndLost || cur.sndLost == 0 || switched(c, "lostcnt_credit") {
				return
			}
			c.Met()
			for i, n := range heard {
				if n == cur.sndLost {
					heard = heard[i:]
					return
				}
			}
			fail(c, cur, rule.Requester, "the sender's lost-cnt differs from those of the SACKs")
		})
		return rule.Check{Event: w.Event, End: w.End, Sight: func(s *rule.Sight) {
			if isSACK(s.Pkt) && s.Intact() {
				if n := len(heard); n == 0 || heard[n-1] != int64(s.Pkt.SACK.LostCnt) {
					heard = append(heard[max(0, n-64):], int64(s.Pkt.SACK.LostCnt))
				}
			}
		}}
	},
})
