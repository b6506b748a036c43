package shim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/fixture"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// decoded plays a fixture and returns the packets passed to the transport at the receiving end: "+0" in order, "+1*"
// recovered, "+3>" ahead, "+2<" again, with the time in microseconds if a packet was passed on after its arrival.
func decoded(t *testing.T, text string, class rule.Class, base psn.PSN) string {
	t.Helper()
	return decodedBy(t, text, class, base, 0)
}

// decodedBy is decoded of a trace whose time stamps have a resolution.
func decodedBy(t *testing.T, text string, class rule.Class, base psn.PSN, tick vtime.Duration) string {
	t.Helper()
	f, err := fixture.Parse(strings.NewReader(text), base)
	if err != nil {
		t.Fatal(err)
	}
	f.Header.Tick = tick
	var got []string
	watch := rule.Rule{ID: "X", Sees: class, New: func(c *rule.Context) rule.Check {
		return rule.Check{Sight: func(s *rule.Sight) {
			word := fmt.Sprintf("%+d", s.Pkt.PSN.Sub(c.Start))
			switch {
			case s.Recovered:
				word += "*"
			case s.Relation == rule.Ahead:
				word += ">"
			case s.Relation == rule.Duplicate:
				word += "<"
			}
			if s.At != s.Rec.Recv {
				word += "@" + s.At.Micros()
			}
			got = append(got, word)
		}}
	}}
	j := rule.NewJudge(f.Header, []rule.Rule{watch}, rule.Options{Features: []string{"rc", rule.CodesBlocks}})
	f.Play(trace.NewTimeline(&f.Header, j))
	if v := j.Verdicts()[0]; v.Status == rule.Error {
		t.Fatal(v.Reason)
	}
	return strings.Join(got, " ")
}

func TestDecoder(t *testing.T) {
	const block = "qp param.r=4 param.c=2\n"
	for _, tt := range []struct{ name, text, want string }{
		{"one of a unit is recovered and what waited follows", block + `
@1 A>B WRITE_FIRST psn=+0 len=1024
@2 A>X WRITE_MIDDLE psn=+1 len=1024
@3 A>B WRITE_LAST psn=+2 len=100 A
@4 A>B REPAIR bpsn=+0 isn=0 n=3 r=4 c=2 FIRST LAST
@5 A>B REPAIR bpsn=+0 isn=1 n=3 r=4 c=2 FIRST LAST`, "+0 +1* +2@5.400"},
		{"the first of a block", block + `
@1 A>X WRITE_FIRST psn=+0 len=1024
@2 A>B WRITE_MIDDLE psn=+1 len=1024
@3 A>B WRITE_LAST psn=+2 len=100 A
@4 A>B REPAIR bpsn=+0 isn=0 n=3 r=4 c=2 FIRST LAST`, "+0* +1@4.400 +2@4.400"},
		{"a message of one packet", block + `
@1 A>X SEND_ONLY psn=+0 len=7 A
@2 A>B REPAIR bpsn=+0 isn=0 n=1 r=4 c=2 FIRST LAST
@3 A>B SEND_ONLY psn=+1 len=7 A`, "+0* +1"},
		{"the last of a message, by its own length", block + `
@1 A>B SEND_FIRST psn=+0 len=1024
@2 A>X SEND_LAST psn=+1 len=7 A
@3 A>B REPAIR bpsn=+0 isn=0 n=2 r=4 c=2 FIRST LAST
@4 A>B REPAIR bpsn=+0 isn=1 n=2 r=4 c=2 FIRST LAST`, "+0 +1*"},
		{"two of a unit are not recovered, and all passes until the first of them comes", block + `
@1 A>B WRITE_FIRST psn=+0 len=1024
@2 A>X WRITE_MIDDLE psn=+1 len=1024
@3 A>B WRITE_MIDDLE psn=+2 len=1024
@4 A>X WRITE_MIDDLE psn=+3 len=1024
@5 A>B REPAIR bpsn=+0 isn=0 n=4 r=4 c=2 FIRST
@6 A>B REPAIR bpsn=+0 isn=1 n=4 r=4 c=2 FIRST
@7 A>B WRITE_LAST psn=+4 len=8 A
@8 A>B REPAIR bpsn=+4 isn=0 n=1 r=4 c=2 LAST
@9 A>B WRITE_MIDDLE psn=+1 len=1024
@10 A>B WRITE_MIDDLE psn=+2 len=1024
@11 A>X WRITE_MIDDLE psn=+3 len=1024
@12 A>B WRITE_LAST psn=+4 len=8 A
@13 A>B REPAIR bpsn=+1 isn=0 n=4 r=4 c=2 LAST`, "+0 +2>@6.400 +4> +1 +2 +3* +4@13.400"},
		{"a later block ends the waiting", block + `
@1 A>X WRITE_ONLY psn=+0 len=10 A
@2 A>X REPAIR bpsn=+0 isn=0 n=1 r=4 c=2 FIRST LAST
@3 A>B WRITE_ONLY psn=+1 len=10 A`, "+1>"},
		{"so does T_rob", block + `
@1 A>X WRITE_FIRST psn=+0 len=1024
@2 A>B WRITE_LAST psn=+1 len=10 A
@15000 end`, "+1>@10002.400"},
		{"a repair packet with other parameters is ignored", block + `
@1 A>X WRITE_FIRST psn=+0 len=1024
@2 A>B WRITE_LAST psn=+1 len=10 A
@4 A>B REPAIR bpsn=+0 isn=0 n=2 r=8 c=2 FIRST LAST
@5 A>B WRITE_ONLY psn=+2 len=10 A`, "+1>@5.400 +2>"},
		{"unless they were announced", block + `
@0.5 A>B ANNOUNCE bpsn=+0 r=8 c=2 epoch=1
@1 A>X WRITE_FIRST psn=+0 len=1024
@2 A>B WRITE_LAST psn=+1 len=10 A
@4 A>B REPAIR bpsn=+0 isn=0 n=2 r=8 c=2 epoch=1 FIRST LAST
@5 A>B WRITE_ONLY psn=+2 len=10 A`, "+0* +1@4.400 +2"},
		{"what is recovered has to be a packet that fits", block + `
@1 A>X WRITE_FIRST psn=+0 len=1024
@2 A>B WRITE_LAST psn=+1 len=10 A
@4 X>B REPAIR bpsn=+0 isn=0 n=2 r=4 c=2 FIRST LAST len=1052 fill=3
@5 A>B WRITE_ONLY psn=+2 len=10 A`, "+1>@5.400 +2>"},
		{"requests that are not coded lie between", block + `
@1 A>B READ_REQUEST psn=+0 dmalen=2048
@2 A>B WRITE_FIRST psn=+2 len=1024
@3 A>X WRITE_LAST psn=+3 len=1024 A
@4 A>B REPAIR bpsn=+2 isn=1 n=2 r=4 c=2 FIRST LAST
@5 A>X READ_REQUEST psn=+4 dmalen=1024
@6 A>B WRITE_ONLY psn=+5 len=1024 A`, "+0 +2 +3* +5>"},
	} {
		for _, base := range []psn.PSN{0, psn.Half - 2, psn.Mask - 2} {
			if got := decoded(t, tt.text, rule.RequestIn, base); got != tt.want {
				t.Errorf("%s, from %d:\n got %s\nwant %s", tt.name, base, got, tt.want)
			}
		}
	}
}

func TestDecoderOfReadResponses(t *testing.T) {
	const text = `qp param.r=4 param.c=1
@1 A>B READ_REQUEST psn=+0 dmalen=3072
@2 A>B WRITE_ONLY psn=+3 len=8 A
@3 A>B READ_REQUEST psn=+4 dmalen=2048
@4 B>A READ_RESP_FIRST psn=+0 msn=1 len=1024
@5 B>X READ_RESP_MIDDLE psn=+1 len=1024
@6 B>A READ_RESP_LAST psn=+2 msn=1 len=1024
@7 B>A REPAIR bpsn=+0 n=3 r=4 c=1 FIRST LAST K
@8 B>A ACK psn=+3 msn=2
@9 B>X READ_RESP_FIRST psn=+4 msn=3 len=1024
@10 B>A READ_RESP_LAST psn=+5 msn=3 len=1024
@11 B>A REPAIR bpsn=+4 n=2 r=4 c=1 FIRST LAST K`
	if got, want := decoded(t, text, rule.ResponseIn, 7), "+0 +1* +2@7.400 +3 +4* +5@11.400"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestDecoderByCoarseStamps: a NAK, or a READ that is sent again, within the resolution of the time stamps before the
// end of a wait shows that the hole has been given up.
func TestDecoderByCoarseStamps(t *testing.T) {
	const us = vtime.Microsecond
	const request = `qp param.t_rob=10us param.r=4 param.c=1
@1 A>X WRITE_FIRST psn=+0 len=1024
@2 A>B WRITE_LAST psn=+1 len=8 A
@12 B>A NAK psn=+0 msn=0 PSN_SEQ_ERR
@14 A>B WRITE_ONLY psn=+2 len=8 A`
	const data = `qp param.t_rob=10us param.r=4 param.c=1
@0 A>B READ_REQUEST psn=+0 dmalen=2048
@1 B>X READ_RESP_FIRST psn=+0 msn=1 len=1024
@2 B>A READ_RESP_LAST psn=+1 msn=1 len=1024
@12 A>B READ_REQUEST psn=+0 dmalen=2048
@14 B>A READ_RESP_FIRST psn=+0 msn=1 len=1024`
	for _, tt := range []struct {
		text  string
		class rule.Class
		tick  vtime.Duration
		want  string
	}{
		{request, rule.RequestIn, 0, "+1>@12.400 +2>"}, {request, rule.RequestIn, us, "+1>@12.000 +2>"},
		{request, rule.RequestIn, us / 10, "+1>@12.400 +2>"},
		{data, rule.ResponseIn, 0, "+1@12.400 +0"}, {data, rule.ResponseIn, us, "+1@12.000 +0"},
	} {
		if got := decodedBy(t, tt.text, tt.class, 7, tt.tick); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.tick, got, tt.want)
		}
	}
}

// TestDecoderLacksUnit: there is a unit for the packets at even positions and none for the others, so that only the
// others cannot be recovered.
func TestDecoderLacksUnit(t *testing.T) {
	const text = `qp param.units=1 param.r=4 param.c=2
@1 A>B WRITE_FIRST psn=+0 len=1024
@2 A>B WRITE_MIDDLE psn=+1 len=1024
@3 A>X WRITE_MIDDLE psn=+2 len=1024
@4 A>B WRITE_MIDDLE psn=+3 len=1024
@5 A>B REPAIR bpsn=+0 isn=0 n=4 r=4 c=2 FIRST
@6 A>B REPAIR bpsn=+0 isn=1 n=4 r=4 c=2 FIRST
@11 A>B WRITE_MIDDLE psn=+4 len=1024
@12 A>B WRITE_MIDDLE psn=+5 len=1024
@13 A>B WRITE_MIDDLE psn=+6 len=1024
@14 A>X WRITE_LAST psn=+7 len=8 A
@15 A>B REPAIR bpsn=+4 isn=0 n=4 r=4 c=2 LAST
@16 A>B REPAIR bpsn=+4 isn=1 n=4 r=4 c=2 LAST
@17 A>B WRITE_ONLY psn=+8 len=8 A`
	if got, want := decoded(t, text, rule.RequestIn, 7), "+0 +1 +2* +3@5.400 +4 +5 +6 +8>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestDecoderOfFailedQP: the one unit that there is was of a QP that has failed, and is free for the other.
func TestDecoderOfFailedQP(t *testing.T) {
	const text = `qp param.units=1 param.r=4 param.c=1
qp conn=1 param.units=1 param.r=4 param.c=1
@1 A>B WRITE_FIRST psn=+0 len=1024
@2 B fatal RETRY_EXC_ERR
@3 A>B WRITE_FIRST psn=+0 len=1024 conn=1
@4 A>X WRITE_MIDDLE psn=+1 len=1024 conn=1
@5 A>B WRITE_LAST psn=+2 len=100 A conn=1
@6 A>B REPAIR bpsn=+0 isn=0 n=3 r=4 c=1 FIRST LAST conn=1
@7 A>B WRITE_LAST psn=+1 len=8 A`
	if got, want := decoded(t, text, rule.RequestIn, 7), "+0 +0 +1* +2@6.400 +1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestDecoderSharesReorderBuffer: the one slot that there is becomes free when the hole of a connection is given up,
// although nothing of that connection is seen at that time.
func TestDecoderSharesReorderBuffer(t *testing.T) {
	const text = `qp param.rob=1 param.t_rob=10us param.r=4 param.c=1
qp conn=1 param.rob=1 param.t_rob=10us param.r=4 param.c=1
@1 A>X WRITE_FIRST psn=+0 len=1024
@2 A>B WRITE_LAST psn=+1 len=8 A
@3 A>B WRITE_FIRST psn=+0 len=1024 conn=1
@14 A>X WRITE_MIDDLE psn=+1 len=1024 conn=1
@15 A>B WRITE_LAST psn=+2 len=100 A conn=1
@16 A>B REPAIR bpsn=+0 isn=0 n=3 r=4 c=1 FIRST LAST conn=1`
	if got, want := decoded(t, text, rule.RequestIn, 7), "+0 +1>@12.400 +1* +2@16.400"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
