package datasheet

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// responder is the observed state of a device that answers requests.
type responder struct {
	found *Findings
	win   window // requests that arrived and were not acknowledged
	begun bool
	high  int64 // offset after the newest packet that arrived
	acked int64 // first offset that has not been acknowledged
	gaps  map[int64]*gap
	again bool // the latest request was a repetition, so an acknowledgement may refer to it
}

// gap is a packet that is missing, as its NAKs name it.
type gap struct {
	opened vtime.Time
	alone  bool // no other gap was open, so that nothing kept the device from answering at once
	early  int  // packets after it that have arrived
	naks   int
}

// gapLimit bounds the gaps that are followed at a time.
const gapLimit = 1 << 12

// arrive processes a request that arrives.
func (r *responder) arrive(x slot) {
	if !r.begun {
		r.begun, r.high, r.acked, r.gaps = true, x.from, x.from, map[int64]*gap{}
	}
	if g := r.gaps[x.from]; g != nil {
		r.found.gap(g)
		delete(r.gaps, x.from)
	}
	if x.from > r.high && len(r.gaps) < gapLimit {
		r.gaps[r.high] = &gap{opened: x.first, alone: len(r.gaps) == 0}
	}
	for at, g := range r.gaps {
		if x.from > at {
			g.early++
		}
	}
	r.again = x.from < r.high
	if !r.again {
		r.win.push(x)
	}
	r.high = max(r.high, x.to)
	if old := r.win.find(x.from); old != nil {
		old.latest = x.latest
	}
}

// answer processes a response that is sent.
func (r *responder) answer(a *answer) {
	if !r.begun {
		return
	}
	f := r.found
	switch a.kind {
	case sequence, selective, duplicate:
		r.nak(a)
		f.NAKs[a.kind]++
	case notReady:
		f.RNRSent.add(int64(a.code))
	case positive:
		r.acknowledge(a)
	}
	r.win.drop(a.upTo)
	r.acked = max(r.acked, a.upTo)
}

// nak counts an answer that names a gap, and measures the time to the first one.
func (r *responder) nak(a *answer) {
	at := a.upTo
	g := r.gaps[at]
	if g == nil && len(r.gaps) < gapLimit && at < r.high {
		g = &gap{} // of a packet that arrived and was discarded
		r.gaps[at] = g
	}
	if g == nil {
		return
	}
	if g.naks == 0 && g.alone {
		r.found.NAKLatency.addTime(a.at.Sub(g.opened))
	}
	g.naks++
}

// acknowledge measures the time from the packet that an acknowledgement names, and how much it acknowledges.
func (r *responder) acknowledge(a *answer) {
	if a.upTo <= r.acked {
		return
	}
	if x := r.win.find(a.upTo - 1); x != nil && !r.again {
		r.found.AckDelay.addTime(a.at.Sub(x.latest))
	}
	for at, g := range r.gaps {
		if at < a.upTo { // it never arrived, and is no longer missing
			r.found.gap(g)
			r.found.Repaired++
			delete(r.gaps, at)
		}
	}
	packets, asked := r.win.drop(a.upTo)
	r.found.PacketsPerAck.add(int64(packets))
	if asked > 0 {
		r.found.AskedPerAck.add(int64(asked))
	}
}

// end counts gaps that were open to the last.
func (r *responder) end() {
	for _, g := range r.gaps {
		r.found.gap(g)
	}
}
