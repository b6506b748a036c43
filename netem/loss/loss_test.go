package loss

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

var models = []string{
	"random p=0.01",
	"random p=0.5",
	"gemodel p=0.01 r=0.3",
	"gemodel p=0.02 r=0.2 h=0.5 k=0.99",
	"state p13=0.02 p31=0.3 p32=0.2 p14=0.005 p23=0.4",
	"state p13=0.05",
	"burst p=0.002 len=8",
	"burst p=0.002 len=6 h=0.3",
	"burst p=0.1 len=3 h=0.9",
}

func parse(t testing.TB, s string) spec.Loss {
	t.Helper()
	l, err := spec.ParseLoss(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func process(t testing.TB, s string, seed uint64) Process {
	t.Helper()
	p, err := New(parse(t, s), seed)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func decisions(p Process, n int) []bool {
	out := make([]bool, n)
	for i := range out {
		out[i] = p.Lose(0)
	}
	return out
}

// The closed forms that users see agree with the laws, which the other tests use.
func TestClosedFormsAgree(t *testing.T) {
	for _, m := range models {
		l := parse(t, m)
		w := lawOf(t, l)
		mean, pair := sum(w.only(true, w.stationary())), w.joint(1)
		if got := float64(l.Mean()); math.Abs(got/mean-1) > 1e-6 {
			t.Errorf("%s: Mean = %v, law says %v", m, got, mean)
		}
		if got, want := l.MeanBurst(), mean/(mean-pair); math.Abs(got/want-1) > 1e-6 {
			t.Errorf("%s: MeanBurst = %v, law says %v", m, got, want)
		}
	}
}

// TestRateAndCorrelation compares the loss rate (lag 0) and the joint loss probability at lags 1 to 5 with the law. The
// deviation is measured in standard errors over a thousand batches, which takes the correlation within a batch into
// account.
func TestRateAndCorrelation(t *testing.T) {
	const size, sigmas = 4000, 5
	batches := 1000
	if testing.Short() {
		batches = 100
	}
	for _, m := range models {
		w := lawOf(t, parse(t, m))
		lost := decisions(process(t, m, 1), batches*size)
		for lag := range 6 {
			var total, squares float64
			for b := range batches {
				n := 0.0
				for i := b * size; i < (b+1)*size-lag; i++ {
					if lost[i] && lost[i+lag] {
						n++
					}
				}
				n /= float64(size - lag)
				total += n
				squares += n * n
			}
			mean := total / float64(batches)
			err := math.Sqrt((squares/float64(batches) - mean*mean) / float64(batches))
			if want := w.joint(lag); math.Abs(mean-want) > sigmas*err {
				t.Errorf("%s: P(lost, lost %d later) = %v ± %v, want %v", m, lag, mean, err, want)
			}
		}
	}
}

// runLengths counts runs of consecutive losses by length; the last cell counts all longer ones.
func runLengths(lost []bool, n int) []int {
	counts := make([]int, n+1)
	run := 0
	for _, l := range lost {
		if l {
			run++
		} else if run > 0 {
			counts[min(run-1, n)]++
			run = 0
		}
	}
	return counts
}

func TestBurstLengthLaw(t *testing.T) {
	const cells = 40
	for _, m := range models {
		counts := runLengths(decisions(process(t, m, 2), 1<<20), cells)
		if z := chiSquare(counts, lawOf(t, parse(t, m)).runs(cells)); z > 4 {
			t.Errorf("%s: run lengths are %.1f standard deviations off the law: %v", m, z, counts)
		}
	}
}

// The tests above can fail: each of them rejects a process with slightly different parameters.
func TestLawsTellModelsApart(t *testing.T) {
	counts := runLengths(decisions(process(t, "gemodel p=0.01 r=0.33", 2), 1<<20), 40)
	if z := chiSquare(counts, lawOf(t, parse(t, "gemodel p=0.01 r=0.3")).runs(40)); z < 4 {
		t.Errorf("r=0.33 passes for r=0.3: %.1f standard deviations", z)
	}
}

// With h=1 every run is one bad period, or several without a gap.
func TestSojournLastsExactly(t *testing.T) {
	for _, length := range []int{1, 2, 8, 13} {
		l := spec.Loss{Model: spec.Sojourn, P: 0.01, H: 1, Length: length}
		p, err := New(l, 3)
		if err != nil {
			t.Fatal(err)
		}
		for n, c := range runLengths(decisions(p, 200000), 1000) {
			if c > 0 && (n+1)%length != 0 {
				t.Errorf("len=%d: %d runs of %d", length, c, n+1)
			}
		}
	}
}

func TestCertainties(t *testing.T) {
	tests := []struct {
		loss string
		want string // the first packets; X is lost
	}{
		{"none", "........"},
		{"random p=0", "........"},
		{"random p=1", "XXXXXXXX"},
		{"gemodel p=1 r=1", ".X.X.X.X"}, // starts good, and decides before the transition
		{"gemodel p=0 r=1 k=0", "XXXXXXXX"},
		{"state p13=1 p31=1", "X.X.X.X."}, // makes the transition before it decides
		{"state p13=0 p14=1", "X.X.X.X."},
		{"state p13=1 p31=0 p32=1 p23=1", "X.X.X.X."},
		{"state p13=1 p31=0 p32=1 p23=0", "X......."},
		{"burst p=1 len=3", "XXXXXXXX"},
		{"burst p=1 len=3 h=0", "........"},
	}
	for _, tt := range tests {
		got := strings.Builder{}
		for _, lost := range decisions(process(t, tt.loss, 1), len(tt.want)) {
			got.WriteByte(".X"[b2i(lost)])
		}
		if got.String() != tt.want {
			t.Errorf("%s: %s, want %s", tt.loss, got.String(), tt.want)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestSeeds(t *testing.T) {
	for _, m := range models {
		a, b := decisions(process(t, m, 7), 20000), decisions(process(t, m, 7), 20000)
		c := decisions(process(t, m, 8), 20000)
		same := 0
		for i := range a {
			if a[i] != b[i] {
				t.Fatalf("%s: packet %d differs under one seed", m, i)
			}
			same += b2i(a[i] == c[i])
		}
		rate := float64(parse(t, m).Mean())
		if want := 1 - 2*rate*(1-rate); math.Abs(float64(same)/20000-want) > 0.05 {
			t.Errorf("%s: neighbouring seeds agree on %d of 20000 packets, independent ones on %.0f",
				m, same, want*20000)
		}
	}
}

// The losses of a seed never change, because recorded runs and golden files depend on them.
func TestSeedKeepsItsMeaning(t *testing.T) {
	golden, err := os.ReadFile("testdata/seed42.txt")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, m := range []string{models[0], models[2], models[4], models[8]} {
		got.WriteString(m + ":")
		for i, lost := range decisions(process(t, m, 42), 1000) {
			if lost {
				got.WriteString(" " + strconv.Itoa(i))
			}
		}
		got.WriteString("\n")
	}
	if got.String() != string(golden) {
		t.Errorf("seed 42 changed its meaning:\n%swant\n%s", got.String(), golden)
	}
}

const slot = 10 * vtime.Microsecond

// Fades are a function of channel time: rare packets meet the same slots as frequent ones.
func TestSlotsDoNotDependOnPackets(t *testing.T) {
	for _, m := range []string{"gemodel p=0.01 r=0.1 slot=10us", "burst p=0.01 len=20 slot=10us",
		"random p=0.1 slot=10us"} {
		often, rarely := process(t, m, 5), process(t, m, 5)
		const slots = 3*epoch + 100
		for i := range slots {
			start := vtime.Time(i) * vtime.Time(slot)
			first, last := often.Lose(start), often.Lose(start.Add(slot-1))
			if first != last {
				t.Fatalf("%s: slot %d has two fates", m, i)
			}
			if i%977 == 0 || i > slots-3 {
				if rarely.Lose(start.Add(slot/2)) != first {
					t.Fatalf("%s: slot %d depends on the packets before it", m, i)
				}
			}
		}
	}
}

// The fades of an epoch differ from those of the next epoch and of the next seed.
func TestEpochsDiffer(t *testing.T) {
	const m, n = "random p=0.5 slot=10us", 10000
	epochs := make([][]bool, 3)
	for i, at := range []struct{ seed, epoch int }{{1, 0}, {1, 1}, {2, 0}} {
		p := process(t, m, uint64(at.seed))
		for j := range n {
			epochs[i] = append(epochs[i], p.Lose(vtime.Time(at.epoch*epoch+j)*vtime.Time(slot)))
		}
	}
	for _, pair := range [][2]int{{0, 1}, {0, 2}, {1, 2}} {
		same := 0
		for j := range n {
			same += b2i(epochs[pair[0]][j] == epochs[pair[1]][j])
		}
		if math.Abs(float64(same)-n/2) > 5*math.Sqrt(n/4) {
			t.Errorf("epochs %v agree on %d of %d slots", pair, same, n)
		}
	}
}

// After years without packets the next decision takes a bounded number of steps and does not depend on earlier packets.
func TestSlotsAfterIdling(t *testing.T) {
	const m = "gemodel p=0.3 r=0.3 slot=1us"
	a, b := process(t, m, 5), process(t, m, 5)
	a.Lose(0)
	far := vtime.Never / 2
	for i := range 100 {
		at := far.Add(vtime.Duration(i) * vtime.Microsecond)
		if i%2 == 0 && a.Lose(at) != b.Lose(at) {
			t.Fatalf("slot %d after idling differs", i)
		}
	}
}

func TestTapes(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		f := filepath.Join(dir, name)
		if err := os.WriteFile(f, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return "tape file=" + f
	}
	p := process(t, write("ok", "gauntlet-tape 1\nkey index\nseed 1\nlength 4\nlost 1..2\nend 2\n"), 0)
	if got := decisions(p, 5); got[0] || !got[1] || !got[2] || got[3] || got[4] {
		t.Errorf("tape loses %v", got)
	}
	for in, want := range map[string]string{
		write("id", "gauntlet-tape 1\nkey identity\nseed 1\nend 0\n"): "keyed by identity",
		write("bad", "gauntlet-tape 9\n"):                             "line 1: version",
		"tape file=" + filepath.Join(dir, "absent"):                   "no such file",
	} {
		if _, err := New(parse(t, in), 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

func TestInvalidIsAnError(t *testing.T) {
	for _, l := range []spec.Loss{{Model: "rain"}, {Model: spec.Bernoulli, P: 2}, {Model: spec.Sojourn}} {
		if _, err := New(l, 0); err == nil {
			t.Errorf("New(%+v) accepts it", l)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	for _, m := range append(models, "gemodel p=0.01 r=0.3 slot=1us") {
		p, now := process(t, m, 1), vtime.Time(0)
		if n := testing.AllocsPerRun(1000, func() { now = now.Add(vtime.Microsecond); p.Lose(now) }); n != 0 {
			t.Errorf("%s: %v allocations per packet", m, n)
		}
	}
}

func BenchmarkLose(b *testing.B) {
	for _, m := range []string{"random p=0.0001", "gemodel p=0.01 r=0.3 h=0.1 k=0.99",
		"state p13=0.02 p31=0.3 p32=0.2 p14=0.005 p23=0.4", "burst p=0.0001 len=8 h=0.3",
		"gemodel p=0.01 r=0.3 slot=10us"} {
		b.Run(strings.ReplaceAll(m, " ", ","), func(b *testing.B) {
			p, now, lost := process(b, m, 1), vtime.Time(0), 0
			b.ReportAllocs()
			for b.Loop() {
				now = now.Add(vtime.Microsecond)
				lost += b2i(p.Lose(now))
			}
		})
	}
}

// BenchmarkIdle is the worst case of slots: every packet comes after an epoch without packets.
func BenchmarkIdle(b *testing.B) {
	p, now := process(b, "gemodel p=0.01 r=0.3 slot=1us", 1), vtime.Time(0)
	for b.Loop() {
		now = now.Add(2*epoch*vtime.Microsecond - vtime.Microsecond)
		p.Lose(now)
	}
}
