package all

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/brokentest"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// TestAnyLegalSpec runs every implementation over random legal links and work: no rule may find anything. A failure is
// a wrong engine, or a rule that is too strict; the Spec is printed, for "gauntlet run". With -short each
// implementation runs over every third of its Specs.
func TestAnyLegalSpec(t *testing.T) {
	impls := Implementations()
	for _, seed := range seeds(t, *from, *specs) {
		impl := impls[seed%uint64(len(impls))]
		if testing.Short() && seed/uint64(len(impls))%3 != 0 {
			continue
		}
		t.Run(fmt.Sprintf("%s/%d", impl.Name, seed), func(t *testing.T) {
			text := legal(seed, impl.Name)
			spec, err := scenario.Parse(strings.NewReader(text))
			if err != nil {
				t.Fatalf("%v:\n%s", err, text)
			}
			brokentest.Judged(t, spec, impl).Clean(t, "\n"+text, required())
		})
	}
}

// required returns the rules that bind: observations and advice may have findings in a legal Spec.
func required() []rule.Rule {
	return slices.DeleteFunc(rules.All(), func(r rule.Rule) bool {
		return r.Level == rule.Observation || r.Level == rule.Should
	})
}

// draw makes the random choices of one Spec.
type draw struct{ *rand.Rand }

func pick[T any](d draw, of ...T) T { return of[d.IntN(len(of))] }

// chance is true with a probability of percent in a hundred.
func (d draw) chance(percent int) bool { return d.IntN(100) < percent }

// legal returns the Spec of a seed, with at most a few thousand packets in flight, so that it runs in a moment.
func legal(seed uint64, impl string) string {
	d := draw{rand.New(rand.NewPCG(seed, 0))}
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d\nimpl %s\n", seed, impl)
	path, mtu := d.link(&b)
	for _, p := range oddities[impl] {
		if d.chance(30) {
			fmt.Fprintf(&b, "param %s=%s\n", p.name, pick(d, p.values...))
		}
	}
	d.losses(&b, "loss")
	if impl == "pseudoack" && d.chance(50) {
		fmt.Fprintf(&b, "lan rate=%s delay=%s\n", pick(d, "10G", "100G"), pick(d, "500ns", "5us"))
		if d.chance(30) {
			fmt.Fprintln(&b, "lan loss random p=1%")
		}
	}
	qps := d.attributes(&b, path, mtu)
	if rtt := path.rtt + path.turn(mtu, qps); impl == "pseudoack" && rtt > max(2*path.rtt, vtime.Millisecond) {
		// The default of wan_rto allows for no other QPs on the line.
		fmt.Fprintf(&b, "param wan_rto=%s\n", 2*rtt)
	}
	for range 1 + d.IntN(2) {
		d.work(&b, impl, 2000*mtu/qps)
	}
	if text := b.String(); impl == "pseudoack" && (strings.Contains(text, "gemodel") ||
		strings.Contains(text, "burst")) {
		// The box cannot withdraw a pseudo-ACK, so it gets more retries than a run of losses takes.
		fmt.Fprintln(&b, "param wan_retry=100")
	}
	if d.chance(50) {
		fmt.Fprintln(&b, "report detail")
	}
	fmt.Fprintln(&b, "run limit=600s")
	return b.String()
}

// path is the rate and the length of a link.
type path struct {
	rate unit.Rate
	rtt  vtime.Duration
}

// turn is the time that the line takes for two full packets of every QP.
func (p path) turn(mtu, qps int) vtime.Duration {
	return 2 * p.rate.Time(mtu+roce.Overhead+64) * vtime.Duration(qps)
}

// link draws the path.
func (d draw) link(b *strings.Builder) (p path, mtu int) {
	const mbps, gbps, us, ms = unit.Mbps, unit.Gbps, vtime.Microsecond, vtime.Millisecond
	p = pick(d, path{100 * mbps, 10 * us}, path{100 * mbps, 40 * ms}, path{gbps, 200 * us}, path{gbps, 10 * ms},
		path{10 * gbps, 10 * us}, path{10 * gbps, ms}, path{40 * gbps, 100 * us}, path{100 * gbps, 10 * us},
		path{100 * gbps, 200 * us})
	mtu = pick(d, 256, 512, 1024, 2048, 4096)
	fmt.Fprintf(b, "link rate=%s delay=%s queue=%d", p.rate, p.rtt/2, pick(d, 20, 100, 5000, 20000))
	for _, more := range []string{"jitter=" + fmt.Sprint(p.rtt/2000*vtime.Duration(pick(d, 1, 10, 100))),
		"reorder=" + pick(d, "0.1%", "1%", "5%"), "duplicate=" + pick(d, "0.1%", "1%"),
		"corrupt=" + pick(d, "0.1%", "1%")} {
		if d.chance(15) {
			fmt.Fprint(b, " ", more)
		}
	}
	fmt.Fprintln(b)
	return p, mtu
}

// losses draws the packets that the link loses, of all or of a direction.
func (d draw) losses(b *strings.Builder, verb string) {
	directions := []string{"", "A>B ", "B>A "}[:1]
	if d.chance(50) {
		directions = []string{"A>B ", "B>A "}
	}
	for _, way := range directions {
		model := pick(d, "none", "random p="+pick(d, "0.01%", "0.1%", "1%", "3%"), "random p=0.5%",
			"gemodel p="+pick(d, "0.1%", "1%")+" r="+pick(d, "10%", "50%"), "burst p=0.1% len="+pick(d, "2", "8", "32")+
				" h="+pick(d, "0", "0.3"))
		fmt.Fprintf(b, "%s %s%s\n", verb, way, model)
	}
}

// attributes draws the QPs, and returns their number. Their timers are longer than the path and than a turn of all QPs
// on the line, as a user would set them.
func (d draw) attributes(b *strings.Builder, p path, mtu int) (qps int) {
	qps = pick(d, 1, 1, 1, 2, 5, 20)
	fmt.Fprintf(b, "qp mtu=%d count=%d qd=%d", mtu, qps, pick(d, 1, 2, 8, 64, 128, 512))
	rto := p.turn(mtu, qps) + p.rtt*vtime.Duration(pick(d, 3, 4, 6))/2 +
		pick(d, 100*vtime.Microsecond, vtime.Millisecond, 20*vtime.Millisecond)
	for _, more := range []string{"ackreq=" + pick(d, "0", "1", "16"), "coalesce=" + pick(d, "4", "16"),
		fmt.Sprintf("rto=%s", rto),
		"rd=" + pick(d, "1", "2"), "cqmod=" + pick(d, "2", "16"), "retry=" + pick(d, "1", "3"),
		"start=" + pick(d, "8388606", "16777213", "16777116")} {
		if d.chance(35) {
			fmt.Fprint(b, " ", more)
		}
	}
	fmt.Fprintln(b)
	return qps
}

// work draws a load of at most most bytes.
func (d draw) work(b *strings.Builder, impl string, most int) {
	ops := []string{"write", "write", "send", "write-imm", "send-imm", "read"}
	if impl == "writerecord" {
		ops = []string{"write", "write-imm", "send"}
	}
	msg := min(pick(d, 1, 64, 1023, 1024, 2049, 4096, 65536, 262144, 1<<20, 4<<20), most)
	fmt.Fprintf(b, "load %s msg=%d count=%d", pick(d, ops...), msg, max(1, min(200, most/msg)/pick(d, 1, 3, 20)))
	if d.chance(25) {
		fmt.Fprint(b, " from=B")
	}
	if d.chance(15) {
		fmt.Fprint(b, " every=", pick(d, "5us", "100us", "3ms"))
	}
	fmt.Fprintln(b)
}

// oddity is a parameter of a scheme, with unusual values. Left out are values with which a device breaks rules on
// purpose (rxe_infinite7, and buffer=0 of pseudoack), and values that leave too little room for the Spec, so that the
// device drops packets behind the tap: a box with fewer flows than connections or a small overrun, a short pipeline, a
// log of few messages.
type oddity struct {
	name   string
	values []string
}

func odd(name string, values ...string) oddity { return oddity{name, values} }

// oddities are the parameters by implementation.
var oddities = func() map[string][]oddity {
	common := []oddity{odd("ack_delay", "1us", "100us"), odd("read_gap", "wait")}
	gbn := append(slices.Clip(common), odd("backto0", "4096", "16384", "1048576"), odd("nack_interval", "100us", "5ms"))
	gb1 := append(slices.Clip(common), odd("max_ooo_psn", "2", "16", "128"), odd("rto", "one"))
	irn := []oddity{odd("cap", "1", "2", "10", "5000", "65536"), odd("rtt", "1ms", "40ms"), odd("rto_n", "0", "1",
		"50"), odd("rto_high", "100ms")}
	lowar := []oddity{odd("r", "8", "64", "1024"), odd("c", "2", "8"), odd("adaptive", "true"),
		odd("report", "16", "256"), odd("rob", "1", "16"),
		odd("t_rob", "100us", "1ms"), odd("units", "8", "64")}
	return map[string][]oddity{
		"fasr": {odd("ack_delay", "1us", "50us"), odd("block_bits", "1", "2", "16", "64"),
			odd("blocks", "0", "1", "5", "4096"), odd("lc1_exact", "true"), odd("lostcnt_credit", "true"),
			odd("units", "0", "1", "2", "255"), odd("window", "1", "8", "5000", "65536")},
		"gbn": gbn, "gobackone": gb1, "irn": irn,
		"lowar":     slices.Concat(gbn, lowar),
		"lowar-gb1": slices.Concat(gb1, lowar),
		"openapn":   append(slices.Clip(gbn), odd("cap", "1", "10"), odd("round", "floor", "ceil")),
		"pseudoack": append(slices.Clip(gbn), odd("buffer", "64KiB", "1MiB")),
		"rciwarp": {odd("crc", "off"), odd("markers", "off"), odd("min_rto", "10ms"), odd("mss", "536", "1400"),
			odd("rwnd", "65536")},
		"srnic": append(slices.Clip(irn), odd("queries", "0", "1", "16"), odd("rate", "0", "10G"),
			odd("tq", "0", "10us")),
		"writerecord": {odd("map", "aggregate"), odd("segment", "64", "1000", "1432"), odd("t_reasm", "1ms"),
			odd("t_rec", "1ms"),
			odd("link_mtu", "576", "9000")},
	}
}()
