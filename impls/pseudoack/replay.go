package pseudoack

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// replay is the READs and atomics that Local has asked for again although all of their answers have passed the box: the
// LAN has lost them. The box keeps no data, so Remote has to replay them, and until it has, Local is told of nothing
// else: responses go out in the order of their requests (IBTA 9.7.5.1).
type replay struct {
	reads []hold     // the oldest first
	until vtime.Time // the end of waiting; zero when nothing is waited for
	owed  bool       // a duplicate behind them wants its ACK
}

// repeatRead sends such a request on to Remote, unchanged. Local goes back N: it repeats what is behind as well.
func (fl *flow) repeatRead(now vtime.Time, f *roce.Frame) {
	p, r, n := &f.Packet, &fl.replay, 0
	for n < len(r.reads) && r.reads[n].end.LessEq(p.PSN) {
		n++
	}
	if n == mostHolds {
		return
	}
	end := p.PSN.Add(fl.span(p))
	r.reads = append(r.reads[:n], hold{span: span{p.PSN, end}, got: end, next: p.PSN, since: p.PSN, fetch: true})
	r.until = now.Add(fl.box.cfg.rto)
	fl.box.wakeAt(fl, r.until)
	fl.box.pass(engine.WAN, f)
}

// replayed passes on what Remote replays, each response once and in order, and goes on when it was the last.
func (fl *flow) replayed(now vtime.Time, f *roce.Frame) {
	r, p := &fl.replay, f.Packet.PSN
	if r.until == 0 {
		fl.give(f)
		fl.promise()
		return
	}
	h := &r.reads[0]
	if p != h.next {
		return
	}
	h.next = p.Next()
	r.until = now.Add(fl.box.cfg.rto)
	fl.position(f, h)
	fl.box.pass(engine.LAN, f)
	if h.next != h.end {
		return
	}
	if r.reads = r.reads[:copy(r.reads, r.reads[1:])]; len(r.reads) == 0 {
		fl.replayEnds()
	}
}

// replayEnds answers what had to wait. It ends as well when Remote, which remembers only so many, has been silent for
// wan_rto; Local asks again if it has to.
func (fl *flow) replayEnds() {
	owed := fl.replay.owed
	fl.replay = replay{}
	if owed {
		fl.repeatACK()
	}
	fl.promise()
}
