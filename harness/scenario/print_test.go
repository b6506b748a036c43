package scenario

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/harness/workload"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// The generators draw every field that the text has.
var (
	sides     = rapid.SampledFrom([]trace.Side{trace.A, trace.B})
	durations = rapid.Custom(func(t *rapid.T) vtime.Duration {
		return vtime.Duration(rapid.Int64Range(0, int64(100*vtime.Second)).Draw(t, "ps"))
	})
	ratios = rapid.Custom(func(t *rapid.T) unit.Ratio { return unit.Ratio(rapid.Float64Range(0, 1).Draw(t, "ratio")) })
	names  = rapid.StringMatching(`[a-z][a-z0-9_.+-]{0,20}`)
	proses = rapid.Custom(func(t *rapid.T) string {
		return strings.TrimSpace(rapid.StringMatching(`[ -~é]{0,60}`).Draw(t, "prose"))
	})
)

func genLink(t *rapid.T) spec.Link {
	l := spec.Link{Rate: unit.Rate(rapid.Int64Range(0, 1e12).Draw(t, "rate")), Delay: durations.Draw(t, "delay"),
		Queue: rapid.IntRange(1, spec.MaxQueue).Draw(t, "queue"), Reorder: ratios.Draw(t, "reorder"),
		Duplicate: ratios.Draw(t, "duplicate"), Corrupt: ratios.Draw(t, "corrupt")}
	l.Jitter = min(l.Delay, durations.Draw(t, "jitter"))
	l.Loss = rapid.SampledFrom([]spec.Loss{{}, {Model: spec.Bernoulli, P: ratios.Draw(t, "p")},
		{Model: spec.Gilbert, P: ratios.Draw(t, "p"), R: ratios.Draw(t, "r"), H: ratios.Draw(t, "h"),
			K: ratios.Draw(t, "k"), Slot: durations.Draw(t, "slot")},
		{Model: spec.Sojourn, P: ratios.Draw(t, "p"), H: ratios.Draw(t, "h"), Length: rapid.IntRange(1,
			spec.MaxLength).Draw(t, "len")},
		{Model: spec.Tape, File: "x/y=z.tape"}}).Draw(t, "loss")
	return l
}

func genFault(t *rapid.T) fault.Fault {
	from := rapid.IntRange(-1000, 1000).Draw(t, "from")
	f := fault.Fault{Action: fault.Drop, From: fault.Side(sides.Draw(t, "side").String()),
		QP:   rapid.IntRange(fault.AnyQP, 0).Draw(t, "qp"),
		PSN:  fault.Span{Given: true, From: from, To: from + rapid.IntRange(0, 10).Draw(t, "span")},
		Tx:   rapid.IntRange(0, 3).Draw(t, "tx"),
		Type: rapid.SampledFrom([]string{"", "NAK", "WRITE_MIDDLE"}).Draw(t, "type"), Count: rapid.IntRange(fault.Every,
			3).Draw(t, "count")}
	if rapid.Bool().Draw(t, "rewrite") {
		f.Action, f.Field, f.Value = fault.Rewrite, fault.TTL, rapid.IntRange(0, 255).Draw(t, "value")
	}
	return f
}

func genInjection(t *rapid.T) Injection {
	number := rapid.Custom(func(t *rapid.T) Edit { return Edit{"ttl", rapid.Uint64().Draw(t, "value")} })
	address := rapid.Custom(func(t *rapid.T) Edit { return Edit{"ipsrc", uint64(rapid.Uint32().Draw(t, "address"))} })
	in := Injection{To: sides.Draw(t, "to"), At: durations.Draw(t, "at"), Packet: "WRITE_ONLY psn=+3 len=8",
		BadCRC: rapid.Bool().Draw(t, "bad"), Cut: rapid.IntRange(0, maxPacket).Draw(t, "cut"), Chop: rapid.IntRange(0,
			maxPacket).Draw(t, "chop")}
	if edits := rapid.SliceOfN(rapid.OneOf(number, address), 0, 4).Draw(t, "edits"); len(edits) > 0 {
		in.Raw = edits
	}
	return in
}

func genQP(t *rapid.T, mtu int) engine.QP {
	n := func(name string, most int) int { return rapid.IntRange(0, most).Draw(t, name) }
	return engine.QP{MTU: mtu, Timeout: engine.LocalACKTimeout(n("timeout", 31)), RTO: durations.Draw(t, "rto"),
		RetryCount: uint8(n("retry", 7)), RNRRetry: uint8(n("rnr", 7)), QueueDepth: 1 + n("qd", maxDepth-1),
		ReceiveDepth: minReceiveDepth,
		CQModeration: n("cqmod", maxDepth), AckReqEvery: n("ackreq", maxDepth), AckCoalesce: n("coalesce", maxDepth),
		MaxRdAtomic: n("rd", 255),
		MaxDestRd:   n("dest", 255), PKey: uint16(n("pkey", 0xFFFF)),
		Access: engine.LocalWrite | engine.Access(n("access", 7))}
}

func genPost(t *rapid.T) Post {
	p := Post{From: sides.Draw(t, "from"), At: durations.Draw(t, "at"), Receive: rapid.Bool().Draw(t, "receive"),
		LocalOff: rapid.Int64Range(-maxOffset, maxOffset).Draw(t, "local")}
	w := &p.WR
	w.ID, w.Len = rapid.Uint64Range(0, maxWR).Draw(t, "id"), rapid.Uint32Range(0, uint32(maxMessage)).Draw(t, "len")
	if p.Receive {
		return p
	}
	w.Op = engine.Op(rapid.IntRange(0, int(engine.OpFetchAdd)).Draw(t, "op"))
	w.Solicited, w.Unsignal = rapid.Bool().Draw(t, "se"), rapid.Bool().Draw(t, "unsignalled")
	if w.Op >= engine.OpWrite {
		p.RemoteOff, p.BadKey = rapid.Int64Range(-maxOffset, maxOffset).Draw(t, "remote"), rapid.Bool().Draw(t, "bad")
	}
	switch w.Op {
	case engine.OpSendImm, engine.OpWriteImm:
		w.Imm = rapid.Uint32().Draw(t, "imm")
	case engine.OpSendInv:
		w.InvKey = rapid.Uint32().Draw(t, "inv")
	case engine.OpCompareSwap:
		w.Len, w.Compare, w.SwapAdd = 8, rapid.Uint64().Draw(t, "compare"), rapid.Uint64().Draw(t, "swap")
	case engine.OpFetchAdd:
		w.Len, w.SwapAdd = 8, rapid.Uint64().Draw(t, "add")
	}
	return p
}

// orNil draws a list that is nil when empty, as Parse returns it.
func orNil[T any](t *rapid.T, name string, gen func(*rapid.T) T) []T {
	list := rapid.SliceOfN(rapid.Custom(gen), 0, 4).Draw(t, name)
	if len(list) == 0 {
		return nil
	}
	return list
}

// genLAN draws the default, or a link without inherited fields.
func genLAN(t *rapid.T) LAN {
	l := defaultLAN()
	if rapid.Bool().Draw(t, "lan") {
		l.Link = genLink(t)
	}
	l.Faults = orNil(t, "lan faults", genFault)
	return l
}

func genSpec(t *rapid.T) *Spec {
	mtu := 256 << rapid.IntRange(0, 4).Draw(t, "mtu")
	s := &Spec{Title: orNil(t, "title", func(t *rapid.T) string { return proses.Draw(t, "line") }),
		Seed: rapid.Uint64().Draw(t, "seed"),
		Impl: [2]string{names.Draw(t, "a"), names.Draw(t, "b")}, Link: spec.Duplex{AB: genLink(t), BA: genLink(t)},
		LAN: genLAN(t), CM: rapid.SampledFrom([]Management{CMAuto, CMOn, CMOff}).Draw(t, "cm"),
		Faults: orNil(t, "faults", genFault), Injections: orNil(t, "injections", genInjection),
		QP:  [2]engine.QP{genQP(t, mtu), genQP(t, mtu)},
		QPs: rapid.IntRange(1, MaxQPs).Draw(t, "qps"), Receives: rapid.IntRange(0, maxDepth).Draw(t, "receives"),
		Replenish:  rapid.Bool().Draw(t, "replenish"),
		ReceiveLen: unit.Size(rapid.Int64Range(0, int64(maxMessage)).Draw(t, "receive-len")),
		Posts:      orNil(t, "posts", genPost), For: 1 + durations.Draw(t, "for"),
		Reads: Readings{Detail: rapid.Bool().Draw(t, "detail")},
		Loads: append(orNil(t, "loads", func(t *rapid.T) Load {
			return Load{From: sides.Draw(t, "from"), Op: rapid.SampledFrom(loadOps).Draw(t, "op"),
				Msg: unit.Size(rapid.Int64Range(0, int64(maxMessage)).Draw(t, "msg")), Count: rapid.IntRange(0,
					maxWR).Draw(t, "count")}
		}), Load{Op: engine.OpRead, Msg: 5, Count: 1}, genFlows(t),
			Load{Op: engine.OpSend, Msg: 5, Count: 1, Ahead: rapid.IntRange(1, maxDepth).Draw(t, "ahead")})}
	s.Limit = s.For + durations.Draw(t, "limit")
	a, b := psn.New(rapid.Uint32().Draw(t, "psn")), psn.New(rapid.Uint32().Draw(t, "psn"))
	s.QP[0].SendPSN, s.QP[1].RecvPSN, s.QP[1].SendPSN, s.QP[0].RecvPSN = a, a, b, b
	if p := rapid.MapOfN(names, rapid.StringMatching(`[!-~]{0,20}`), 0, 4).Draw(t, "params"); len(p) > 0 {
		s.Params = p
	}
	return s
}

// String and Parse are inverse, and the canonical text is a fixed point.
func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := genSpec(t)
		got, err := parse(want.String())
		if err != nil {
			t.Fatalf("%v\n%s", err, want)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("-want +got\n%s\n%s", d, want)
		}
		if got.String() != want.String() || got.Hash() != want.Hash() {
			t.Fatalf("not canonical:\n%s\n%s", want, got)
		}
	})
}

// Specs that differ have different hashes, and the hash does not depend on the form of the text.
func TestHash(t *testing.T) {
	hash := func(text string) string {
		s, err := parse(text + "\n" + work)
		if err != nil {
			t.Fatal(err)
		}
		return s.Hash()
	}
	if a, b := hash("qp retry=3\nlink delay=1000us"), hash(" link   delay=1ms\n\nqp retry=0x3 timeout=14"); a != b {
		t.Errorf("one Spec in two spellings has the hashes %s and %s", a, b)
	}
	if a, b := hash("seed 1"), hash("seed 2"); a == b || len(a) != 64 {
		t.Errorf("seeds 1 and 2: %s and %s", a, b)
	}
}

// Every verb is in the reference and in the package's documentation, and every example is a statement.
func TestLanguage(t *testing.T) {
	doc, err := os.ReadFile("spec.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verbs {
		if err := Default().Line(v.example); err != nil {
			t.Errorf("%s: %v", v.example, err)
		}
		if !strings.HasPrefix(v.example, v.name+" ") || v.meaning == "" || !strings.Contains(Language(), v.example) {
			t.Errorf("%s is not explained", v.name)
		}
		if !regexp.MustCompile(`(?m)^//\t.*\b` + v.name + ` `).Match(doc) {
			t.Errorf("%s is missing from the package documentation", v.name)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^//\t(.{1,48}?)(?:  +(.*))?$`).FindAllStringSubmatch(string(doc), -1) {
		for _, example := range m[1:] {
			if err := Default().Line(example); err != nil {
				t.Errorf("documented %q: %v", example, err)
			}
		}
	}
	if n := strings.Count(Language(), "\n"); n != len(verbs) {
		t.Errorf("the reference has %d lines for %d verbs", n, len(verbs))
	}
}

// A parsed text prints to a text that parses to the same Spec; nothing panics, and an error is one line.
func FuzzParse(f *testing.F) {
	for _, v := range verbs {
		f.Add(v.example + "\n" + work)
	}
	f.Add("# title\n\n#\nqp A mtu=512\nqp B mtu=512\nqp count=3 access=none\npost-send inv=0x1 " +
		"qp=2\nrun for=1s limit=2s\n")
	f.Add("loss burst:enter=1e-4,len=8,loss=0.3\nlink B>A jitter=0 delay=1e-3s\nparam a=b=c d= e=é\n" + work)
	f.Add("inject B set=ipsrc:1.2.3.4,psn:0xff cut=3 : FETCH_ADD psn=-1 va=0x10 SE\nseed 0x10")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parse(text)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("error of several lines: %q", err)
			}
			return
		}
		again, err := parse(s.String())
		if err != nil {
			t.Fatalf("%v\n%q\nprints as\n%s", err, text, s)
		}
		if d := cmp.Diff(s, again); d != "" {
			t.Errorf("%q\nprints as\n%s\n-first +second\n%s", text, s, d)
		}
		_ = s.Warnings()
	})
}

func ExampleLanguage() {
	fmt.Println(strings.SplitN(Language(), "\n", 2)[0])
	// Output:
	// seed 7                                                     the seed of every random stream
}

// genFlows draws a load of messages that vary in size or have an arrival process.
func genFlows(t *rapid.T) Load {
	l := Load{Op: engine.OpRead, Count: 1, Sizes: workload.CDF{{Size: 10, Most: 0.25}, {Size: 1000, Most: 1}}}
	if rapid.Bool().Draw(t, "regular") {
		l.Every = 1 + rapid.Map(rapid.Int64Range(0, 1e9), func(n int64) vtime.Duration {
			return vtime.Duration(n) * vtime.Nanosecond
		}).Draw(t, "every")
	}
	return l
}

// TestTurnsText: turns have a test of their own, because they exclude other work.
func TestTurnsText(t *testing.T) {
	for _, line := range []string{"turns write from=A msg=1 count=300", "turns rping from=B msg=65535 count=2"} {
		s, err := parse(line)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parse(s.String())
		if err != nil || again.Turns != s.Turns || !strings.Contains(s.String(), line+"\n") {
			t.Errorf("%s: %v, %+v prints as\n%s", line, err, s.Turns, s)
		}
	}
}

// TestTurnsAlone: statements that exclude turns are refused.
func TestTurnsAlone(t *testing.T) {
	for line, want := range map[string]string{
		"post-send len=8": "leave out load and post-", "qp count=2": "leave out qp count=",
		"qp receives=1": "two receives",
	} {
		if _, err := parse("turns write msg=8 count=1\n" + line + "\n"); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}
