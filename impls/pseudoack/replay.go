package pseudoack

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// replay is the READs and atomics that Local repeats although the box has forwarded all of their responses: the LAN has
// lost some. The box keeps no data, so Remote has to replay them. Until it has, the box sends Local no other answer:
// responses keep the order of their requests (IBTA 9.7.5.1).
type replay struct {
	reads []hold     // the oldest first
	until vtime.Time // deadline of the next replayed response; zero when none is expected
	owed  bool       // a duplicate SEND or WRITE after them is to be acknowledged
}

// repeatRead forwards such a request to Remote, unchanged. Local goes back N, so it repeats all later requests as well.
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

// replayed forwards the responses that Remote replays, each once and in order, and ends the replay after the last.
// Remote answers in order (IBTA 9.7.5.1), so its answers to later requests wait behind these data: wan_rto, which
// measures its silence, begins again.
func (fl *flow) replayed(now vtime.Time, f *roce.Frame) {
	r, p := &fl.replay, f.Packet.PSN
	if fl.timer.running {
		fl.restart(now)
	}
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

// replayEnds sends the acknowledgements that had to wait for the replay. It is also called when Remote, which can
// replay only a limited number, has been silent for wan_rto; Local then repeats the request if it needs to.
func (fl *flow) replayEnds() {
	owed := fl.replay.owed
	fl.replay = replay{}
	if owed {
		fl.repeatACK()
	}
	fl.promise()
}
