package pseudoack

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// replay is the READs and atomics that Local has asked for again although their answers have passed the box: the LAN has
// lost them. The box keeps no data, so Remote has to replay them, and until it has, Local is told of nothing else: responses
// go out in the order of their requests (IBTA 9.7.5.1).
type replay struct {
	span             // of all that may be replayed
	until vtime.Time // the end of waiting; zero when nothing is waited for
	owed  bool       // a duplicate behind them wants its ACK
}

// replayReach bounds the PSNs that are remembered: more than any peer can have outstanding.
const replayReach = 1 << 20

// repeatRead sends such a request on to Remote, unchanged.
func (fl *flow) repeatRead(now vtime.Time, f *roce.Frame) {
	p := &f.Packet
	r, end := &fl.replay, p.PSN.Add(fl.span(p))
	if r.until == 0 || p.PSN.Less(r.first) || end.Sub(r.first) > replayReach {
		r.span = span{p.PSN, end}
	}
	r.end = psn.Max(r.end, end)
	r.until = now.Add(fl.box.cfg.rto)
	fl.box.wakeAt(fl, r.until)
	fl.box.pass(engine.WAN, f)
}

// replayed passes on what Remote replays, and goes on when it was the last.
func (fl *flow) replayed(f *roce.Frame) {
	r, p := &fl.replay, f.Packet.PSN
	if r.until == 0 || !p.In(r.first, r.end) {
		return
	}
	fl.box.pass(engine.LAN, f)
	if p.Next() == r.end {
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
