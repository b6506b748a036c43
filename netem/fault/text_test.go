package fault

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

func TestText(t *testing.T) {
	tests := []struct {
		in   string
		want Fault
		text string // canonical; "" if equal to in
	}{
		{"drop A psn=+2 tx=1", Fault{Action: Drop, From: A, QP: AnyQP, PSN: At(2), Tx: 1}, ""},
		{"drop A psn=+2..+5 tx=1", Fault{Action: Drop, From: A, QP: AnyQP, PSN: Span{true, 2, 5}, Tx: 1}, ""},
		{"drop A psn=-1..0", Fault{Action: Drop, From: A, QP: AnyQP, PSN: Span{true, -1, 0}}, "drop A psn=-1..+0"},
		{"drop B type=NAK nth=1", Fault{Action: Drop, From: B, QP: AnyQP, Type: "NAK", Nth: 1}, ""},
		{"drop B count=*", Fault{Action: Drop, From: B, QP: AnyQP, Count: Every}, ""},
		{"drop B  count=3 qp=1", Fault{Action: Drop, From: B, QP: 1, Count: 3}, "drop B qp=1 count=3"},
		{"delay A psn=3 by=100us", Fault{Action: Delay, From: A, QP: AnyQP, PSN: At(3), By: 100 * vtime.Microsecond},
			"delay A psn=+3 by=100us"},
		{"reorder A psn=+2 behind=3", Fault{Action: Reorder, From: A, QP: AnyQP, PSN: At(2), Behind: 3}, ""},
		{"corrupt A psn=+2 field=payload", Fault{Action: Corrupt, From: A, QP: AnyQP, PSN: At(2), Field: Payload}, ""},
		{"corrupt A", Fault{Action: Corrupt, From: A, QP: AnyQP, Field: AnyField}, "corrupt A field=any"},
		{"dup A psn=+2 copies=1", Fault{Action: Duplicate, From: A, QP: AnyQP, PSN: At(2), Copies: 1}, ""},
		{"dup A by=1ms", Fault{Action: Duplicate, From: A, QP: AnyQP, By: vtime.Millisecond, Copies: 1},
			"dup A by=1ms copies=1"},
		{"mark A psn=+2", Fault{Action: Mark, From: A, QP: AnyQP, PSN: At(2)}, ""},
		{"rewrite A psn=+1 field=ttl value=3", Fault{Action: Rewrite, From: A, QP: AnyQP, PSN: At(1),
			Field: TTL, Value: 3}, ""},
		{"rewrite A field=tos value=0xff", Fault{Action: Rewrite, From: A, QP: AnyQP, Field: TOS, Value: 255},
			"rewrite A field=tos value=255"},
		{"rewrite A field=becn value=0", Fault{Action: Rewrite, From: A, QP: AnyQP, Field: BECN}, ""},
	}
	for _, tt := range tests {
		got, err := Parse(tt.in)
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.in, err)
			continue
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("Parse(%q): -want +got\n%s", tt.in, d)
		}
		if tt.text == "" {
			tt.text = tt.in
		}
		if got.String() != tt.text {
			t.Errorf("Parse(%q).String() = %q, want %q", tt.in, got, tt.text)
		}
	}
}

func TestErrors(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", "want an action and a side, such as drop A psn=+2 tx=1"},
		{"lose A", `unknown action "lose"; known are drop, dup, delay, reorder, corrupt, rewrite, mark`},
		{"drop C", `unknown side "C"; known are A, B`},
		{"drop A seq=2",
			`unknown word "seq"; known are qp, psn, tx, type, nth, count, by, behind, copies, field, value`},
		{"drop A psn=x", `psn="x": want an offset from the start PSN such as +2, or a range such as +2..+5`},
		{"drop A psn=+5..+2", "psn=+5..+2: use an ascending range within ±8388607"},
		{"drop A psn=+8388608", "psn=+8388608: use an ascending range within ±8388607"},
		{"drop A tx=0", `tx="0": want a whole number from 1`},
		{"drop A tx=1 tx=2", "tx is given twice; keep one"},
		{"drop A qp=-1", `qp="-1": want a whole number from 0`},
		{"drop A type=nak",
			`type="nak": use an opcode such as WRITE_FIRST, or a class: DATA, ACK, NAK, RNR, READ_RESP, CM, FEC`},
		{"drop A type=", "type is empty; name an opcode or a class"},
		{"drop A by=1us", "by=1us means nothing to drop; leave it out"},
		{"drop A behind=1", "behind=1 means nothing to drop; leave it out"},
		{"drop A copies=1", "copies=1 means nothing to drop; leave it out"},
		{"mark A field=ttl", "field=ttl means nothing to mark; leave it out"},
		{"mark A value=1", "value=1 means nothing to mark; leave it out"},
		{"delay A", "by=0s: say how much later, such as by=100us"},
		{"delay A by=601s", "by=601s: use 600s at most"},
		{"delay A by=-1us", "by=-1us: say how much later, such as by=100us"},
		{"reorder A", "behind=0: say how many successors pass first, 1 to 65536"},
		{"dup A copies=65", "copies=65: use 1 to 64"},
		{"corrupt A field=crc",
			`unknown field "crc"; corrupt knows any, ip, udp, bth, opcode, psn, qpn, ext, payload, icrc`},
		{"rewrite A", `unknown field ""; rewrite knows ttl, tos, dscp, ecn, flow, udpsum, fecn, becn, resv8a`},
		{"rewrite A field=ecn value=4", "value=4: ecn takes 0 to 3"},
		{"rewrite A field=ecn value=-1", `value="-1": want a number such as 3 or 0x1f`},
	}
	for _, tt := range tests {
		_, err := Parse(tt.in)
		if want := `fault "` + tt.in + `": ` + tt.want; err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", tt.in, err, want)
		}
	}
}

// A Fault built in Go passes the same checks as a parsed one.
func TestValidateValues(t *testing.T) {
	for _, f := range []Fault{
		{}, {Action: Drop}, {Action: Drop, From: A, QP: -2}, {Action: Drop, From: A, Tx: -1},
		{Action: Drop, From: A, Count: -2},
		{Action: Drop, From: A, PSN: Span{From: 2, To: 3}},
	} {
		if err := f.Validate(); err == nil {
			t.Errorf("Validate accepts %+v", f)
		}
	}
}

func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := Fault{
			Action: rapid.SampledFrom(
				[]Action{Drop, Duplicate, Delay, Reorder, Corrupt, Rewrite, Mark}).Draw(t, "action"),
			From:  rapid.SampledFrom([]Side{A, B}).Draw(t, "side"),
			QP:    rapid.IntRange(AnyQP, 5).Draw(t, "qp"),
			Tx:    rapid.IntRange(0, 3).Draw(t, "tx"),
			Type:  rapid.SampledFrom([]string{"", "NAK", "WRITE_FIRST"}).Draw(t, "type"),
			Nth:   rapid.IntRange(0, 3).Draw(t, "nth"),
			Count: rapid.IntRange(Every, 3).Draw(t, "count"),
		}
		if rapid.Bool().Draw(t, "psn") {
			from := rapid.IntRange(-5, 5).Draw(t, "from")
			f.PSN = Span{true, from, from + rapid.IntRange(0, 3).Draw(t, "span")}
		}
		switch f.Action {
		case Duplicate:
			f.Copies, f.By = rapid.IntRange(1, 9).Draw(t, "copies"), vtime.Duration(rapid.IntRange(0, 9).Draw(t, "by"))
		case Delay:
			f.By = vtime.Duration(rapid.Int64Range(1, int64(MaxBy)).Draw(t, "by"))
		case Reorder:
			f.Behind = rapid.IntRange(1, 9).Draw(t, "behind")
		case Corrupt:
			f.Field = rapid.SampledFrom(CorruptFields()).Draw(t, "field")
		case Rewrite:
			f.Field, f.Value = rapid.SampledFrom(RewriteFields()).Draw(t, "field"),
				rapid.IntRange(0, 1).Draw(t, "value")
		}
		if got, err := Parse(f.String()); err != nil || got != f {
			t.Fatalf("Parse(%q) = %+v, %v, want %+v", f, got, err, f)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"drop A psn=+2..+5 tx=1", "rewrite B field=tos value=0x10", "dup A by=1us count=*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		x, err := Parse(s)
		if err != nil {
			return
		}
		if again, err := Parse(x.String()); err != nil || again != x {
			t.Errorf("%q prints as %q, which reads as %+v, %v", s, x, again, err)
		}
	})
}
