package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

func TestLinkText(t *testing.T) {
	tests := []struct {
		in   string
		want Link
		text string // canonical; "" if equal to in
	}{
		{"rate=0", Link{}, ""},
		{"", Link{}, "rate=0"},
		{"delay=5us", Link{Delay: 5 * vtime.Microsecond}, ""},
		{"rate=10G delay=20ms jitter=1ms queue=1000 reorder=0.1% duplicate=1e-3 corrupt=1e-4",
			Link{Rate: 10 * unit.Gbps, Delay: 20 * vtime.Millisecond, Jitter: vtime.Millisecond, Queue: 1000,
				Reorder: 1e-3, Duplicate: 1e-3, Corrupt: 1e-4},
			"rate=10G delay=20ms jitter=1ms queue=1000 reorder=0.001 duplicate=0.001 corrupt=0.0001"},
		{"  queue=1   rate=2500k ", Link{Rate: 2500 * unit.Kbps, Queue: 1}, "rate=2500k queue=1"},
	}
	for _, tt := range tests {
		got, err := ParseLink(tt.in)
		if err != nil {
			t.Errorf("ParseLink(%q): %v", tt.in, err)
			continue
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("ParseLink(%q): -want +got\n%s", tt.in, d)
		}
		if tt.text == "" {
			tt.text = tt.in
		}
		if got.String() != tt.text {
			t.Errorf("ParseLink(%q).String() = %q, want %q", tt.in, got, tt.text)
		}
	}
}

func TestLossText(t *testing.T) {
	tests := []struct{ in, text string }{
		{"", "none"},
		{"none", "none"},
		{"random p=1e-4", "random p=0.0001"},
		{"gemodel p=1% r=30% h=50% k=100%", "gemodel p=0.01 r=0.3 h=0.5 k=1"},
		{"gemodel p=0.01 r=0.3", "gemodel p=0.01 r=0.3 h=0 k=1"},
		{"gemodel p=0.01 r=0.3 slot=10us", "gemodel p=0.01 r=0.3 h=0 k=1 slot=10us"},
		{"state p13=0.25", "state p13=0.25 p31=0.75 p32=0 p14=0 p23=1"},
		{"state p13=0.1 p31=0.5 p32=0.2 p14=0.01 p23=0.3", "state p13=0.1 p31=0.5 p32=0.2 p14=0.01 p23=0.3"},
		{"burst p=1e-4 len=8 h=0.3", "burst p=0.0001 h=0.3 len=8"},
		{"burst p=1e-4 len=8", "burst p=0.0001 h=1 len=8"},
		{"burst enter=1e-4,len=8,loss=0.3", "burst p=0.0001 h=0.3 len=8"},
		{"burst:enter=1e-4,len=8,loss=0.3", "burst p=0.0001 h=0.3 len=8"},
		{"tape file=fades.tape", "tape file=fades.tape"},
	}
	for _, tt := range tests {
		for _, in := range []string{tt.in, tt.text} {
			if got, err := ParseLoss(in); err != nil || got.String() != tt.text {
				t.Errorf("ParseLoss(%q) = %q, %v, want %q", in, got, err, tt.text)
			}
		}
	}
}

// Each error names the field and the remedy.
func TestErrors(t *testing.T) {
	link := func(s string) error { _, err := ParseLink(s); return err }
	loss := func(s string) error { _, err := ParseLoss(s); return err }
	tests := []struct {
		parse func(string) error
		in    string
		want  string
	}{
		{link, "delay=-1ms", "link: delay=-1ms is negative; use 0 or more"},
		{link, "delay=3601s", "link: delay=3601s; use 3600s at most"},
		{link, "delay=1ms jitter=2ms",
			"link: jitter=2ms exceeds delay=1ms, so packets would arrive before they leave; lower the jitter"},
		{link, "rate=10G", "link: rate=10G needs a queue; use queue=1 or more"},
		{link, "rate=10G queue=0", "link: rate=10G needs a queue; use queue=1 or more"},
		{link, "queue=-1", "link: queue=-1; use 1 to 16777216 packets"},
		{link, "reorder=120%", `link: reorder: ratio "120%": outside 0 to 1 (0% to 100%)`},
		{link, "latency=5ms",
			`link: unknown field "latency"; known are rate, delay, jitter, queue, port, ecn-min, ecn-max, ecn-p, reorder,` +
				` duplicate, corrupt`},
		{link, "delay", "link: delay has no value; write delay=…"},
		{link, "delay=5", `link: delay: duration "5": no unit; want one of ps, ns, us, ms, s`},
		{link, "delay=5ms delay=6ms", "link: delay is given twice; keep one"},
		{link, "rate=fast", `link: rate: rate "fast": want bits per second such as 100M or 10G`},
		{loss, "uniform p=1", `loss: unknown model "uniform"; known are none, random, gemodel, state, burst, tape`},
		{loss, "random", "loss random: p is missing; write p=…"},
		{loss, "random p=120%", `loss random: p: ratio "120%": outside 0 to 1 (0% to 100%)`},
		{loss, "random q=1", `loss random: unknown field "q"; known are p, slot`},
		{loss, "none p=1", `loss none: unknown field "p"; known are none`},
		{loss, "random p=1 slot=-1us", "loss random: slot=-1us is negative; use 0 to advance per packet"},
		{loss, "burst p=1e-4", "loss burst: len is missing; write len=…"},
		{loss, "burst p=1e-4 len=0", "loss burst: len=0; use 1 to 1048576 packets"},
		{loss, "burst p=1e-4 enter=1e-4 len=2", "loss burst: p is given twice; keep one"},
		{loss, "state p13=0.6 p14=0.6",
			"loss state: p13=0.6 and p14=0.6 leave the same state; lower them to a sum of 1 at most"},
		{loss, "state p13=0.1 p31=0.6 p32=0.6",
			"loss state: p31=0.6 and p32=0.6 leave the same state; lower them to a sum of 1 at most"},
		{loss, "tape", "loss tape: file is missing; write file=…"},
		{loss, "tape file=a slot=1us", `loss tape: unknown field "slot"; known are file`},
	}
	for _, tt := range tests {
		err := tt.parse(tt.in)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%q:\n got %v\nwant %s", tt.in, err, tt.want)
		}
	}
}

func TestValidateValues(t *testing.T) {
	nan := unit.Ratio(0)
	nan /= nan
	tests := []struct {
		err  error
		want string
	}{
		{Link{Corrupt: nan}.Validate(), "corrupt=NaN is outside"},
		{Link{Rate: -1, Queue: 1}.Validate(), "rate=-1 is negative"},
		{Link{Jitter: -1}.Validate(), "jitter=-1ps is negative"},
		{Link{Loss: Loss{Model: Bernoulli, P: 1.2}}.Validate(), "loss random: p=1.2 is outside"},
		{Loss{Model: Gilbert, H: -0.1}.Validate(), "loss gemodel: h=-0.1 is outside"},
		{Loss{Model: Tape, File: "a b"}.Validate(), `file="a b"; name a file without blanks`},
		{Loss{Model: Tape, File: "a", Slot: 1}.Validate(), "leave it out"},
		{Duplex{BA: Link{Delay: -1}}.Validate(), "B to A: link: delay"},
		{Duplex{AB: Link{Delay: -1}}.Validate(), "A to B: link: delay"},
	}
	for _, tt := range tests {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("got %v, want %q", tt.err, tt.want)
		}
	}
	if err := (Duplex{}).Validate(); err != nil {
		t.Errorf("zero link: %v", err)
	}
}

// A valid value prints to a line that parses to the same value.
func TestTextRoundTrip(t *testing.T) {
	ratio := rapid.Custom(func(t *rapid.T) unit.Ratio { return unit.Ratio(rapid.Float64Range(0, 1).Draw(t, "ratio")) })
	time := rapid.Custom(func(t *rapid.T) vtime.Duration {
		return vtime.Duration(rapid.Int64Range(0, int64(100*vtime.Second)).Draw(t, "time"))
	})
	rapid.Check(t, func(t *rapid.T) {
		l := Link{
			Rate: unit.Rate(rapid.Int64Range(0, 1e12).Draw(t, "rate")), Delay: time.Draw(t, "delay"),
			Queue: rapid.IntRange(1, MaxQueue).Draw(t, "queue"), Reorder: ratio.Draw(t, "reorder"),
			Corrupt: ratio.Draw(t, "corrupt"),
		}
		l.Jitter = l.Delay / 2
		if got, err := ParseLink(l.String()); err != nil || got != l {
			t.Fatalf("ParseLink(%q) = %+v, %v", l, got, err)
		}
		x := rapid.SampledFrom([]Loss{
			{}, {Model: Bernoulli, P: ratio.Draw(t, "p")},
			{Model: Gilbert, P: ratio.Draw(t, "p"), R: ratio.Draw(t, "r"), H: ratio.Draw(t, "h"), K: ratio.Draw(t, "k"),
				Slot: time.Draw(t, "slot")},
			{Model: Markov4, P13: ratio.Draw(t, "p13") / 2, P31: ratio.Draw(t, "p31") / 2,
				P32: ratio.Draw(t, "p32") / 2, P14: ratio.Draw(t, "p14") / 2, P23: ratio.Draw(t, "p23")},
			{Model: Sojourn, P: ratio.Draw(t, "p"), H: ratio.Draw(t, "h"), Length: rapid.IntRange(1,
				MaxLength).Draw(t, "len")},
			{Model: Tape, File: "x/y.tape"},
		}).Draw(t, "loss")
		if got, err := ParseLoss(x.String()); err != nil || got != x {
			t.Fatalf("ParseLoss(%q) = %+v, %v", x, got, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"rate=10G queue=1", "burst:enter=1,len=8", "gemodel p=1% r=1%",
		"state p13=1", "tape file=x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if l, err := ParseLink(s); err == nil {
			if again, err := ParseLink(l.String()); err != nil || again != l {
				t.Errorf("link %q prints as %q, which reads as %+v, %v", s, l, again, err)
			}
		}
		if l, err := ParseLoss(s); err == nil {
			if again, err := ParseLoss(l.String()); err != nil || again != l {
				t.Errorf("loss %q prints as %q, which reads as %+v, %v", s, l, again, err)
			}
		}
	})
}
