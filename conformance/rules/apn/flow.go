package apn

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// ackWire is the layer-1 length of an acknowledgement in bytes: the headers of a packet, and the AETH.
const ackWire = overhead + 4

// flow tracks a QP that sends messages of one packet, each acknowledged, over a path without loss and lines that carry
// no other traffic in either direction. A QP that does something else is spoilt, and not judged.
type flow struct {
	c       *rule.Context
	spoilt  bool           // the QP is not such a flow
	begin   vtime.Time     // first bit of the first packet
	last    vtime.Time     // last bit of the latest packet
	sent    int            // packets sent
	posted  int            // messages posted, if reported
	port    uint64         // packets that the port has sent, at the latest one of the flow
	back    uint64         // packets that the peer's port has sent, at the latest answer
	heard   vtime.Time     // arrival of the latest answer; 0 before the first
	acked   int            // messages answered
	wide    int            // most messages that were posted and not answered
	unused  vtime.Duration // time before the first answer that the line was idle for want of posts
	ready   vtime.Time     // from then on the oldest message that waits could leave; valid when sent < posted
	idle    vtime.Duration // time that the line was idle while warm
	held    vtime.Duration // part of idle in which a message waited
	warm    bool           // one RTT has passed since begin
	settled vtime.Time     // when warm was set
	// the queue was empty, or one packet was sent in the first RTT with room for more: no work was left
	sparse bool
	wire   int          // layer-1 bytes of a packet, as sent
	ends   []vtime.Time // departure of every every-th packet
	every  int          // depth of the queue in packets
	// transit time of the latest request and of the latest answer
	crossed [2]vtime.Duration
}

// ended makes a check that judges a flow at its end.
func ended(judge func(*flow)) func(*rule.Context) rule.Check {
	return func(c *rule.Context) rule.Check {
		f := flow{c: c, every: c.Attr.QueueDepth}
		return rule.Check{Sight: f.sight, Event: f.event, End: func(vtime.Time) { judge(&f) }}
	}
}

// judged are the sights of a flow.
const judged = rule.RequestOut | rule.ResponseOut | rule.ResponseIn

// sight processes a request that leaves, or an answer to one.
func (f *flow) sight(s *rule.Sight) {
	if lostOnTheWay(s) || f.hastened(s) {
		f.spoilt = true
	}
	switch {
	case s.Point == trace.RequesterOut:
		f.packet(s)
	case s.Point == trace.RequesterIn:
		f.answered(s)
	case f.sent > 0:
		f.spoilt = f.spoilt || f.c.PeerPort.Packets != f.back+1
		f.back = f.c.PeerPort.Packets
	}
}

// hastened reports whether the latest packet and the latest answer together took less than the path's RTT: on a link
// where packets overtake others the formula does not apply.
func (f *flow) hastened(s *rule.Sight) bool {
	if s.Rec.Sent == vtime.Never || s.Rec.Recv == vtime.Never {
		return false
	}
	way, other := 0, 1
	if s.Point != trace.RequesterOut {
		way, other = 1, 0
	}
	f.crossed[way] = s.Rec.Recv.Sub(s.Rec.Sent)
	return f.crossed[other] > 0 && f.crossed[way]+f.crossed[other] < f.c.Attr.Path.RTT/100*99
}

// answered processes an answer that arrives. A message that is posted beyond the depth waits for it.
func (f *flow) answered(s *rule.Sight) {
	f.heard = s.At
	if f.sent-f.acked >= f.depth() {
		f.ready = s.At
	}
	if last, ok := rule.Acknowledged(s.Pkt); ok {
		f.acked = max(f.acked, last.Next().Sub(f.c.Start))
	}
}

// depth returns the places of the queue that are always in use while there is work: with one completion in m signalled,
// m - 1 answered messages may still be in the queue.
func (f *flow) depth() int { return f.c.Attr.QueueDepth - max(0, f.c.Attr.CQModeration-1) }

// event processes a post. Work that is posted long after there was room for it shows that the queue waits for its user.
// Before the first answer there is room from the beginning, so a user that lets the line idle has nothing to send.
func (f *flow) event(e *trace.Event) {
	if e.Kind != trace.Post || !f.c.Mine(e) {
		return
	}
	all := f.posted == f.sent
	if all {
		f.ready = e.At
	}
	switch {
	case f.heard != 0:
		f.spoilt = f.spoilt || e.At.Sub(f.heard) > hosts
	case f.sent > 0 && all:
		f.unused += max(0, e.At.Sub(f.last))
		f.spoilt = f.spoilt || f.unused > hostsOf(f.c)
	}
	f.sparse = f.sparse || all && f.sent > 0 && f.c.UNA == f.c.MAX &&
		f.c.Attr.QueueDepth > max(1, f.c.Attr.CQModeration)
	f.posted++
	f.wide = max(f.wide, f.posted-f.acked)
}

// packet processes a request that leaves. The line sends at the rate of the path; Sent is the time of the last bit.
func (f *flow) packet(s *rule.Sight) {
	c := f.c
	if f.spoilt = f.spoilt || s.Relation != rule.First || !s.Pkt.Opcode.IsOnly() || s.Pkt.Opcode.IsRead() ||
		c.Attr.Path.RTT <= 0 || c.Attr.Path.Rate <= 0; f.spoilt {
		return
	}
	took := c.Attr.Path.Rate.Time(s.Rec.WireBytes)
	if f.sent == 0 {
		f.begin, f.wire, f.back = s.At.Add(-took), s.Rec.WireBytes, c.PeerPort.Packets
	}
	f.spoilt = s.Rec.WireBytes != f.wire || f.sent > 0 && c.Port.Packets != f.port+1
	f.port = c.Port.Packets
	switch {
	case f.warm:
		f.idle += max(0, s.At.Sub(f.last)-took)
		if f.sent < f.posted {
			f.held += max(0, s.At.Sub(max(f.last, f.ready))-took)
		}
	case s.At.Sub(f.begin) > c.Attr.Path.RTT:
		f.warm, f.settled = true, s.At
		f.sparse = f.sparse || f.sent == 1 && c.Attr.QueueDepth > 1
	}
	if f.every > 0 && f.sent%f.every == 0 && len(f.ends) < mostCycles {
		f.ends = append(f.ends, s.At)
	}
	f.last = s.At
	f.sent++
}

// mostCycles bounds the cycles remembered.
const mostCycles = 1000

// cycle returns how long a message is outstanding without waiting: the path, the frame, its acknowledgement.
func (f *flow) cycle() vtime.Duration {
	p := &f.c.Attr.Path
	return p.RTT + p.Rate.Time(f.wire) + p.Rate.Time(ackWire)
}

var lineBusy = define(rule.Rule{
	ID: "APN-QD-003", Level: rule.Must, Rests: validity.Everything,
	Title: "With the formula's depth and messages of one frame the line is busy for 99.9 % of the " +
		"time after the first RTT",
	Source: rule.Source{Ref: "NTT 4.1", Requirement: "To send packets without stalling packet processing, we suggest " +
		"the following formula for QD configuration."},
	Sees: judged, Stimulus: "a flow of several round trips without loss", BlackBox: emulated,
	New: ended((*flow).judgeBusy),
})

// judgeBusy compares the idle time of the line with the time that the depth allows. The formula leaves out the
// serialisation of one frame and of its acknowledgement, which a short queue cannot hide: the line may wait for them
// once per cycle, and the number of these waits in a flow depends on its beginning and end. With one completion in m
// signalled, m - 1 answered messages may still be in the queue; with one ACK for k messages, k - 1 may have arrived and
// wait for the others.
func (f *flow) judgeBusy() {
	c := f.c
	want, known := formula(c.Attr)
	span, depth := f.last.Sub(f.settled), f.depth()
	if f.spoilt || f.sparse || !f.warm || !known || float64(depth) < want || span < 2*c.Attr.Path.RTT {
		return
	}
	ready := vtime.Duration(depth - max(0, c.PeerAttr.AckCoalesce-1))
	stall := max(0, f.cycle()+hostsOf(c)-ready*c.Attr.Path.Rate.Time(f.wire))
	switch most := span/1000 + (span/f.cycle()+1)*stall; {
	case most >= span: // so short a queue shows nothing
	case f.idle > most:
		f.slow(f.patience(1000, hostsOf(c)),
			"the line is busy for %.2f %% of the time after the first RTT, want %.2f %% with a queue of %d",
			percent(span-f.idle, span), percent(span-most, span), c.Attr.QueueDepth)
	default:
		c.Met()
	}
}

func percent(part, whole vtime.Duration) float64 { return 100 * float64(part) / float64(whole) }

// hostsOf is the allowance for the hosts: a hundredth of the path at most. In virtual time zero would be exact, but a
// trace does not tell which clock it has.
func hostsOf(c *rule.Context) vtime.Duration { return min(hosts, c.Attr.Path.RTT/100) }

var starvedQueue = define(rule.Rule{
	ID: "APN-QD-004", Level: rule.Must, Rests: validity.Everything,
	Title: "With a depth q below the formula the throughput is q frames per RTT and serialisation, within 1 %",
	Source: rule.Source{Ref: "NTT 2.2", Requirement: "The total available queue depth is easily exhausted, and the " +
		"sender waits until the ACK message arrives."},
	Sees: judged, Stimulus: "a queue shorter than the path, messages of one packet, no loss", BlackBox: hardware,
	New: ended((*flow).judgeStarved),
})

// judgeStarved compares the time from a message to the message q later with the closed form.
func (f *flow) judgeStarved() {
	c := f.c
	want, known := formula(c.Attr)
	cycles := len(f.ends) - 1
	if f.spoilt || !known || c.Attr.CQModeration > 1 || cycles < 3 || float64(c.Attr.QueueDepth) > 0.98*want {
		return
	}
	got := f.ends[cycles].Sub(f.ends[0]) / vtime.Duration(cycles)
	model := f.cycle()
	text := fmt.Sprintf("%d messages take %s, want %s, RTT and serialisation: %s in place of %s", c.Attr.QueueDepth,
		got.Short(), model.Short(), f.rate(got), f.rate(model))
	switch {
	case float64(got) < 0.99*float64(model):
		c.Fail(rule.Requester, text)
	case float64(got) > 1.01*float64(model+hosts):
		f.slow(f.patience(100, hosts), "%s", text)
	default:
		c.Met()
	}
}

// slow reports that less was sent than the queue allows. That is the requester's fault if the line was idle for longer
// than most while a message waited, or if part of the queue was never used: both show in its posts. Otherwise its user
// had no work, or the answers came late.
func (f *flow) slow(most vtime.Duration, format string, args ...any) {
	switch {
	case !f.c.Offers(rule.Done), f.posted < f.sent:
		f.c.Doubt("whether the requester had work is not known")
	case f.held > most, f.wide < f.depth():
		f.c.Failf(rule.Requester, format, args...)
	}
}

// patience returns how long messages may wait in all: one part in so many of the flow, and for the hosts in each cycle.
func (f *flow) patience(parts int, each vtime.Duration) vtime.Duration {
	span := f.last.Sub(f.settled)
	return span/vtime.Duration(parts) + (span/f.cycle()+1)*each
}

// rate returns the layer-1 bit rate of a flow that sends a full queue of packets per cycle.
func (f *flow) rate(cycle vtime.Duration) unit.Rate {
	bits := float64(f.c.Attr.QueueDepth*f.wire) * 8
	return unit.Rate(bits/(float64(cycle)/float64(vtime.Second))/1e3+0.5) * unit.Kbps
}

// lostOnTheWay reports a packet that its receiver could not use.
func lostOnTheWay(s *rule.Sight) bool {
	return s.Rec.Recv == vtime.Never && s.Rec.Sent != vtime.Never || !s.Intact()
}
