package attributes

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/irn"
)

const whole = "timeout=14 retry=7 rnr=7 min-rnr=12 rd=16 dest-rd=8 access=wra"

// TestLaterOverrides: a statement of one QP, or of one host, overrides an earlier one of all.
func TestLaterOverrides(t *testing.T) {
	l, err := Parse([]string{whole, "10.0.0.1 timeout=18 qd=64", "10.0.0.1/0x11 start=7 rtt=10ms rate=100G message=1MiB"},
		[]string{"cap=110"}, irn.Implementation())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		host    string
		qpn     uint32
		timeout engine.LocalACKTimeout
		depth   int
		starts  bool
	}{{"10.0.0.2", 0x11, 14, 0, false}, {"10.0.0.1", 0x12, 18, 64, false}, {"10.0.0.1", 0x11, 18, 64, true}} {
		q := engine.QP{QPN: c.qpn, MTU: 1024, SendPSN: 3}
		starts, err := l.Of(netip.MustParseAddr(c.host), &q, nil)
		if err != nil || starts != c.starts || q.Timeout != c.timeout || q.QueueDepth != c.depth || q.MTU != 1024 ||
			q.MaxDestRd != 8 || q.Params["cap"] != "110" || (q.SendPSN == 7) != c.starts {
			t.Errorf("%+v: %v, %v, %+v", c, starts, err, q)
		}
	}
	if err := l.Unused(); err != nil {
		t.Error(err)
	}
	if text := l.Presumed(irn.Implementation()); !strings.Contains(text, "rto_n=3") || strings.Contains(text, "cap=") {
		t.Errorf("presumed: %q", text)
	}
}

// TestMistakes: each mistake is named with its remedy.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ qps, params, want string }{
		{"timeout=99", "", `--qp "timeout=99": qp: timeout=99: want a whole number from 0 to 31`},
		{"timeuot=14", "", `unknown field "timeuot"; known: access`},
		{"10.0.0 timeout=14", "", `"10.0.0": want an IP address, or attributes such as timeout=14`},
		{"10.0.0.1/0 timeout=14", "", `"0": want the number of a QP, such as 0x11`},
		{"10.0.0.1/0x1000000 timeout=14", "", "want the number of a QP"},
		{"timeout=14 timeout=15", "", "given twice; keep one"},
		{"", "cap=110", "add --qp"},
		{whole, "cap", "want name=value"},
		{whole, "cap=much", "cap"},
		{whole, "caps=1", "caps"},
		{"timeout=14 retry=7", "", "it does not say rnr, min-rnr, rd, dest-rd, access: rules need all of these"},
		{whole + ";10.0.0.9 qd=1", "", `--qp "10.0.0.9 qd=1": the capture has no such QP`},
	} {
		var qps, params []string
		if c.qps != "" {
			qps = strings.Split(c.qps, ";")
		}
		if c.params != "" {
			params = []string{c.params}
		}
		l, err := Parse(qps, params, irn.Implementation())
		if err == nil {
			if _, err = l.Of(netip.MustParseAddr("10.0.0.1"), &engine.QP{QPN: 0x11}, nil); err == nil {
				err = l.Unused()
			}
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %s: %v, want %q", c.qps, c.params, err, c.want)
		}
	}
	if l, err := Parse(nil, nil, engine.Implementation{}); l != nil || err != nil {
		t.Errorf("nothing stated: %v, %v", l, err)
	}
}
