package datasheet_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/perf/datasheet"
)

// observe runs a scenario and returns the findings about one device, with both ports tapped or only its peer's.
func observe(t *testing.T, text string, device int, taps [2]bool) *datasheet.Findings {
	t.Helper()
	s, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var impls [2]engine.Implementation
	for side, name := range s.Impl {
		impls[side], _ = all.Find(name)
	}
	var r *datasheet.Reader
	job, err := bench.NewJob(s, impls)
	if err != nil {
		t.Fatal(err)
	}
	job.Bytes, job.Open = true, func(h trace.Header) (trace.Sink, error) {
		h.Taps = taps
		r = datasheet.NewReader(&h)
		return trace.NewTimeline(&h, r), nil
	}
	if _, err = (sim.Bench{}).Run(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	return r.Findings(device)
}

var both = [2]bool{true, true}

const (
	a = datasheet.DeviceA
	b = datasheet.DeviceB
)

// loss is a steady flow with single losses.
const loss = "link rate=1G delay=1ms\nqp rto=50ms\ndrop A psn=+100 tx=1\ndrop A psn=+500 tx=1\nload write " +
	"msg=16KiB count=60\n"

// lostAgain loses a packet and its retransmission while later packets are outstanding.
const lostAgain = "link rate=1G delay=1ms\nqp rto=50ms\ndrop A psn=+3 tx=1\ndrop A psn=+3 " +
	"tx=2\npost-write wr=1 len=16KiB\n"

const blackHole = "link rate=1G delay=1ms\ndrop A count=*\npost-write wr=1 len=64\nrun for=5s\n"

const notReady = "link rate=1G delay=1ms\nqp rto=60ms\nqp receives=0\npost-send wr=1 len=100\nrun for=5s\n"

// TestKnownParameters sets parameters of engines and finds their values from the packets.
func TestKnownParameters(t *testing.T) {
	for _, c := range []struct {
		name, text string
		device     int
		row, want  string
	}{
		{"go-back-N", "impl gbn\n" + loss, a, "recovery", "go-back-N"},
		{"go-back-N resends all", "impl gbn\n" + loss, a, "resent on NAK", "everything from there on"},
		{"one NAK", "impl gbn\n" + loss, b, "NAKs per gap", "one"},
		{"repeated NAK", "impl gbn\nparam nack_interval=500us\n" + loss, b, "NAKs per gap", "4"},
		{"NAK latency", "impl gbn\n" + loss, b, "NAK latency", "688 ns"},
		{"selective", "impl irn\n" + loss, a, "recovery", "selective"},
		{"one packet", "impl irn\n" + loss, a, "resent on NAK", "one packet"},
		{"NAK each", "impl irn\n" + loss, b, "NAKs per gap", "one for each early packet"},
		{"RACK each", "impl gobackone\n" + loss, b, "NAKs per gap", "one for each early packet"},
		{"repair", "impl lowar\n" + loss, b, "recovery", "after repair packets for 2 of the losses"},
		{"timer", "impl gbn\nqp rto=40ms retry=3\n" + blackHole, a, "timeouts", "3 × 40 ms"},
		{"timer code", "impl irn\nqp timeout=12 retry=2\n" + blackHole, a, "timeouts", "2 × 16.8 ms"},
		{"TCP backs off", "impl rciwarp\n" + blackHole, a, "timeouts", "1 s, 2 s"},
		{"retry", "impl gbn\nqp rto=40ms retry=3\n" + blackHole, a, "retry limit", "gives up after 3 timeouts"},
		{"retry forever", "impl gbn\nparam rxe_infinite7=true\nqp rto=400ms retry=7\n" + blackHole, a,
			"retry limit", "more than"},
		{"timer goes back", "impl gbn\n" + lostAgain, a, "resent on timeout", "everything from there on"},
		{"timer selects", "impl irn\n" + lostAgain, a, "resent on timeout", "one packet"},
		{"timer after one", "impl gobackone\nparam rto=one\n" + lostAgain, a, "resent on timeout", "one packet"},
		{"RNR code", "impl gbn\nqp min-rnr=16\n" + notReady, b, "RNR code sent", "16 (2.56 ms)"},
		{"RNR wait", "impl gbn\nqp min-rnr=16\n" + notReady, a, "RNR wait", "2.56 ms"},
		{"RNR retries", "impl gbn\nqp rnr=4\n" + notReady, a, "RNR retry limit", "gives up after 4 RNR NAKs"},
		{"READ at once", "impl gbn\nlink delay=1ms rate=1G\ndrop B psn=+3\npost-read len=16KiB\n", a,
			"READ gap to request", "784 ns"},
		{"READ before others", "impl gbn\nlink delay=1ms rate=1G\ndrop B psn=+3\npost-read " +
			"len=4096\npost-read len=4096\n", a, "READ gap to request", "784 ns"},
		{"READ by timer", "impl gbn\nparam read_gap=wait\nqp rto=30ms\nlink delay=1ms rate=1G\ndrop B " +
			"psn=+3\npost-read len=16KiB\n", a, "READ gap to request", "30.0 ms"},
		{"AckReq", "impl gbn\nqp ackreq=10\nload write msg=30KiB count=4\n", a, "AckReq", "at most 10 packets"},
		{"coalescing", "impl gbn\nparam ack_delay=1ms\nqp coalesce=4\nlink rate=1G delay=1ms\nload " +
			"write msg=512 count=80\n", b, "requests per ACK", "4"},
		{"depth", "impl gbn\nqp qd=24\nlink rate=10G delay=5ms\nload write msg=512 count=200\n", a,
			"messages in flight", "24, where it waited"},
		{"cap", "impl irn\nparam cap=77\nlink rate=10G delay=5ms\nload write msg=64KiB count=20\n", a,
			"packets in flight", "77, where it waited"},
		{"no cap", "impl gbn\nlink rate=10G delay=5ms queue=10000\nload write msg=64KiB count=20\n", a,
			"packets in flight", "was not seen to wait"},
	} {
		f := observe(t, c.text, c.device, both)
		row := datasheet.New("x", nil, f).Find(c.row)
		if !strings.Contains(row.Value, c.want) || row.Seen == 0 {
			t.Errorf("%s: %s is %q, seen %d times; want %q", c.name, c.row, row.Value, row.Seen, c.want)
		}
	}
}

// TestOneTap makes the sheet of a device from the capture at its peer: counts are the same, and times grow by the round
// trip.
func TestOneTap(t *testing.T) {
	near := datasheet.New("near", nil, observe(t, "impl gbn\n"+loss, b, both))
	far := datasheet.New("far", nil, observe(t, "impl gbn\n"+loss, b, [2]bool{true, false}))
	if n, f := near.Find("ACK delay").Times[0], far.Find("ACK delay").Times[0]; f-n < 2e6 || f-n > 2.1e6 {
		t.Errorf("an ACK takes %d ns at the device and %d ns at its peer, 2 ms away", n, f)
	}
	if got := far.Find("transport").Value; !strings.Contains(got, "not tapped at its own port") {
		t.Errorf("transport: %q does not say that the times hold the way", got)
	}
}

func TestDiff(t *testing.T) {
	sheet := func(text string) *datasheet.Sheet {
		return datasheet.New("x", nil, observe(t, text+blackHole, a, both))
	}
	first := sheet("impl gbn\nqp rto=40ms retry=3\n")
	for _, c := range []struct{ name, text, want string }{
		{"itself", "impl gbn\nqp rto=40ms retry=3\n", ""},
		{"within the tolerance", "impl gbn\nqp rto=42ms retry=3\n", ""},
		{"slower", "impl gbn\nqp rto=50ms retry=3\n", "timeouts"},
		{"gives up earlier", "impl gbn\nqp rto=40ms retry=2\n", "timeouts, retry limit"},
	} {
		var names []string
		for _, d := range datasheet.Diff(first, sheet(c.text)) {
			names = append(names, d.Name)
		}
		if got := strings.Join(names, ", "); got != c.want {
			t.Errorf("%s: differs in %q, want %q", c.name, got, c.want)
		}
	}
}

// TestWrite: a sheet names the rows that no trace showed.
func TestWrite(t *testing.T) {
	var out bytes.Buffer
	if err := datasheet.New("x", nil, observe(t, "impl gbn\n"+blackHole, a, both)).Write(&out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "not seen: recovery, NAKs per gap") || !strings.Contains(got,
		"gives up after 7 timeouts") {
		t.Errorf("sheet:\n%s", got)
	}
}

// TestReasons: the reasons of a goodput are counted at every occurrence, not only at the longest.
func TestReasons(t *testing.T) {
	r := observe(t, "impl gbn\n"+lostAgain, a, both).Reasons()
	for _, c := range []struct {
		name string
		got  datasheet.Range
		want datasheet.Range
	}{
		{"packets sent again for a NAK", r.GoneBack, datasheet.Range{Seen: 1, Least: 13, Median: 13,
			Greatest: 13, Sum: 13}},
		{"packets sent again after a timeout", r.AfterTimer, datasheet.Range{Seen: 1, Least: 13, Median: 13,
			Greatest: 13, Sum: 13}},
		{"packets from one AckReq to the next", r.AckReqEvery, datasheet.Range{Seen: 1, Least: 16, Median: 16,
			Greatest: 16, Sum: 16}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, c.got, c.want)
		}
	}
	if r.Window.Most != 16 || r.Timeouts.Seen != 1 || r.Timeouts.Median < 40e6 || r.Timeouts.Sum != r.Timeouts.Median ||
		r.Answered.Seen != 1 {
		t.Errorf("%+v; want a window of 16 packets, and one NAK and one timeout of 50 ms", r)
	}
	twice := observe(t, "impl gbn\n"+lostAgain, a, both)
	twice.Add(twice)
	if got := twice.Reasons().Timeouts; got.Seen != 2 || got.Sum != 2*r.Timeouts.Sum {
		t.Errorf("twice the trace gives %+v", got)
	}
}
