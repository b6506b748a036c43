package rule

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// testHeader returns a header of n connections with both taps, every report and known attributes.
func testHeader(n int) trace.Header {
	h := trace.Header{Taps: [2]bool{true, true}, Bytes: true, Conns: make([]trace.Conn, n),
		Reports: trace.ReportCQE | trace.ReportStores | trace.ReportTimers | trace.ReportProbes | trace.ReportMemory}
	for i := range h.Conns {
		for side := range h.Conns[i].Ends {
			h.Conns[i].Ends[side] = trace.End{Known: true, QP: engine.QP{MTU: 1024}}
		}
	}
	return h
}

// play passes packets of connection conn to a judge, 1 us apart.
func play(j *Judge, conn int, from trace.Side, ops ...roce.Opcode) {
	t := trace.NewTimeline(&j.header, j)
	for i, op := range ops {
		at := vtime.Time(i) * vtime.Time(vtime.Microsecond)
		r := trace.Record{Sent: at, Recv: at + 1, From: from, Conn: conn, Fate: trace.Delivered, ICRC: trace.Good}
		r.Packet.Opcode, r.Packet.PSN = op, psn.PSN(i)
		t.Packet(&r)
	}
	t.End(vtime.Time(vtime.Second))
}

// counting is a rule that is met at every sight.
func counting(sees Class) Rule {
	return Rule{ID: "T-A-001", Level: Must, Sees: sees, Stimulus: "any", New: func(c *Context) Check {
		return Check{Sight: func(*Sight) { c.Met() }}
	}}
}

func TestDispatchByClass(t *testing.T) {
	for _, c := range []struct {
		sees Class
		conn int
		from trace.Side
		op   roce.Opcode
		want int
	}{
		{RequestOut, 0, trace.A, roce.SendOnly, 1},
		{Requests, 0, trace.B, roce.SendOnly, 2},
		{ResponseOut, 0, trace.A, roce.Acknowledge, 1},
		{ResponseIn | RequestIn, 0, trace.B, roce.ReadRespOnly, 1},
		{Responses, 0, trace.A, roce.SendOnly, 0},
		{Foreign, 0, trace.A, roce.CNP, 2},
		{Foreign, 0, trace.A, roce.UDSendOnly, 2},
		{Foreign, -1, trace.A, roce.SendOnly, 2},
		{Requests, -1, trace.A, roce.SendOnly, 0},
		{Emitted, 0, trace.A, roce.SendOnly, 1},
	} {
		j := NewJudge(testHeader(1), []Rule{counting(c.sees)}, Options{})
		play(j, c.conn, c.from, c.op)
		if v := j.Verdicts()[0]; v.Met != c.want {
			t.Errorf("%+v: met %d times", c, v.Met)
		}
	}
}

func TestStatus(t *testing.T) {
	fail := func(level Level) Rule {
		r := counting(Requests)
		r.Level = level
		r.New = func(c *Context) Check { return Check{Sight: func(*Sight) { c.Fail(Responder, "no") }} }
		return r
	}
	with := func(change func(*Rule)) Rule {
		r := counting(Requests)
		change(&r)
		return r
	}
	for _, c := range []struct {
		name     string
		rule     Rule
		status   Status
		reason   string
		required bool
	}{
		{"met", counting(Requests), Pass, "", true},
		{"never met", counting(Responses), Inconclusive, "stimulus not seen: any", true},
		{"MUST broken", fail(Must), Fail, "", true},
		{"SHOULD broken", fail(Should), Fail, "", false},
		{"observation", fail(Observation), Pass, "", false},
		{"feature", with(func(r *Rule) { r.Features = []string{"ud"} }), NotApplicable, "needs feature ud", true},
		{"excused", with(func(r *Rule) { r.Without = "direct" }), NotApplicable,
			"does not apply with feature direct", true},
		{"unbuilt", with(func(r *Rule) { r.Unbuilt, r.New = "two runs", nil }), Inconclusive,
			"not judged: two runs", true},
		{"vantage", with(func(r *Rule) { r.Needs = TapRequester | Timers }), Inconclusive, "needs timer events", true},
	} {
		h := testHeader(1)
		h.Reports &^= trace.ReportTimers
		j := NewJudge(h, []Rule{c.rule}, Options{Features: []string{"rc", "direct"}})
		play(j, 0, trace.A, roce.SendOnly)
		v := j.Verdicts()[0]
		if v.Status != c.status || v.Reason != c.reason || v.Required != c.required {
			t.Errorf("%s: %v %q required=%v", c.name, v.Status, v.Reason, v.Required)
		}
	}
}

// TestBlackBox: for a device without reports, rules that need its inside do not apply; rules that packets may still
// decide are inconclusive.
func TestBlackBox(t *testing.T) {
	inside, outside := counting(Responses), counting(Responses)
	inside.Needs, outside.Needs = Completions, TapResponder
	h := testHeader(1)
	h.Reports = 0
	for _, c := range []struct {
		blackBox bool
		want     Status
	}{{true, NotApplicable}, {false, Inconclusive}} {
		j := NewJudge(h, []Rule{inside, outside}, Options{BlackBox: c.blackBox})
		play(j, 0, trace.A, roce.WriteOnly)
		v := j.Verdicts()
		if v[0].Status != c.want || !strings.Contains(v[0].Reason, "completion events") || v[1].Status != Inconclusive {
			t.Errorf("black box %v: %v %q and %v", c.blackBox, v[0].Status, v[0].Reason, v[1].Status)
		}
	}
}

func TestOneTapRefusesRulesOfTheOther(t *testing.T) {
	h := testHeader(1)
	h.Taps[trace.B] = false
	r := counting(Responses)
	r.Needs = TapResponder
	j := NewJudge(h, []Rule{r}, Options{})
	play(j, 0, trace.A, roce.SendOnly)
	if v := j.Verdicts()[0]; v.Status != Inconclusive || v.Reason != "needs the responder's tap" {
		t.Errorf("requests of A, tap at A: %v %q", v.Status, v.Reason)
	}
	j = NewJudge(h, []Rule{r}, Options{})
	play(j, 0, trace.A, roce.Acknowledge) // A answers requests of B: its tap is the responder's
	if v := j.Verdicts()[0]; v.Status != Pass {
		t.Errorf("responses of A, tap at A: %v %q", v.Status, v.Reason)
	}
}

func TestPanicIsAnErrorOfOneRule(t *testing.T) {
	bad := counting(Requests)
	bad.New = func(*Context) Check {
		return Check{Sight: func(s *Sight) { panic("index out of range") }, End: func(vtime.Time) {
			panic("not called")
		}}
	}
	unstarted := counting(Requests)
	unstarted.New = func(*Context) Check { panic("nil map") }
	j := NewJudge(testHeader(1), []Rule{bad, counting(Requests), unstarted}, Options{})
	play(j, 0, trace.A, roce.SendOnly, roce.SendOnly)
	got := j.Verdicts()
	if got[0].Status != Error || !strings.Contains(got[0].Reason, "index out of range") {
		t.Errorf("panicking rule: %v %q", got[0].Status, got[0].Reason)
	}
	if got[1].Status != Pass || got[1].Met != 4 {
		t.Errorf("rule after it: %v, met %d", got[1].Status, got[1].Met)
	}
	if got[2].Status != Error {
		t.Errorf("rule that panics when made: %v", got[2].Status)
	}
}

func TestFindingsAreBoundedAndOrdered(t *testing.T) {
	r := counting(RequestOut)
	r.New = func(c *Context) Check { return Check{Sight: func(*Sight) { c.Failf(Requester, "psn %d", c.MAX) }} }
	j := NewJudge(testHeader(2), []Rule{r}, Options{})
	ops := make([]roce.Opcode, 100)
	play(j, 1, trace.A, ops...)
	play(j, 0, trace.A, ops...)
	v := j.Verdicts()[0]
	if v.Total != 200 || len(v.Findings) != defaultFindings {
		t.Fatalf("total %d, kept %d", v.Total, len(v.Findings))
	}
	if a, b := v.Findings[0], v.Findings[1]; a.Conn != 0 || b.Conn != 1 || a.At != b.At || a.Record != 0 {
		t.Errorf("first findings %+v, %+v", a, b)
	}
}

func TestEventsReachBothHalves(t *testing.T) {
	var seen []string
	r := counting(0)
	r.New = func(c *Context) Check {
		return Check{Event: func(e *trace.Event) {
			seen = append(seen, c.Req.String()+e.Kind.String())
			c.Met()
		}}
	}
	j := NewJudge(testHeader(1), []Rule{r}, Options{})
	j.Event(&trace.Event{Side: trace.B, Kind: trace.Receive})
	j.Event(&trace.Event{Side: trace.A, Kind: trace.Post})
	j.Event(&trace.Event{Side: trace.A, Kind: trace.Probe})
	j.Event(&trace.Event{Side: trace.B, Kind: trace.Fatal})
	want := "Areceive Apost Aprobe Bprobe Afatal Bfatal"
	if got := strings.Join(seen, " "); got != want {
		t.Errorf("events %s, want %s", got, want)
	}
	if !j.halves[0][trace.B].conv.Failed || j.halves[0][trace.A].conv.Failed {
		t.Error("a fatal event fails the requests of its own side only")
	}
}

// TestChecksOfACaptureKnowTheFirstPSN: where no attributes are known, a check is made after the first request.
func TestChecksOfACaptureKnowTheFirstPSN(t *testing.T) {
	h := testHeader(1)
	h.Conns[0] = trace.Conn{}
	r := counting(Requests)
	var begun bool
	r.New = func(c *Context) Check {
		begun = c.Started && c.UNA == c.Start
		return Check{Sight: func(*Sight) {}}
	}
	play(NewJudge(h, []Rule{r}, Options{}), 0, trace.A, roce.SendOnly)
	if !begun {
		t.Error("a check was made before its conversation began")
	}
}

// TestChecksBeforeTheFirstRequest: a capture may begin with a response, and a check that is made then must not take the
// PSNs of the conversation to be half of all away from those that follow.
func TestChecksBeforeTheFirstRequest(t *testing.T) {
	h := testHeader(1)
	h.Conns[0] = trace.Conn{}
	r := counting(Responses)
	var start psn.PSN
	var started bool
	r.New = func(c *Context) Check {
		start, started = c.UNA, c.Started
		return Check{Sight: func(*Sight) {}}
	}
	j := NewJudge(h, []Rule{r}, Options{})
	answer := trace.Record{Sent: 0, Recv: 1, From: trace.B, Fate: trace.Delivered, ICRC: trace.Good}
	answer.Packet.Opcode, answer.Packet.PSN = roce.Acknowledge, psn.Half+7
	in := trace.NewTimeline(&h, j)
	in.Packet(&answer)
	in.End(vtime.Time(vtime.Second))
	if started || start != psn.Half+7 {
		t.Errorf("started %v, at %v", started, start)
	}
}

func TestStatusText(t *testing.T) {
	text, err := json.Marshal([]Status{Pass, NotApplicable, XPass})
	if err != nil || string(text) != `["PASS","NOT-APPLICABLE","XPASS"]` {
		t.Errorf("%s, %v", text, err)
	}
	var back []Status
	if err := json.Unmarshal(text, &back); err != nil || back[1] != NotApplicable {
		t.Errorf("%v, %v", back, err)
	}
	if json.Unmarshal([]byte(`"GREEN"`), new(Status)) == nil {
		t.Error("an unknown status was accepted")
	}
}

// BenchmarkJudge shows a stream of messages of 64 packets, acknowledged one by one, to 60 rules of which each packet
// interests about a third, as in the catalogue. One operation is one sight.
func BenchmarkJudge(b *testing.B) {
	for _, n := range []int{0, 60} {
		b.Run(map[int]string{0: "tracker", 60: "60rules"}[n], func(b *testing.B) { benchmarkJudge(b, n) })
	}
}

func benchmarkJudge(b *testing.B, n int) {
	step := flow(n)
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += 4 {
		step(i / 4)
	}
}

// flow returns a function that passes the i-th packet of a flow and its answer, at both taps, to a judge with n rules
// that has seen 4096 of them.
func flow(n int) (step func(i int)) {
	rules := make([]Rule, n)
	for i := range rules {
		rules[i] = counting(Class(1 << (i % 4)))
	}
	j := NewJudge(testHeader(1), rules, Options{})
	data, reply := trace.Record{ICRC: trace.Good}, trace.Record{ICRC: trace.Good, From: trace.B}
	reply.Packet.Opcode, reply.Packet.AETH.Syndrome = roce.Acknowledge, roce.SyndromeACK
	s := trace.Sight{ICRC: trace.Good}
	show := func(i int) {
		k := i % 64
		data.Packet.Opcode, data.Packet.Len = roce.WriteMiddle, 1024
		switch k {
		case 0:
			data.Packet.Opcode, data.Packet.RETH.DMALen = roce.WriteFirst, 64*1024
		case 63:
			data.Packet.Opcode = roce.WriteLast
		}
		data.Packet.PSN, reply.Packet.PSN = psn.New(uint32(i)), psn.New(uint32(i-500))
		for point := range 4 {
			s.At, s.Index, s.Out = vtime.Time(i), uint64(i), point&1 == 0
			s.Rec, s.Pkt = &data, &data.Packet
			if point > 1 {
				s.Rec, s.Pkt = &reply, &reply.Packet
			}
			j.Sight(&s)
		}
	}
	for i := range 4096 {
		show(i)
	}
	return func(i int) { show(4096 + i) }
}

// TestJudgeAllocatesNothing: a run of 10^7 packets is judged while it is played.
func TestJudgeAllocatesNothing(t *testing.T) {
	step, i := flow(60), 0
	if n := testing.AllocsPerRun(10_000, func() { step(i); i++ }); n != 0 {
		t.Errorf("%v allocations per record, want none", n)
	}
}

// TestBlameHasASide: a finding names the end to blame, and a box in the path counts as side A.
func TestBlameHasASide(t *testing.T) {
	for _, c := range []struct {
		who   Blame
		from  trace.Side
		hop   trace.Hop
		want  string
		count [2]int
	}{
		{Requester, trace.A, trace.Whole, "A", [2]int{1, 0}},
		{Responder, trace.A, trace.Whole, "B", [2]int{0, 1}},
		{Requester, trace.B, trace.Whole, "B", [2]int{0, 1}},
		{Responder, trace.A, trace.LANHop, "A", [2]int{1, 0}},
		{Responder, trace.A, trace.WANHop, "B", [2]int{0, 1}},
		{Channel, trace.A, trace.Whole, "", [2]int{}},
	} {
		h := testHeader(1)
		h.Conns[0].Hop = c.hop
		r := Rule{ID: "T-A-001", Level: Must, Sees: RequestOut, Stimulus: "any", New: func(ctx *Context) Check {
			return Check{Sight: func(*Sight) { ctx.Fail(c.who, "broken") }}
		}}
		j := NewJudge(h, []Rule{r}, Options{})
		play(j, 0, c.from, roce.SendOnly)
		if v := j.Verdicts()[0]; len(v.Findings) != 1 || v.Findings[0].Side != c.want || v.Against != c.count {
			t.Errorf("%s, requester at %s, hop %q: %+v, against %v; want side %q, %v", c.who, c.from, c.hop, v.Findings,
				v.Against, c.want, c.count)
		}
	}
}

// TestBlameForResponsesThatDoNotDecode: such a frame is shown to the half-conversation of its sender's requests. If its
// opcode is that of a response, its sender is to blame as a responder.
func TestBlameForResponsesThatDoNotDecode(t *testing.T) {
	for op, want := range map[roce.Opcode]Blame{roce.Acknowledge: Responder, roce.AtomicAck: Responder,
		roce.SendOnly: Requester, roce.CNP: Requester} {
		r := Rule{ID: "T-A-001", Level: Must, Sees: Foreign, Stimulus: "any", New: func(ctx *Context) Check {
			return Check{Sight: func(*Sight) { ctx.Fail(Requester, "broken") }}
		}}
		j := NewJudge(testHeader(1), []Rule{r}, Options{})
		line := trace.NewTimeline(&j.header, j)
		rec := trace.Record{Recv: 1, From: trace.B, Fate: trace.Delivered, Defect: "roce: payload: too long"}
		rec.Packet.Opcode = op
		line.Packet(&rec)
		line.End(vtime.Time(vtime.Second))
		v := j.Verdicts()[0]
		if len(v.Findings) == 0 || v.Findings[0].Blame != want || v.Findings[0].Side != "B" {
			t.Errorf("%v: %+v, want %s at B", op, v.Findings, want)
		}
	}
}

// A property that does not hold invalidates a FAIL that rests on it, and nothing else.
func TestDoubt(t *testing.T) {
	list := []Verdict{{Status: Fail, Rests: validity.Sequence, Total: 2}, {Status: Fail, Rests: validity.Frames},
		{Status: Pass, Rests: validity.Sequence}, {Status: Fail}}
	Doubt(list, []trace.Doubt{{Fails: validity.Capture, Why: "frames are missing"}})
	for i, want := range []Status{Inconclusive, Fail, Pass, Inconclusive} {
		if v := list[i]; v.Status != want || (v.Reason != "") != (want == Inconclusive) {
			t.Errorf("%d: %v %q, want %v", i, v.Status, v.Reason, want)
		}
	}
}
