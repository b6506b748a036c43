package rule

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

func header(rate unit.Rate, conns int, known bool) *trace.Header {
	h := &trace.Header{Conns: make([]trace.Conn, conns)}
	for i := range h.Conns {
		h.Conns[i].Ends[trace.A] = trace.End{Known: known, QP: engine.QP{MTU: 1024, Path: engine.Path{Rate: rate}}}
	}
	return h
}

// At 100 Mb/s a full packet takes 90 us: sending each 150 us is busy, a gap of 300 us is not.
func TestPortIsBusyWithoutAPause(t *testing.T) {
	const us = vtime.Time(vtime.Microsecond)
	p := newPort(header(100*unit.Mbps, 5, true), trace.A)
	for at := 1000 * us; at <= 4000*us; at += 150 * us {
		p.sent(at, 1024)
	}
	for _, c := range []struct {
		then, now vtime.Time
		want      bool
	}{{1000 * us, 4000 * us, true}, {1500 * us, 4200 * us, true}, {999 * us, 4000 * us, false},
		{1500 * us, 4300 * us, false}} {
		if got := p.Busy(c.then, c.now); got != c.want {
			t.Errorf("busy from %v to %v: %v", c.then, c.now, got)
		}
	}
	if p.sent(4300*us, 1024); p.Busy(4000*us, 4300*us) || !p.Busy(4300*us, 4300*us) {
		t.Error("the pause was not seen")
	}
	if want := 10 * (100 * unit.Mbps).Time(1128); p.Turn != want {
		t.Errorf("a turn of five takes %v, want %v", p.Turn, want)
	}
}

// A packet of a QP waits for the repair packets of the block before it, each in a turn of its own, where a shim codes
// blocks; the depth is what the QP is configured with, or the default.
func TestPortWaitsForRepairPackets(t *testing.T) {
	const turn = 40 * vtime.Duration(90240*vtime.Nanosecond) // of 20 QPs, for two packets of 1128 bytes each
	for _, c := range []struct {
		features []string
		params   map[string]string
		turns    vtime.Duration
	}{{[]string{"rc"}, map[string]string{"c": "8"}, 1}, {[]string{"rc", CodesBlocks}, nil, 2},
		{[]string{"rc", CodesBlocks}, map[string]string{"c": "8"}, 9}} {
		h := header(100*unit.Mbps, 20, true)
		h.Conns[3].Ends[trace.A].QP.Params = c.params
		j := NewJudge(*h, nil, Options{Features: c.features})
		if got, want := j.ports[0][trace.A].Wait(), max(Drain, c.turns*turn); got != want {
			t.Errorf("%v %v: a packet waits for %v, want %v", c.features, c.params, got, want)
		}
	}
}

// Retransmissions occupy the line, and so does one answer of the same QP behind each; other answers do not.
func TestAnswersBetweenRetransmissions(t *testing.T) {
	line := unit.Rate(100 * unit.Mbps)
	port := newPort(header(line, 2, true), trace.A)
	turns := make([][2]turn, 2)
	for i, step := range []struct {
		conn    int
		point   trace.Point // of side A
		again   bool
		packets int // that have occupied the line
	}{
		{0, trace.ResponderOut, false, 0}, {0, trace.RequesterOut, true, 1}, {1, trace.RequesterOut, true, 2},
		{0, trace.ResponderOut, false, 3}, {0, trace.ResponderOut, false, 3}, {1, trace.RequesterOut, false, 3},
		{1, trace.ResponderOut, false, 3},
	} {
		c := &Conversation{Index: step.conn, Req: trace.A, Port: &port, PeerPort: &port, turns: &turns[step.conn]}
		if !step.point.AtRequester() {
			c.Req = trace.B
		}
		s := &Sight{Sight: trace.Sight{Rec: &trace.Record{WireBytes: 1000}, Pkt: &roce.Packet{}, Out: true}}
		s.Point = step.point
		if took(c, s); step.again {
			port.again(c, s)
		}
		if want := vtime.Duration(step.packets) * line.Time(1000); port.Again != want {
			t.Errorf("step %d: the line is occupied for %v, want %v", i, port.Again, want)
		}
	}
}

// Where the rate is not known, nothing is excused.
func TestPortOfAnUnknownLineIsNeverBusy(t *testing.T) {
	for _, h := range []*trace.Header{{}, header(0, 1, true), header(unit.Gbps, 1, false)} {
		p := newPort(h, trace.A)
		p.sent(5, 1024)
		p.sent(6, 1024)
		if p.Busy(5, 6) || p.Busy(6, 6) || p.Turn != 0 {
			t.Errorf("%+v", p)
		}
	}
}

// A packet of a capture may have begun to leave as long before its time stamp as the line takes, and a tick of the
// stamps earlier. The line takes no longer than the least time between packets, which may be a tick more than its
// stamps say.
func TestBeganByTicks(t *testing.T) {
	const us = vtime.Microsecond
	for _, c := range []struct{ tick, since, want vtime.Duration }{
		{0, 9 * us, 2 * us}, {0, us, us}, {us, 9 * us, 4 * us}, {us, us, 3 * us}, {us, 0, 2 * us},
	} {
		h := header(0, 1, false)
		h.Bench = trace.FileBench
		p := newPort(h, trace.A)
		p.sent(10*vtime.Time(us), 500)
		p.sent(12*vtime.Time(us), 500)
		x := &Context{Conversation: &Conversation{Port: &p, PeerPort: &p, owner: &Judge{header: *h}}}
		s := &Sight{Sight: trace.Sight{At: 20 * vtime.Time(us), Rec: &trace.Record{WireBytes: 500}},
			Since: c.since, tick: c.tick}
		if got := s.At.Sub(x.Began(s)); got != c.want {
			t.Errorf("tick %v, %v after the packet before: it began %v before, want %v", c.tick, c.since, got, c.want)
		}
	}
}

// TestDepartures: an end knew of a packet when as many packets as it may have handed to its port have left since it
// could know, which may be long after the tap saw the packet.
func TestDepartures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		handed := rapid.IntRange(1, 10).Draw(t, "handed")
		d, now := NewDepartures(handed), vtime.Time(0)
		var left []vtime.Time
		for range rapid.IntRange(0, 40).Draw(t, "packets") {
			now = now.Add(vtime.Duration(rapid.IntRange(0, 3).Draw(t, "gap")) * Drain / 32)
			left = append(left, now)
			d.Left(now)
		}
		since := vtime.Time(0).Add(vtime.Duration(rapid.IntRange(0, 130).Draw(t, "since")) * Drain / 32)
		after := 0
		for _, at := range left {
			if at > since {
				after++
			}
		}
		if got, want := d.Knew(since, now), after >= handed || now >= since.Add(Drain); got != want {
			t.Errorf("Knew is %v, want %v: %d packets of %d have left", got, want, after, handed)
		}
	})
}
