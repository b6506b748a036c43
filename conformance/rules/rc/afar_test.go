package rc

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule/example"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// TestAtTheRequester judges responses as the requester's port alone shows them, in the order of arrival there.
func TestAtTheRequester(t *testing.T) {
	for name, c := range map[string]struct {
		rule, text string
		want       rule.Status
	}{
		"the network turns three ACKs round": {"RC-MSN-001", `
A>B SEND_ONLY psn=+0 len=64 A
A>B SEND_ONLY psn=+1 len=64 A
A>B SEND_ONLY psn=+2 len=64 A
B>A ACK psn=+2 msn=3
B>A ACK psn=+1 msn=2
B>A ACK psn=+0 msn=1
`, rule.Inconclusive},
		"an ACK that the others exclude": {"RC-MSN-001", `
A>B SEND_ONLY psn=+0 len=64 A
A>B SEND_ONLY psn=+1 len=64 A
B>A ACK psn=+1 msn=2
B>A ACK psn=+0 msn=1
A>B SEND_ONLY psn=+2 len=64 A
B>A ACK psn=+2 msn=5
`, rule.Fail},
		"an ACK that counts less than nothing": {"RC-MSN-001", `
A>B SEND_ONLY psn=+0 len=64 A
B>A ACK psn=+0 msn=16777215
`, rule.Fail},
		"the last data of a READ are too long": {"RC-READ-001", `
A>B READ_REQUEST psn=+0 dmalen=2000
B>A READ_RESP_FIRST psn=+0 len=1024 msn=1
B>A READ_RESP_LAST psn=+1 len=984 msn=1
`, rule.Fail},
		"the data of a READ end early": {"RC-READ-001", `
A>B READ_REQUEST psn=+0 dmalen=3000
B>A READ_RESP_FIRST psn=+0 len=1024 msn=1
B>A READ_RESP_LAST psn=+1 len=1024 msn=1
`, rule.Fail},
		"the data of a READ begin in the middle": {"RC-READ-001", `
A>B SEND_ONLY psn=+0 len=64 A
A>B READ_REQUEST psn=+1 dmalen=3000
B>A READ_RESP_MIDDLE psn=+1 len=1024
`, rule.Fail},
		"the capture begins with the rest of a READ, whose data come late": {"RC-READ-001", `
unknown
A>B READ_REQUEST psn=+0 dmalen=3000
B>A READ_RESP_MIDDLE psn=+0 len=1024
`, rule.Inconclusive},
		"a READ is resumed": {"RC-READ-001", `
A>B READ_REQUEST psn=+0 dmalen=3000 va=0x1000
B>A READ_RESP_FIRST psn=+0 len=1024 msn=1
A>B READ_REQUEST psn=+1 dmalen=1976 va=0x1400
B>A READ_RESP_FIRST psn=+1 len=1024 msn=1
B>A READ_RESP_LAST psn=+2 len=952 msn=1
`, rule.Inconclusive},
		// the requester is wrong, and its responder answers what it has heard
		"a READ is sent again with another length": {"RC-READ-001", `
A>B READ_REQUEST psn=+0 dmalen=3000 va=0x1000
A>B READ_REQUEST psn=+1 dmalen=1024 va=0x1400
B>A READ_RESP_ONLY psn=+1 len=1024 msn=1
`, rule.Inconclusive},
		"the next READ after such a one": {"RC-READ-001", `
A>B READ_REQUEST psn=+0 dmalen=3000 va=0x1000
A>B READ_REQUEST psn=+1 dmalen=1024 va=0x1400
B>A READ_RESP_ONLY psn=+1 len=1024 msn=1
A>B READ_REQUEST psn=+3 dmalen=3000 va=0x1000
B>A READ_RESP_FIRST psn=+3 len=1020 msn=2
`, rule.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			if v := atRequester(t, c.rule, c.text, 0); v.Status != c.want {
				t.Errorf("%v (%s) %v, want %v", v.Status, v.Reason, v.Findings, c.want)
			}
		})
	}
}

// A retry that seems early by less than the resolution of the time stamps may not be.
func TestRetryWithinATick(t *testing.T) {
	const early = `
A>B SEND_ONLY psn=+0 len=64 A
B>A RNR psn=+0 msn=0 timer=12
@642.3 A>B SEND_ONLY psn=+0 len=64 A
`
	for tick, want := range map[vtime.Duration]rule.Status{vtime.Nanosecond: rule.Fail, vtime.Microsecond: rule.Pass} {
		if v := atRequester(t, "RC-RNR-002", early, tick); v.Status != want {
			t.Errorf("%v: %v (%s), want %v", tick, v.Status, v.Reason, want)
		}
	}
}

// atRequester judges a fixture by a rule with the records of the requester's port only, whose time stamps have the
// resolution tick.
func atRequester(t *testing.T, id, text string, tick vtime.Duration) rule.Verdict {
	t.Helper()
	for _, r := range Rules() {
		if r.ID != id {
			continue
		}
		e, err := example.Parse(&r, []byte(text), 100)
		if err != nil {
			t.Fatal(err)
		}
		h := e.Header
		h.Taps, h.Reports, h.Tick = [2]bool{true, false}, 0, tick
		j := rule.NewJudge(h, []rule.Rule{r}, e.Options)
		e.Play(&atA{trace.NewTimeline(&h, j)})
		return j.Verdicts()[0]
	}
	t.Fatalf("no rule %s", id)
	return rule.Verdict{}
}

// atA passes on the part of each record that a tap at A shows.
type atA struct{ trace.Sink }

// Packet implements trace.Sink.
func (a *atA) Packet(r *trace.Record) {
	c := r.Clone()
	c.Fate = trace.Unknown
	if c.From == trace.B {
		c.Sent = vtime.Never
	} else {
		c.Recv = vtime.Never
	}
	a.Sink.Packet(c)
}
