package rule

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/fixture"
)

// findings judges a fixture, which begins at a PSN, by a rule that reports at every answer.
func findings(t *testing.T, start psn.PSN, text string, report func(c *Context, s *Sight)) []Finding {
	t.Helper()
	f, err := fixture.Parse(strings.NewReader(text), start)
	if err != nil {
		t.Fatal(err)
	}
	r := Rule{ID: "X", Level: Must, Sees: ResponseIn, New: func(c *Context) Check {
		return Check{Sight: func(s *Sight) { report(c, s) }}
	}}
	j := NewJudge(f.Header, []Rule{r}, Options{})
	f.Play(trace.NewTimeline(&f.Header, j))
	return j.Verdicts()[0].Findings
}

const twoNAKs = "A>B WRITE_FIRST psn=+0 len=1024 dmalen=3072\nA>B WRITE_MIDDLE psn=+1 len=1024\nB>A ACK psn=+0 " +
	"msn=0\nB>A NAK psn=+1 msn=0 PSN_SEQ_ERR\n"

// TestLine: a finding begins with the packet that shows it, the current one or an earlier one.
func TestLine(t *testing.T) {
	got := findings(t, 7, twoNAKs, func(c *Context, s *Sight) {
		if s.Pkt.AETH.Syndrome.IsNAK() {
			c.Failf(Responder, "want an ACK")
			c.FailAt(s.At, 1, Requester, "not answered")
			c.FailAt(s.At, NoRecord, Requester, "wr=3 never completes")
			c.FailAt(s.At, 100, Requester, "long ago")
		}
	})
	want := []string{"packet 3, B>A NAK psn=+1 PSN_SEQ_ERR: want an ACK",
		"packet 1, A>B WRITE_MIDDLE psn=+1: not answered", "wr=3 never completes", "packet 100: long ago"}
	for i := range want {
		if i >= len(got) || got[i].Line() != want[i] {
			t.Fatalf("%+v, want %q", got, want)
		}
	}
}

// TestWrapped: a finding names the wrap if its PSNs lie on both sides of it, and only then.
func TestWrapped(t *testing.T) {
	const zero = " (across the wrap: psn=+2 is PSN 0)"
	for _, c := range []struct {
		name   string
		start  psn.PSN
		other  int // named beside that of the packet, psn=+1
		suffix string
	}{
		{"both before", psn.Mask - 1, 0, ""}, {"beyond", psn.Mask - 1, 5, zero}, {"PSN 0", psn.Mask - 1, 2, zero},
		{"far from it", 1000, 5, ""},
		{"both beyond", 0, 5, ""}, {"none yet", 0, -1, ""},
	} {
		got := findings(t, c.start, twoNAKs, func(x *Context, s *Sight) {
			if s.Pkt.AETH.Syndrome.IsNAK() {
				x.Fail(Responder, x.Rel(c.start.Add(c.other))+" expected")
			}
		})
		if len(got) != 1 || !strings.HasSuffix(got[0].Text, " expected"+c.suffix) {
			t.Errorf("%s: %+v, want %q", c.name, got, c.suffix)
		}
	}
}

// TestSeenForgets: the memory of packets is bounded, and a forgotten packet has no name.
func TestSeenForgets(t *testing.T) {
	var s seen
	var r trace.Record
	for i := range uint64(seenLimit + 10) {
		s.note(&trace.Sight{Index: i, Rec: &r, Pkt: &r.Packet})
	}
	s.note(&trace.Sight{Index: 3, Rec: &r, Pkt: &r.Packet}) // arrives late
	for record, known := range map[uint64]bool{3: false, 9: false, 10: true, seenLimit + 9: true, seenLimit + 10: false,
		NoRecord: false} {
		if name, _ := s.name(record, 0); (name != "") != known {
			t.Errorf("record %d: %q", record, name)
		}
	}
	if len(s.ring) != seenLimit {
		t.Errorf("%d packets are kept", len(s.ring))
	}
}

// TestFindingsAsJSON: what has no packet has no "record" in JSON.
func TestFindingsAsJSON(t *testing.T) {
	for _, c := range []struct {
		record uint64
		want   string
	}{
		{NoRecord, `{"rule":"RC-CQE-005","blame":"responder","conn":2,"at_ps":7,"text":"seen"}`},
		{0, `{"rule":"RC-CQE-005","blame":"responder","conn":2,"at_ps":7,"text":"seen","record":0}`},
	} {
		f := Finding{Rule: "RC-CQE-005", Blame: Responder, Conn: 2, At: 7, Record: c.record, Text: "seen"}
		b, err := json.Marshal([]Finding{f})
		if got := string(b); err != nil || got != "["+c.want+"]" {
			t.Errorf("record %d: %v, %v", c.record, got, err)
		}
		var back []Finding
		if err := json.Unmarshal(b, &back); err != nil || len(back) != 1 || back[0] != f {
			t.Errorf("record %d comes back as %+v, %v", c.record, back, err)
		}
	}
}
