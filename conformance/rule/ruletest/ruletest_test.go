package ruletest

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// noSend is a rule against SENDs; at the end it also requires a WRITE.
func noSend() *rule.Rule {
	return &rule.Rule{ID: "T-A-001", Level: rule.MustNot, Sees: rule.RequestOut, Stimulus: "a request",
		New: func(c *rule.Context) rule.Check {
			writes := 0
			return rule.Check{
				Sight: func(s *rule.Sight) {
					c.Met()
					if s.Pkt.Opcode.IsWrite() {
						writes++
					}
					if s.Pkt.Opcode.IsSend() {
						c.Failf(rule.Requester, "a SEND %s", c.Rel(s.Pkt.PSN))
					}
				},
				End: func(vtime.Time) {
					if writes == 0 {
						c.Fail(rule.Requester, "no WRITE")
					}
				},
			}
		}}
}

// TestTheRunnerFails: every disagreement of a rule and a fixture fails.
func TestTheRunnerFails(t *testing.T) {
	const (
		write = "A>B WRITE_ONLY psn=+0 len=8\n"
		send  = "A>B SEND_ONLY psn=+1 len=8"
	)
	for _, c := range []struct {
		name, text string
		status     rule.Status
		want       string // "" when they agree
	}{
		{"passes", write, rule.Pass, ""},
		{"fails as said", write + send + ` // want "SEND psn=\+1$"`, rule.Fail, ""},
		{"fails at the end as said", "A>B READ_REQUEST psn=+0 dmalen=8\n# want-end \"no WRITE\"\n", rule.Fail, ""},
		{"should fail and passes", write, rule.Fail, "verdict PASS"},
		{"should pass and fails", write + send + ` // want "SEND"`, rule.Pass, "verdict FAIL"},
		{"unclaimed finding", write + send, rule.Fail,
			"line 2: finding that no comment claims: requester: a SEND psn=+1"},
		{"other text", write + send + ` // want "RECEIVE"`, rule.Fail, "line 2: no finding matches"},
		{"other line", write[:len(write)-1] + ` // want "SEND"` + "\n" + send, rule.Fail, "line 1: no finding matches"},
		{"unclaimed end", "A>B READ_REQUEST psn=+0 dmalen=8\n", rule.Fail, "line 0: finding that no comment claims"},
		{"nothing at the end", write + send + " // want \"SEND\"\n# want-end \"x\"\n", rule.Fail,
			"line 0: no finding matches"},
		{"not exercised", "", rule.Pass, "verdict INCONCLUSIVE"},
		{"says nothing as said", "", rule.Inconclusive, ""},
		{"should say nothing and passes", write, rule.Inconclusive, "verdict PASS"},
	} {
		for _, base := range bases {
			problems, err := check(noSend(), []byte(c.text), base, c.status)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(problems, "\n"); got != "" && c.want == "" || !strings.Contains(got, c.want) {
				t.Errorf("%s at %d: %q, want %q", c.name, base, got, c.want)
			}
		}
	}
}

// TestAClockIsNoticed: a rule whose verdict depends on the start time of the trace fails.
func TestAClockIsNoticed(t *testing.T) {
	r := noSend()
	r.New = func(c *rule.Context) rule.Check {
		return rule.Check{Sight: func(s *rule.Sight) {
			if s.At > vtime.Time(vtime.Second) {
				c.Fail(rule.Requester, "late")
			}
			c.Met()
		}}
	}
	problems, err := check(r, []byte("A>B WRITE_ONLY psn=+0 len=8\n"), 0, rule.Pass)
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0], "a second later") {
		t.Errorf("%v, %v", problems, err)
	}
}

func TestStarts(t *testing.T) {
	if got := startsOf(t, []byte("A>B SEND_ONLY psn=+0 len=1\n")); len(got) != 3 {
		t.Errorf("starts %v", got)
	}
	if got := startsOf(t, []byte("# at-start 16777213\n")); len(got) != 1 || got[0] != 16777213 {
		t.Errorf("starts %v", got)
	}
}
