package rule

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/fixture"
)

// Where the connections of an end share few slots, and one of its QPs may have given up, what a decoder passes up
// proves nothing against the end. It does when no QP has given up, or the buffers have room for all.
func TestDecoderBesideAQPThatGaveUp(t *testing.T) {
	early := Rule{ID: "X", Sees: RequestIn, Needs: TapResponder, New: func(c *Context) Check {
		return Check{Sight: func(s *Sight) {
			if s.Relation == Ahead {
				c.Fail(Responder, "ahead")
			}
		}}
	}}
	for _, tt := range []struct {
		name, header, of string
		want             Status
	}{
		{"its retries are spent", "param.rob=8 retry=0", "", Inconclusive},
		{"it has retries left", "param.rob=8 retry=1", "", Fail},
		{"it is answered, and goes on", "param.rob=8 retry=0",
			"@2 A>B ACK psn=+0 msn=1\n@9000 B>A ACK psn=+0 msn=1\n", Fail},
		{"there is room for all", "param.rob=64 retry=0", "", Fail},
	} {
		f, err := fixture.Parse(strings.NewReader("qp param.r=8 "+tt.header+"\nqp conn=1\nreports none\n"+`
@0 A>B SEND_ONLY psn=+0 len=7 A
@1 B>A SEND_ONLY psn=+0 len=7 A
`+tt.of+`
@10000 A>B WRITE_FIRST psn=+0 len=1024 conn=1
@10001 A>X WRITE_MIDDLE psn=+1 len=1024 conn=1
@10002 A>B WRITE_MIDDLE psn=+2 len=1024 conn=1
@30000 A>B SEND_ONLY psn=+1 len=7 A`), 0)
		if err != nil {
			t.Fatal(err)
		}
		j := NewJudge(f.Header, []Rule{early}, Options{Features: []string{"rc", CodesBlocks}})
		f.Play(trace.NewTimeline(&f.Header, j))
		if v := j.Verdicts()[0]; v.Status != tt.want || v.Status == Inconclusive && v.Reason != hoarded {
			t.Errorf("%s: %v (%s), want %v", tt.name, v.Status, v.Reason, tt.want)
		}
	}
}
