package netns

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

const us, ms = vtime.Microsecond, vtime.Millisecond

func at(d vtime.Duration) vtime.Time { return vtime.Time(d) }

func mustSpec(t *testing.T, text string) *scenario.Spec {
	t.Helper()
	s, err := scenario.Parse(strings.NewReader(text))
	must(t, err)
	return s
}

// A stall of the host does not hide the rate of the line, and a wrong rate does not look right.
func TestPaceSeesThroughStalls(t *testing.T) {
	train := func(n int, step vtime.Duration, late func(i int) vtime.Duration) (list []arrival) {
		for i := range n {
			list = append(list, arrival{psn.PSN(1000 + i), at(vtime.Duration(i)*step + late(i))})
		}
		return list
	}
	stall := func(from, n int) func(int) vtime.Duration { // a thread slept, and caught up
		return func(i int) vtime.Duration {
			if i >= from && i < from+n {
				return vtime.Duration(from+n-i) * 10 * us
			}
			return 0
		}
	}
	for _, c := range []struct {
		name  string
		train []arrival
		step  vtime.Duration // by the Spec
		want  float64        // packets per step of the Spec
	}{
		{"steady", train(300, 10*us, stall(0, 0)), 10 * us, 1},
		{"stalled at the start", train(300, 10*us, stall(0, 50)), 10 * us, 1},
		{"stalled at the end", train(300, 10*us, stall(250, 50)), 10 * us, 1},
		{"stalled in the middle", train(300, 10*us, stall(100, 100)), 10 * us, 1},
		{"a slow line", train(300, 11*us, stall(0, 0)), 10 * us, 10.0 / 11},
		{"a fast line", train(300, 9*us, stall(0, 50)), 10 * us, 10.0 / 9},
	} {
		b := pace(c.train, c.step)
		got := float64(b.Arrived-1) * float64(c.step) / float64(b.Span)
		if got < c.want*0.999 || got > c.want*1.001 {
			t.Errorf("%s: %.4f of the rate, want %.4f (%+v)", c.name, got, c.want, b)
		}
	}
	if b := pace(train(2, us, stall(0, 0)), us); b.Span != 0 || b.Arrived != 2 {
		t.Errorf("two packets: %+v", b)
	}
}

func TestCensus(t *testing.T) {
	c := &census{}
	sent := vtime.Time(0)
	see := func(fate trace.Fate, delay vtime.Duration, change func(*trace.Record)) {
		sent = sent.Add(10 * us)
		r := &trace.Record{Sent: sent, Recv: sent.Add(delay), Fate: fate}
		if fate == trace.Dropped || fate == trace.Unknown {
			r.Recv = vtime.Never
		}
		if change != nil {
			change(r)
		}
		c.Packet(r)
	}
	cause := func(text string) func(*trace.Record) { return func(r *trace.Record) { r.Cause = text } }
	see(trace.Delivered, ms, nil)
	see(trace.Dropped, 0, cause("loss"))
	see(trace.Dropped, 0, cause("loss"))
	see(trace.Dropped, 0, cause("drop[0]")) // scripted: not the work of the loss process
	see(trace.Dropped, 0, cause("queue"))
	see(trace.Delivered, ms, nil)
	see(trace.Delivered, 5*ms, cause("delay[0]")) // overtaken on purpose
	see(trace.Delivered, ms, nil)
	see(trace.Delivered, ms-15*us, nil) // overtakes
	see(trace.Corrupted, ms, cause("corrupt"))
	see(trace.Corrupted, ms, cause("corrupt[1]"))
	see(trace.Delivered, ms, func(r *trace.Record) { r.Copy, r.Cause = true, "duplicate" })
	see(trace.Delivered, ms, func(r *trace.Record) { r.Copy, r.Cause = true, "dup[0]" })
	see(trace.Injected, ms, cause("inject"))
	see(trace.Unknown, 0, cause("capture"))
	want := pathCount{
		losses:  certify.Losses{Sent: 10, Lost: 2, Runs: 1, Over: 140 * us},
		changes: certify.Changes{Delivered: 7, Reordered: 1, Duplicated: 1, Corrupted: 1},
		unknown: 1, made: 1, frames: 15,
	}
	got := c.paths[trace.A]
	got.first, got.inRun, got.newest, got.seen = 0, false, 0, false
	if d := cmp.Diff(want, got, cmp.AllowUnexported(pathCount{})); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// The trace ends at the cut: nothing later is in it, except the comparison of memory, which then happens at the cut.
func TestWeaveEndsAtTheCut(t *testing.T) {
	var cut trace.Collector
	w := &weave{sinks: []trace.Sink{&cut}, cut: 100, events: []trace.Event{
		{At: 10, Value: 1}, {At: 50, Value: 2}, {At: 99, Value: 3}, {At: 101, Value: 4}, {At: 500, Kind: trace.Memory, Value: 5},
	}}
	for _, sent := range []vtime.Time{20, 50, 100, 101, 300} {
		w.Packet(&trace.Record{Sent: sent, Recv: sent + 40})
	}
	w.End(340)
	if len(cut.Records) != 3 || cut.Ended != 100 {
		t.Errorf("%d records until the cut, end at %d", len(cut.Records), cut.Ended)
	}
	var values []int64
	for _, e := range cut.Events {
		values = append(values, e.Value)
	}
	if d := cmp.Diff([]int64{1, 2, 3, 5}, values); d != "" || cut.Events[3].At != 100 {
		t.Errorf("events %s", d)
	}
}

// The line is never faster than its rate, catches up after a late wake-up, and not after a rest.
func TestPacer(t *testing.T) {
	p := newPacer(100 * unit.Mbps)
	const frame = 1106 // 88.48 us
	burst := func(now vtime.Time) (n int) {
		for ; p.ready(now); n++ {
			p.spend(now, frame)
		}
		return n
	}
	if n := burst(at(10 * ms)); n < 1 || n > 13 {
		t.Errorf("%d packets at the start", n)
	}
	if n := burst(at(10*ms + 5*885*us/10)); n < 4 || n > 6 {
		t.Errorf("%d packets after 442 us", n)
	}
	if n := burst(at(20 * ms)); n < 11 || n > 13 {
		t.Errorf("%d packets after a stall of 10 ms, want what fits 1 ms", n)
	}
	p.rest()
	if n := burst(at(30 * ms)); n != 1 {
		t.Errorf("%d packets after a rest", n)
	}
	if free := newPacer(0); !free.ready(0) {
		t.Error("an unlimited line is busy")
	}
}

// A spool comes back as it was written, without what came before the run, up to where a full disk cut it.
func TestSpool(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "spool")
	must(t, err)
	defer f.Close()
	tap := &tap{place: capture.Tap{Side: trace.B}, file: f, out: bufio.NewWriter(f)}
	for i, p := range []packetio.Packet{
		{Time: at(5 * ms), Data: []byte("early")}, {Time: at(10 * ms), Data: []byte("first"), Outgoing: true},
		{Time: at(14 * ms), Data: []byte("answer"), Outgoing: true}, // it overtook what it answers
		{Time: at(12 * ms), Data: bytes.Repeat([]byte{7}, 9000)}, {Time: at(15 * ms), Data: []byte("cut")},
	} {
		if err := tap.spool(&p); err != nil {
			t.Fatal(i, err)
		}
	}
	must(t, tap.out.Flush())
	end, err := f.Seek(0, io.SeekCurrent)
	must(t, err)
	must(t, f.Truncate(end-1))
	zero := time.Unix(1000, 0)
	src, err := tap.source(zero, at(10*ms))
	must(t, err)
	var frame capture.Frame
	must(t, src.Next(&frame))
	if string(frame.Raw) != "first" || !frame.Wall.Equal(zero) || frame.Way != capture.Outward || frame.Tap != trace.B {
		t.Errorf("%+v", frame)
	}
	must(t, src.Next(&frame))
	if len(frame.Raw) != 9000 || frame.Raw[8999] != 7 || frame.Way != capture.Inward || frame.Wall.Sub(zero) != 2*time.Millisecond {
		t.Errorf("%d bytes at %s", len(frame.Raw), frame.Wall.Sub(zero))
	}
	must(t, src.Next(&frame))
	if string(frame.Raw) != "answer" {
		t.Errorf("%q", frame.Raw)
	}
	if err := src.Next(&frame); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// The choice of the link is never silent, and a wish that cannot be fulfilled names the remedy.
func TestChooseLink(t *testing.T) {
	const load = "load write msg=1KiB count=1\n"
	for _, c := range []struct{ link, text, why, err string }{
		{"relay", load, "as asked for", ""},
		{"auto", load + "drop A psn=+1\n", "user-space relay, because netem has no scripted faults", ""},
		{"auto", load + "inject B at=1us : WRITE_ONLY psn=+3 len=8 dmalen=8\n", "user-space relay, because netem has no crafted packets", ""},
		{"auto", load + "loss burst p=1e-4 len=8 h=0.3\n", "user-space relay, because netem has no ", ""},
		{"tin", load, "", `link "tin": want auto, netem or relay`},
	} {
		netem, why, err := chooseLink(&bench.Job{Spec: mustSpec(t, c.text), Link: c.link})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s %q: %v", c.link, c.text, err)
			}
			continue
		}
		if err != nil || netem || !strings.Contains(why, c.why) {
			t.Errorf("%s %q: netem %t, %q %v", c.link, c.text, netem, why, err)
		}
	}
}

// The window of the merger covers the way over the link and through its queue, within reason.
func TestWindow(t *testing.T) {
	for text, want := range map[string]vtime.Duration{
		"link delay=10ms\n":                         520 * ms,
		"link rate=1M delay=10ms queue=100\n":       520*ms + 2*100*(1024+90)*8*us,
		"link delay=10ms\ndelay A psn=+1 by=40ms\n": 560 * ms,
		"link rate=1M delay=10ms queue=999999\n":    maxWindow,
	} {
		s := &session{job: &bench.Job{Spec: mustSpec(t, text+"load write msg=1KiB count=1\n")}}
		if got := s.window(); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// An endpoint process refuses what it cannot run in a sentence, and ends with its input.
func TestEndpointRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"":                                       "",
		"nonsense\n":                             "order ",
		`{"op":"setup","contract":9}` + "\n":     "contract version 9; this program speaks 1",
		`{"op":"param","name":"no_such"}` + "\n": `parameter "no_such": gbn has none of that name: not supported`,
		`{"op":"dance"}` + "\n":                  `order "dance" is not known: not supported`,
		`{"op":"prepare"}` + "\n":                "prepare before setup",
	} {
		r, w, err := os.Pipe()
		must(t, err)
		_, _ = w.WriteString(in)
		w.Close()
		var out bytes.Buffer
		err = EndpointMain(r, &out, "gbn", func(string) (engine.Implementation, bool) {
			return engine.Implementation{Name: "gbn", Recover: "gbn"}, true
		})
		r.Close()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(out.String(), `"event":"error"`)) {
			t.Errorf("%q: %v, says %s", in, err, out.String())
		}
	}
}

// A host that lets an endpoint wait for longer than the rules allow makes the run INVALID, and no host that keeps within it.
func TestHostIsJudgedByWhatRulesAllow(t *testing.T) {
	if promptLeast != rule.Drain {
		t.Errorf("an endpoint may wait for %v, and rules allow it %v", promptLeast, rule.Drain)
	}
}
