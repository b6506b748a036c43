package merge

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/fixture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// wantMerged checks that a merge of its taps gives the records of a fixture and the given number of copies.
func wantMerged(t *testing.T, f *fixture.Trace, opt Options, copies uint64) {
	t.Helper()
	k, stats := mergeAll(t, f, opt)
	if d := cmp.Diff(summary(t, &f.Header, f.Records), summary(t, &f.Header, k.Records)); d != "" ||
		stats.Copies != copies {
		t.Errorf("%d copies, want %d (-want +got)\n%s", stats.Copies, copies, d)
	}
}

func TestMergeCopies(t *testing.T) {
	for name, text := range map[string]string{
		"whole": `
@1..5 A>B SEND_ONLY psn=+0 len=4
@5.5 A>B SEND_ONLY psn=+0 len=4 copy cause=duplicate
@6..10 A>B SEND_ONLY psn=+0 len=4
@10.1 A>B SEND_ONLY psn=+0 len=4 copy cause=duplicate
`,
		"corrupt": `
@1..5 A>B SEND_ONLY psn=+0 len=64
@2..6 A>B SEND_ONLY psn=+1 len=64
@6.5 A>B SEND_ONLY psn=+0 len=64 copy cause=duplicate got byte=60:9 icrc=bad
@7 A>B SEND_ONLY psn=+1 len=64 copy cause=duplicate got byte=52:77 icrc=bad
`,
	} {
		f := tracetest.Parse(t, text, 0)
		t.Run(name, func(t *testing.T) { wantMerged(t, f, Options{}, 2) })
	}
}

// Frames with one time stamp are in the order of the tap, not in the order of sending.
func TestMergeKeepsTheOrderOfOneTimeStamp(t *testing.T) {
	for name, text := range map[string]string{
		"copy at once": `
@1..5 A>B SEND_ONLY psn=+0 len=4
@2..5.0002 A>B SEND_ONLY psn=+1 len=4
@4.6001 A>B SEND_ONLY psn=+0 len=4 copy cause=duplicate
`,
		"copy behind the next": `
@1..5 A>B SEND_ONLY psn=+0 len=4
@2..6.0001 A>B SEND_ONLY psn=+1 len=4
@5.6002 A>B SEND_ONLY psn=+0 len=4 copy cause=duplicate
`,
		"overtaken": `
@1..5.0002 A>B SEND_ONLY psn=+0 len=4
@2..5.0001 A>B SEND_ONLY psn=+1 len=4
`,
	} {
		f := tracetest.Parse(t, text, 0)
		play := func(s trace.Sink) error {
			_, err := Taps(&f.Header, tapsOf(f), Options{Zero: tracetest.Epoch}, s)
			return err
		}
		var order [2][]string
		for i, p := range []func(trace.Sink) error{tracetest.Playing(f), play} {
			view := tracetest.SightFunc(func(s *trace.Sight) {
				order[i] = append(order[i], fmt.Sprint(s.Tap, s.Pkt.PSN, s.Rec.Copy))
			})
			if err := p(trace.NewTimeline(&f.Header, view)); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(order[0], order[1]); d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
	}
}

// On a link that reorders, a frame that arrives soon after it was sent is no copy of a frame that arrived long before,
// and the short delay of a packet that overtook is no measure for those after it.
func TestMergeOvertakers(t *testing.T) {
	f := tracetest.Parse(t, `
@1..301 A>B SEND_ONLY psn=+0 len=4
@2..302 A>B SEND_ONLY psn=+1 len=4
@3..303 A>B SEND_ONLY psn=+2 len=4
@4..304 A>B SEND_ONLY psn=+3 len=4
@500..503 A>B SEND_ONLY psn=+0 len=4
@501..801 A>B SEND_ONLY psn=+1 len=4
@510..810 A>B SEND_ONLY psn=+2 len=4
@790..1090 A>B SEND_ONLY psn=+1 len=4
@800..1100 A>B SEND_ONLY psn=+2 len=4
@801..804 A>B SEND_ONLY psn=+3 len=4
@804.5 A>B SEND_ONLY psn=+3 len=4 copy cause=duplicate
@900000..900300 A>B SEND_ONLY psn=+9 len=4
`, 0)
	wantMerged(t, f, Options{}, 1)
}

// A sender that goes back while its queue is long sends packets again that have arrived. The queue is empty by then,
// and a packet with a third of the delay is no copy.
func TestMergeQueueThatEmpties(t *testing.T) {
	f := tracetest.Parse(t, `
@1..20 A>B SEND_ONLY psn=+0 len=4
@2..28 A>B SEND_ONLY psn=+1 len=4
@29..37 A>B SEND_ONLY psn=+0 len=4
@30..38 A>B SEND_ONLY psn=+1 len=4
`, 0)
	wantMerged(t, f, Options{Least: [2]vtime.Duration{5 * vtime.Microsecond, 0}}, 0)
}

// A lost packet is sent again while packets with the same bytes wait in the queue. On a link that keeps the order, the
// last to arrive is the newer one, whatever its delay.
func TestMergeKeepsOrder(t *testing.T) {
	f := tracetest.Parse(t, `
@0.5..39.5 A>B SEND_ONLY psn=+3 len=4
@1..40 A>B SEND_ONLY psn=+0 len=4
@2 A>X SEND_ONLY psn=+1 len=4
@3..42 A>B SEND_ONLY psn=+0 len=4
@30..43 A>B SEND_ONLY psn=+1 len=4
@31..44 A>B SEND_ONLY psn=+2 len=4
`, 0)
	for ordered, same := range map[bool]bool{true: true, false: false} {
		k, _ := mergeAll(t, f, Options{Ordered: ordered})
		if d := cmp.Diff(summary(t, &f.Header, f.Records), summary(t, &f.Header, k.Records)); (d == "") != same {
			t.Errorf("ordered %v (-want +got)\n%s", ordered, d)
		}
	}
}

// A link that stalls delivers the packets that it held at once. On a link that keeps the order, equal frames keep
// theirs: each has the next arrival. Of two equal frames before and after another packet, the arrival before that
// packet's is the first one's, also when the second is lost.
func TestMergeKeepsTheOrderOfEqualFramesOverAStall(t *testing.T) {
	for _, text := range []string{`
@10..60 A>B SEND_ONLY psn=+0 len=4
@100..153 A>B SEND_ONLY psn=+1 len=4
@104..161 A>B SEND_ONLY psn=+1 len=4
@109..162 A>B SEND_ONLY psn=+1 len=4
@113..163 A>B SEND_ONLY psn=+1 len=4
`, `
@10..60 A>B SEND_ONLY psn=+0 len=4
@100..210 A>B SEND_ONLY psn=+1 len=4
@120..211 A>B SEND_ONLY psn=+1 len=4
@140..212 A>B SEND_ONLY psn=+1 len=4
@160..213 A>B SEND_ONLY psn=+1 len=4
@170..214 A>B SEND_ONLY psn=+2 len=4
`, `
@10..60 A>B SEND_ONLY psn=+0 len=4
@100..190 A>B SEND_ONLY psn=+1 len=4
@110..191 A>B SEND_ONLY psn=+2 len=4
@140..192 A>B SEND_ONLY psn=+1 len=4
@150..200 A>B SEND_ONLY psn=+3 len=4
`, `
@10..60 A>B SEND_ONLY psn=+0 len=4
@100..190 A>B SEND_ONLY psn=+1 len=4
@110..191 A>B SEND_ONLY psn=+2 len=4
@140 A>X SEND_ONLY psn=+1 len=4 cause=loss
@150..200 A>B SEND_ONLY psn=+3 len=4
@900..950 A>B SEND_ONLY psn=+4 len=4
`} {
		f := tracetest.Parse(t, text, 0)
		k, stats := mergeAll(t, f, Options{Ordered: true, Least: [2]vtime.Duration{50 * vtime.Microsecond, 0}})
		if d := cmp.Diff(summary(t, &f.Header, f.Records), summary(t, &f.Header, k.Records)); d != "" ||
			stats.Copies != 0 {
			t.Errorf("%d copies (-want +got)\n%s", stats.Copies, d)
		}
	}
}

// With a log, equal frames keep their order however their delays vary: a packet that was sent twice is not taken for
// one that overtook. The time of an entry may be a little before its packet's.
func TestMergeKeepsTheOrderOfEqualFrames(t *testing.T) {
	f := tracetest.Parse(t, `
@1..11 A>B SEND_ONLY psn=+0 len=4
@100..150 A>B SEND_ONLY psn=+1 len=4
@130..160 A>B SEND_ONLY psn=+1 len=4
@140 A>X SEND_ONLY psn=+1 len=4 cause=loss
@170..190 A>B SEND_ONLY psn=+1 len=4
@900..910 A>B SEND_ONLY psn=+2 len=4
`, 0)
	fates := []LinkFate{logOf(f, 1, 100), logOf(f, 2, 129.5), logOf(f, 3, 139.5), logOf(f, 4, 170.1)}
	k, stats := mergeAll(t, f, Options{Fates: fates})
	if d := cmp.Diff(summary(t, &f.Header, f.Records), summary(t, &f.Header, k.Records)); d != "" ||
		stats.Unexplored != 0 {
		t.Errorf("%+v (-want +got)\n%s", stats, d)
	}
}
