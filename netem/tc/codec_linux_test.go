package tc

import (
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// recorded are the TCA_OPTIONS payloads that iproute2 6.1 sends for the given arguments of "tc qdisc add … netem",
// recorded with strace on a little-endian machine.
var recorded = []struct {
	args string
	want Netem
	hex  string
}{
	{
		"limit 1234 delay 20ms 1ms loss gemodel 1% 30% 70% 0.1% rate 100mbit 24",
		Netem{
			Latency: 20e6, Jitter: 1e6, Limit: 1234, Rate: 12_500_000, Overhead: 24,
			GE: &GE{P: probability(0.01), R: probability(0.3), H: certain - probability(0.7), K1: probability(0.001)},
		},
		`b4c40400 d2040000 00000000 00000000 00000000 093d0000
		 18000580 14000200 295c8f02 cccccc4c cdcccc4c 37894100
		 14000600 20bcbe00 18000000 00000000 00000000`,
	},
	{
		"limit 1000 delay 5ms reorder 2% duplicate 0.5% corrupt 0.1% loss random 1%",
		Netem{
			Latency: 5e6, Limit: 1000, Loss: probability(0.01), Gap: 1,
			Reorder: probability(0.02), Duplicate: probability(0.005), Corrupt: probability(0.001),
		},
		`2d310100 e8030000 295c8f02 01000000 14ae4701 00000000
		 0c000300 52b81e05 00000000 0c000400 37894100 00000000`,
	},
	{
		"limit 1000 loss state 1% 20% 30% 5% 2%", // p13 p31 p32 p23 p14
		Netem{Limit: 1000, GI: &GI{
			P13: probability(0.01), P31: probability(0.2), P32: probability(0.3), P14: probability(0.02),
			P23: probability(0.05),
		}},
		`00000000 e8030000 00000000 00000000 00000000 00000000
		 1c000580 18000100 295c8f02 33333333 cccccc4c 52b81e05 cdcccc0c`,
	},
	{
		"limit 1000 rate 100gbit 24",
		Netem{Limit: 1000, Rate: 12_500_000_000, Overhead: 24},
		`00000000 e8030000 00000000 00000000 00000000 00000000
		 0c000800 00dd0ee9 02000000 14000600 ffffffff 18000000 00000000 00000000`,
	},
	{
		"limit 1000 delay 3s 2s loss gemodel 1% ecn", // r is 1-p, 1-h is 1, 1-k is 0
		Netem{
			Latency: 3e9, Jitter: 2e9, Limit: 1000, ECN: true,
			GE: &GE{P: probability(0.01), R: certain - probability(0.01)},
		},
		`7841cb02 e8030000 00000000 00000000 00000000 50d6dc01
		 08000700 01000000 18000580 14000200 295c8f02 d6a370fd 00000000 00000000`,
	},
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBytesEqualIproute2(t *testing.T) {
	for _, r := range recorded {
		want := unhex(t, r.hex)
		if diff := cmp.Diff(hex.EncodeToString(want), hex.EncodeToString(r.want.encode())); diff != "" {
			t.Errorf("%s: bytes differ (-iproute2 +ours)\n%s", r.args, diff)
		}
		got, err := decode(want)
		if diff := cmp.Diff(r.want, got); diff != "" || err != nil {
			t.Errorf("%s: decoded %v (-want +got)\n%s", r.args, err, diff)
		}
	}
}

// Settings that iproute2 6.1 lacks: nanoseconds that are no multiple of 64, and the seed (linux/pkt_sched.h attributes
// 10, 11 and 14).
func TestNanosecondsAndSeed(t *testing.T) {
	seed := uint64(0x1122334455667788)
	got := Netem{Latency: 100, Jitter: 65, Limit: 1, Seed: &seed}.encode()
	want := unhex(t, `01000000 01000000 00000000 00000000 00000000 01000000
		0c000a00 64000000 00000000 0c000b00 41000000 00000000 0c000e00 88776655 44332211`)
	if diff := cmp.Diff(hex.EncodeToString(want), hex.EncodeToString(got)); diff != "" {
		t.Error(diff)
	}
}

// The kernel's dump has another order than the request, both forms of each time, and attributes with default values
// (correlations, slots); net/sched/sch_netem.c, netem_dump.
func TestDecodeKernelDump(t *testing.T) {
	dump := unhex(t, `b4c40400 d2040000 00000000 00000000 00000000 093d0000
		0c000a00 002d3101 00000000 0c000b00 40420f00 00000000
		10000100 00000000 00000000 00000000 0c000300 00000000 00000000 0c000400 00000000 00000000
		14000600 20bcbe00 18000000 00000000 00000000
		18000500 14000200 295c8f02 cccccc4c cdcccc4c 37894100
		0c000e00 88776655 44332211`)
	got, err := decode(dump)
	want := recorded[0].want
	seed := uint64(0x1122334455667788)
	want.Seed = &seed
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.Map(rapid.Uint32(), func(x uint32) Probability { return Probability(x) })
		n := Netem{
			Latency: rapid.Int64Range(0, 1<<40).Draw(t, "latency"), Jitter: rapid.Int64Range(0,
				1<<31-1).Draw(t, "jitter"),
			Limit: rapid.Uint32().Draw(t, "limit"), Duplicate: p.Draw(t, "duplicate"), Corrupt: p.Draw(t, "corrupt"),
			Reorder: p.Draw(t, "reorder"), Gap: rapid.Uint32().Draw(t, "gap"), ECN: rapid.Bool().Draw(t, "ecn"),
		}
		if n.Rate = rapid.Uint64().Draw(t, "rate"); n.Rate != 0 {
			n.Overhead = rapid.Int32().Draw(t, "overhead")
		}
		switch rapid.IntRange(0, 2).Draw(t, "model") {
		case 0:
			n.Loss = p.Draw(t, "loss")
		case 1:
			n.GE = &GE{p.Draw(t, "p"), p.Draw(t, "r"), p.Draw(t, "h"), p.Draw(t, "k1")}
		case 2:
			n.GI = &GI{p.Draw(t, "p13"), p.Draw(t, "p31"), p.Draw(t, "p32"), p.Draw(t, "p14"), p.Draw(t, "p23")}
		}
		if rapid.Bool().Draw(t, "seeded") {
			seed := rapid.Uint64().Draw(t, "seed")
			n.Seed = &seed
		}
		got, err := decode(n.encode())
		if diff := cmp.Diff(n, got); diff != "" || err != nil {
			t.Fatalf("%v\n%s", err, diff)
		}
		if err := mismatch(Compare(n, got)); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, r := range recorded {
		f.Add(r.want.encode())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := decode(b) // any bytes give an error or a configuration and do not panic
		if err == nil {
			Compare(n, n)
		}
	})
}

func TestDecodeRejects(t *testing.T) {
	for name, s := range map[string]string{
		"short options":   "00000000 e8030000",
		"short rate":      "00000000 00000000 00000000 00000000 00000000 00000000 08000600 20bcbe00",
		"short GE model":  "00000000 00000000 00000000 00000000 00000000 00000000 0c000580 08000200 01000000",
		"unknown model":   "00000000 00000000 00000000 00000000 00000000 00000000 0c000580 08000900 01000000",
		"broken attr":     "00000000 00000000 00000000 00000000 00000000 00000000 ff000600 20bcbe00",
		"short reorder":   "00000000 00000000 00000000 00000000 00000000 00000000 08000300 20bcbe00",
		"short latency64": "00000000 00000000 00000000 00000000 00000000 00000000 08000a00 20bcbe00",
	} {
		if _, err := decode(unhex(t, s)); err == nil {
			t.Errorf("%s: decoded without an error", name)
		}
	}
}

func TestProbabilityEnds(t *testing.T) {
	for x, want := range map[float64]Probability{0: 0, 1: math.MaxUint32, 2: math.MaxUint32, -1: 0, 0.5: 1 << 31} {
		if got := probability(x); got != want {
			t.Errorf("probability(%g) = %d, want %d", x, got, want)
		}
	}
}
