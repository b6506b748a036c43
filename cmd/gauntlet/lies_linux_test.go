//go:build netns

package main

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
)

// lies are programs that keep the form of the contract and do not do the work, each with the rule that it breaks.
var lies = []struct {
	bad
	rule string
}{
	{bad{name: "honest", old: begins, new: begins}, ""},
	{bad{name: "refuses valid WRITEs", file: "responder.c", old: "!allowed(q, p))",
		new: "(r->msn % 10 == 9 || !allowed(q, p)))"}, "WRK-NAK-001"},
	{bad{name: "posts 10 of 100", old: `number(line, "count");`,
		new: `number(line, "count") > 10 ? 10 : number(line, "count");`}, "WRK-POST-001"},
	{bad{name: "writes 512 bytes for 8192", file: "requester.c", old: toldPost,
		new: toldPost + "\n\t\t\tn->bytes = 512; n->packets = 1;"}, "WRK-WIRE-001"},
	{bad{name: "says that it posts 512 bytes for 8192", old: `number(line, "bytes")`, new: "512"}, "WRK-POST-002"},
	{bad{name: "sends SEND for WRITE", file: "requester.c", old: toldPost, new: toldPost + "\n\t\t\tn->send = true;"},
		"WRK-WIRE-001"},
	{bad{name: "writes every 7th message elsewhere", file: "requester.c", old: toldPost,
		new: toldPost + "\n\t\t\tif (n->wr % 7 == 6) n->va += 64;"}, "WRK-WIRE-001"},
	{bad{name: "completes with an error that nobody told of", file: "requester.c", old: `complete(q, "SUCCESS");`,
		new: `{ if (at(r, 0)->wr == 50) { fail(q, "REM_ACCESS_ERR"); return; } complete(q, "SUCCESS"); }`},
		"WRK-CQE-002"},
	{bad{name: "sends faster than it is told", old: `number(line, "rate_bps")`, new: "0"}, "WRK-RATE-001"},
}

// toldPost is the end of the statement with which the example reports a posted request.
const toldPost = "clock_now(), q->n, n->wr, name(n), n->bytes, n->va, n->key);"

// A program that keeps the form of the contract and does other work fails by the rule that names the lie.
func TestALieIsFoundOut(t *testing.T) {
	needExample(t)
	for _, l := range lies {
		t.Run(l.name, func(t *testing.T) {
			beside(t)
			o := gauntlet(t, t.TempDir(), "run", "--bench", "netns", "--impl", "exec:"+l.build(t), "--rate", "100M",
				"--rtt", "2ms", "--msg", "8KiB",
				"--count", "100", "--attempts", attempts, "--json", "--quiet")
			found := l.rule == ""
			for _, v := range o.result(t).Verdicts {
				found = found || v.Rule == l.rule && v.Status == rule.Fail
				if l.rule == "" && v.Status == rule.Fail {
					t.Errorf("%s fails: %v", v.Rule, v.Findings[:min(2, len(v.Findings))])
				}
			}
			if !found {
				t.Errorf("exit %d, and %s does not fail\n%s%s", o.code, l.rule, o.stdout, o.stderr)
			}
		})
	}
}
