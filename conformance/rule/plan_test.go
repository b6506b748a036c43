package rule

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// TestDoubtOfOneTap: what one of two taps lacks takes the FAILs that rest on that tap, and no other. A rule of frames
// then judges the frames of the doubtful port where they arrive.
func TestDoubtOfOneTap(t *testing.T) {
	fails := func(needs Vantage, sees Class) Rule {
		r := Rule{ID: "T-A-001", Level: Must, Needs: needs, Sees: sees, Rests: validity.Sequence, Stimulus: "any"}
		r.New = func(c *Context) Check {
			return Check{Sight: func(s *Sight) {
				if c.Maker(s) != Elsewhere {
					c.Fail(Requester, "no")
				}
			}}
		}
		return r
	}
	a, b, both := [2]bool{true, false}, [2]bool{false, true}, [2]bool{true, true}
	for _, c := range []struct {
		name string
		rule Rule
		at   [2]bool
		want Status
	}{
		{"the requester's sights, its tap", fails(TapRequester, RequestOut), a, Inconclusive},
		{"the requester's sights, the other tap", fails(TapRequester, RequestOut), b, Fail},
		{"the requester's sights, both taps", fails(TapRequester, RequestOut), both, Inconclusive},
		{"the requester's sights, all the evidence", fails(TapRequester, RequestOut), [2]bool{}, Inconclusive},
		{"sights of both taps", fails(TapRequester, Requests), b, Inconclusive},
		{"needs both taps", fails(Both, RequestOut), b, Inconclusive},
		{"fates", fails(TapRequester|Fates, RequestOut), b, Inconclusive},
		{"packets of no connection", fails(TapRequester, RequestOut|Foreign), b, Inconclusive},
		{"frames, the sender's tap", fails(Frames, Emitted), a, Fail},
		{"frames, the other tap", fails(Frames, Emitted), b, Fail},
		{"frames, both taps", fails(Frames, Emitted), both, Inconclusive},
	} {
		h := testHeader(1)
		h.Conns[0].Doubts[trace.A] = &trace.Doubt{Fails: validity.Capture, Why: "missing", At: c.at}
		j := NewJudge(h, []Rule{c.rule}, Options{})
		play(j, 0, trace.A, roce.SendOnly)
		switch v := j.Verdicts()[0]; {
		case v.Status != c.want:
			t.Errorf("%s: %v (%s), want %v", c.name, v.Status, v.Reason, c.want)
		case v.Status == Fail && v.Total != 1:
			t.Errorf("%s: %d findings for one frame", c.name, v.Total)
		}
	}
}

// TestDoubtThatEnds: what is seen after a doubt about the beginning of a capture has ended is a proof; an absence is
// none, because it may have begun before.
func TestDoubtThatEnds(t *testing.T) {
	r := Rule{ID: "T-A-001", Level: Must, Needs: TapRequester, Sees: RequestOut, Stimulus: "any"}
	seen, absent := r, r
	seen.New = func(c *Context) Check { return Check{Sight: func(*Sight) { c.Fail(Requester, "no") }} }
	absent.New = func(c *Context) Check {
		return Check{End: func(at vtime.Time) { c.FailAt(at, NoRecord, Requester, "none") }}
	}
	frame := seen
	frame.Rests = validity.Frames
	for _, c := range []struct {
		name  string
		rule  Rule
		until vtime.Time
		at    [2]bool
		want  int
	}{
		{"seen after it", seen, 1, [2]bool{}, 2},
		{"seen before it", seen, vtime.Time(vtime.Second), [2]bool{}, 0},
		{"seen before it by another tap", seen, vtime.Time(vtime.Second), [2]bool{false, true}, 3},
		{"frames", frame, vtime.Time(vtime.Second), [2]bool{}, 3},
		{"absent", absent, 1, [2]bool{}, 0},
	} {
		h := testHeader(1)
		h.Conns[0].Doubts[trace.A] = &trace.Doubt{Fails: validity.Capture, Why: "before", At: c.at, Until: c.until}
		j := NewJudge(h, []Rule{c.rule}, Options{})
		play(j, 0, trace.A, roce.SendOnly, roce.SendOnly, roce.SendOnly)
		if v := j.Verdicts()[0]; v.Total != c.want || v.Total == 0 && (v.Status != Inconclusive || v.Reason != "before") {
			t.Errorf("%s: %d findings, %v (%s); want %d", c.name, v.Total, v.Status, v.Reason, c.want)
		}
	}
}
