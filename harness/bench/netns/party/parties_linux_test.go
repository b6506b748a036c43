package party

import (
	"errors"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/child"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// The progress of a run is that of the slower endpoint, and a run is done when its middlebox is idle, too.
func TestPartiesAddUp(t *testing.T) {
	a, b, box := named("endpoint A"), named("endpoint B"), named("box")
	p := &Parties{Ends: [2]*Party{a, b}, Box: box}
	say := func(e *Party, r contract.Report) {
		t.Helper()
		if err := e.Hear(Answer{Report: r}, true); err != nil {
			t.Error(err)
		}
	}
	say(a, contract.Report{Event: contract.SaysIdle})
	say(b, contract.Report{Event: contract.SaysShare, Share: 0.25})
	say(b, contract.Report{Event: contract.SaysCounter, Variable: "unknown", Value: 3})
	if got := p.Share(); got != 0.25 || p.Idle() {
		t.Errorf("share %v, idle %t", got, p.Idle())
	}
	if got := p.Late(); len(got) != 2 || got[0] != b || got[1] != box {
		t.Errorf("%v", got)
	}
	if got := p.Moved(); got != 2 { // A is idle, B has done a quarter
		t.Errorf("%d moves", got)
	}
	say(b, contract.Report{Event: contract.SaysIdle})
	if p.Idle() {
		t.Error("idle, although the box has work left")
	}
	say(box, contract.Report{Event: contract.SaysIdle})
	if !p.Idle() || p.Share() != 1 || b.Counters["unknown"] != 3 {
		t.Errorf("idle %t, share %v, counters %v", p.Idle(), p.Share(), b.Counters)
	}
	if alone := (&Parties{Ends: [2]*Party{a, nil}}); len(alone.All()) != 1 || alone.Ends[1].Said() != nil {
		t.Error("where a device stands there is a program")
	}
}

// What an end did not live to write to its file proves nothing; what the other end says still counts.
func TestUnsaid(t *testing.T) {
	of := func(reports, event string) *Party {
		return &Party{Caps: &contract.Capabilities{Reports: reports}, End: contract.Report{Event: event}}
	}
	whole, cut, lines := of("cqe file", contract.SaysStopped), of("cqe file", ""), of("cqe", "")
	for _, c := range []struct {
		ends      [2]*Party
		all, a, b trace.Reports
	}{
		{[2]*Party{whole, lines}, trace.ReportCQE, 0, 0},
		{[2]*Party{whole, cut}, 0, trace.ReportCQE, 0},
		{[2]*Party{cut, lines}, 0, 0, trace.ReportCQE},
		{[2]*Party{cut, cut}, 0, 0, 0},
		{[2]*Party{nil, cut}, 0, 0, 0},
	} {
		h := trace.Header{Reports: trace.ReportCQE, Conns: make([]trace.Conn, 1)}
		(&Parties{Ends: c.ends}).Unsaid(&h)
		if ends := &h.Conns[0].Ends; h.Reports != c.all || ends[0].Reports != c.a || ends[1].Reports != c.b {
			t.Errorf("%v, at A %v, at B %v; want %v, %v, %v", h.Reports, ends[0].Reports, ends[1].Reports, c.all, c.a, c.b)
		}
	}
}

// A program over datagrams says what it declares and loses by its file, or by lines that it declares.
func TestSilent(t *testing.T) {
	of := func(recovery, reports string) *Party {
		return &Party{Caps: &contract.Capabilities{Recovery: recovery, Reports: reports}}
	}
	silent, file, lines := of("iwarp-ud", "cqe"), of("iwarp-ud", "cqe file"), of("iwarp-ud", "cqe datagrams")
	for _, c := range []struct {
		ends [2]*Party
		want bool
	}{{[2]*Party{file, silent}, true}, {[2]*Party{file, lines}, false}, {[2]*Party{of("gbn", "cqe"), nil}, false}} {
		if got := (&Parties{Ends: c.ends}).Silent(); got != c.want {
			t.Errorf("%t, want %t", got, c.want)
		}
	}
}

// An impossible report is refused in a sentence, and a possible one becomes an event in the time of the run.
func TestReportsAreHeldToTheRun(t *testing.T) {
	start := packetio.Monotonic() - 1000
	for _, c := range []struct {
		at   int64
		qp   int
		want string
	}{{start + 500, 0, ""}, {start + 500, 2, "qp 2; it has 0 to 1"}, {start - 1, 0, "before the start"},
		{start + 1<<50, 1, "has not come yet"}} {
		e := named("endpoint A")
		e.qps, e.base = 2, packetio.Timebase{Start: start, Dilation: 2}
		err := e.Hear(Answer{Report: contract.Report{Event: contract.SaysCompleted, OnQP: c.qp, At: c.at,
			Operation: "SEND", Status: "success"}}, true)
		if c.want == "" {
			if err != nil || len(e.told) != 1 || e.told[0].At != 250_000 {
				t.Errorf("%v, %+v", err, e.told)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) || len(e.told) != 0 {
			t.Errorf("at %d on QP %d: %v, want %q", c.at, c.qp, err, c.want)
		}
	}
}

// What a program says of its requests after idle, and an excuse that is longer than the run, are its fault.
func TestReportsThatContradict(t *testing.T) {
	start := packetio.Monotonic() - 1_000_000
	e := named("endpoint A")
	e.Caps, e.fault, e.qps = &contract.Capabilities{Reports: "cqe"}, blamed, 1
	e.base, e.begun = packetio.Timebase{Start: start, Dilation: 1}, true
	for _, c := range []struct{ event, want string }{{contract.SaysCompleted, ""}, {contract.SaysIdle, ""},
		{contract.SaysReceived, "wr=7 is received, of 0 that were posted"},
		{contract.SaysPosted, "wr=7 is posted after idle"}, {contract.SaysBusy, ""},
		{contract.SaysPosted, ""}, {contract.SaysIdle, ""}, {contract.SaysCompleted, "wr=7 is completed after idle"}} {
		err := e.Hear(Answer{Report: contract.Report{Event: c.event, WR: 7, At: start + 500, Operation: "SEND"}}, true)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.event, err, c.want)
		}
	}
	for _, c := range []struct {
		end  contract.Report
		want string
	}{{contract.Report{Late: 500, Starved: 500, Processor: 500}, ""}, {contract.Report{Late: -1}, "late_ns is -1"},
		{contract.Report{Processor: -1}, "cpu_ns is -1"}, {contract.Report{Processor: 1 << 62}, "cpu_ns is"},
		{contract.Report{Starved: 1 << 50}, "starved_ns is"}, {contract.Report{Memory: []byte("{}")}, "memory"}} {
		e.End = c.end
		if err := e.credible(); c.want == "" && err != nil ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.end, err, c.want)
		}
	}
}

// A program under test takes, or is too slow to take, the frames that came, and no others.
func TestDroppedFramesCame(t *testing.T) {
	e := named("endpoint A")
	for _, c := range []struct {
		fault            func(error) error
		dropped, arrived uint64
		want             bool
	}{{blamed, 100, 100, true}, {blamed, 100 + earlyFrames, 100, true}, {blamed, 101 + earlyFrames, 100, false},
		{blamed, 1 << 60, 100, false}, {nil, 1 << 60, 100, true}} {
		e.fault, e.End.Dropped = c.fault, c.dropped
		if err := e.Took(c.arrived); (err == nil) != c.want || err != nil && !errors.Is(err, errFault) {
			t.Errorf("dropped %d of %d: %v", c.dropped, c.arrived, err)
		}
	}
}

func named(name string) *Party {
	return &Party{Child: &child.Child{Name: name}, Counters: map[string]int64{}}
}
