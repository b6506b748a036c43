package evidence

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Direction flags tell the host that has the tap; a tap that frames pass through is between.
func TestTapByDirectionFlags(t *testing.T) {
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	h := &trace.Header{Conns: []trace.Conn{{Ends: [2]trace.End{{Addr: a}, {Addr: b}}}}}
	for _, c := range []struct {
		a, b int
		want netip.Addr
	}{{100, 0, a}, {0, 7, b}, {1, 200, b}, {50, 50, netip.Addr{}}} {
		v := NewVantage(h)
		v.host(a).flagged, v.host(b).flagged = c.a, c.b
		if got := v.Decide(); got.Addr != c.want {
			t.Errorf("%d frames of %v and %d of %v: tap at %v (%s)", c.a, a, c.b, b, got.Addr, got.Why)
		}
	}
}

// A host that is three times as fast as the other is at the tap if losses beyond the tap say so too, and neither a loss
// nor an answer that overtook others on its way to the tap says otherwise.
func TestPlaceByLosses(t *testing.T) {
	near, far := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for _, c := range []struct {
		before, beyond int // NAKs for packets of the near host that never passed, and for those that had
		overtook       Samples
		at             bool
	}{{0, 0, nil, false}, {0, 63, nil, true}, {3, 63, nil, false}, {0, 63, Samples{vtime.Microsecond}, false}} {
		v := NewVantage(&trace.Header{Conns: []trace.Conn{{Ends: [2]trace.End{{Addr: near}, {Addr: far}}}}})
		v.host(near).react, v.host(near).unseen = []retreat{{time: 8 * vtime.Microsecond}}, c.before
		v.host(near).overtook = c.overtook
		v.host(far).answers, v.host(far).seen = Samples{26 * vtime.Microsecond}, c.beyond
		if p := v.Decide(); (p.Addr == near) != c.at {
			t.Errorf("%+v: %+v", c, p)
		}
	}
}

// A stated place is contradicted by many signs against it, and by one where the other host reacts sooner. Otherwise one
// may be a fault of the host.
func TestPlaceAsStated(t *testing.T) {
	const us = vtime.Microsecond
	near, far := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for name, c := range map[string]struct {
		crossed, beyond int            // signs against the stated host, and against the other
		away            vtime.Duration // time that the other host takes to answer; the stated host takes 8 us
		says, refuted   bool
	}{
		"no sign":                           {0, 0, us, false, false},
		"a sign":                            {1, 0, 9 * us, true, false},
		"a sign, as the host is near":       {1, 0, 90 * us, false, false},
		"a sign, as the other host is near": {1, 0, us, true, true},
		"a sign, and more beyond, as the other host is near": {1, 3, us, true, false},
		"signs":                       {3, 0, 9 * us, true, true},
		"signs, and many more beyond": {3, 300, 9 * us, true, false},
	} {
		v := NewVantage(&trace.Header{Conns: []trace.Conn{{Ends: [2]trace.End{{Addr: near}, {Addr: far}}}}})
		v.host(near).answers, v.host(near).crossed = Samples{8 * us}, c.crossed
		v.host(far).answers, v.host(far).unseen = Samples{c.away}, c.beyond
		if why, refuted := v.Refutes(trace.A); (why != "") != c.says || refuted != c.refuted {
			t.Errorf("%s: refuted %v, %q", name, refuted, why)
		}
	}
}

// A host that is slow to send again while its port is busy is not far: the retransmission waits behind packets there.
func TestPlaceByRetransmissions(t *testing.T) {
	const us = vtime.Microsecond
	near, far := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for name, c := range map[string]struct {
		of      retreat
		answers vtime.Duration // of the other host
		at      bool
		quickly vtime.Duration // time of another retreat
	}{
		"busy":                              {retreat{200 * us, 27 * us, 0}, 12 * us, false, 0},
		"busy, with losses":                 {retreat{200 * us, 80 * us, 0}, 12 * us, false, 0},
		"busy, and answers come at once":    {retreat{200 * us, 27 * us, 0}, us / 10, true, 0},
		"idle":                              {retreat{200 * us, 150 * us, 0}, 12 * us, true, 0},
		"idle, and quick once":              {retreat{200 * us, 150 * us, 0}, 12 * us, false, 12 * us},
		"busy, and longer than the port is": {retreat{2000 * us, 27 * us, 0}, 12 * us, true, 0},
	} {
		v := NewVantage(&trace.Header{Conns: []trace.Conn{{Ends: [2]trace.End{{Addr: near}, {Addr: far}}}}})
		v.host(near).answers = Samples{c.answers}
		v.host(far).react, v.host(far).unseen = []retreat{c.of}, 1
		if c.quickly > 0 {
			v.host(far).react = append(v.host(far).react, c.of, retreat{c.quickly, c.of.pause, 0})
		}
		v.host(far).spacing = slices.Repeat(Samples{27 * us}, 9)
		if p := v.Decide(); (p.Addr == near) != c.at {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// A retransmission may follow from any NAK of its request: a NAK that passes shortly before it shows no host near.
func TestRetransmissionsAfterRepeatedNAKs(t *testing.T) {
	const us = vtime.Time(vtime.Microsecond)
	x := course{requester: &host{}, responder: &host{}}
	request := func(p psn.PSN, at vtime.Time) { x.request(&Sighting{PSN: p, Opcode: roce.SendOnly, At: at}, 1, true) }
	nak := func(p psn.PSN, at vtime.Time) {
		x.response(&Sighting{PSN: p, Opcode: roce.Acknowledge, Syndrome: roce.SyndromePSNSeqErr, At: at})
	}
	for p := range psn.PSN(4) {
		request(p, us*vtime.Time(p))
	}
	nak(1, 10*us)
	request(1, 210*us)
	nak(1, 220*us)
	request(1, 230*us)
	request(2, 231*us)
	nak(2, 240*us)
	request(2, 440*us)
	var whole []vtime.Duration
	for _, r := range x.requester.react {
		whole = append(whole, (r.before+r.time)/vtime.Microsecond)
	}
	usual, least := x.requester.retreats()
	if want := []vtime.Duration{200, 220, 200}; !slices.Equal(whole, want) || usual/vtime.Microsecond != 200 ||
		least > 10*vtime.Microsecond {
		t.Errorf("%v us after the first NAK, want %v; usually %v, at least %v", whole, want, usual, least)
	}
}

// A host that an RNR NAK tells to wait is not far: what it sends again after a later NAK of that request waits, too.
func TestRetransmissionsAfterRNR(t *testing.T) {
	const us = vtime.Time(vtime.Microsecond)
	x := course{requester: &host{}, responder: &host{}}
	request := func(p psn.PSN, at vtime.Time) { x.request(&Sighting{PSN: p, Opcode: roce.SendOnly, At: at}, 1, true) }
	nak := func(p psn.PSN, syndrome roce.Syndrome, at vtime.Time) {
		x.response(&Sighting{PSN: p, Opcode: roce.Acknowledge, Syndrome: syndrome, At: at})
	}
	for p := range psn.PSN(4) {
		request(p, us*vtime.Time(p))
	}
	nak(1, roce.Syndrome(1<<5|10), 10*us)
	nak(1, roce.SyndromePSNSeqErr, 11*us)
	request(1, 800*us)
	request(2, 801*us)
	nak(2, roce.SyndromePSNSeqErr, 810*us)
	request(2, 830*us)
	if r := x.requester.react; len(r) != 1 || r[0].time != 20*vtime.Microsecond {
		t.Errorf("reactions %+v, want one, of 20 us", r)
	}
}

// A host whose requests mostly follow the answers at once is not far, however long it pauses now and then.
func TestPlaceByPauses(t *testing.T) {
	const us = vtime.Microsecond
	near, far := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for name, c := range map[string]struct {
		answers  vtime.Duration // time that the near host takes to answer
		short    int            // pauses of 1 in 4 us in which a request follows the answer at once
		spacing  int            // requests without an answer before them
		overtook Samples
		at       bool
	}{
		"waits for answers":                         {answers: 3 * us, at: true},
		"has several requests outstanding":          {answers: 3 * us, short: 9, spacing: 30, at: true},
		"rests":                                     {answers: 3 * us, short: 9, spacing: 3},
		"an answer overtook others":                 {answers: 3 * us, overtook: Samples{us}},
		"an answer came before others":              {answers: 3 * us, overtook: Samples{45 * us}, at: true},
		"an answer overtook others on a long path":  {answers: 100 * us, overtook: Samples{45 * us}},
		"none overtook others on a path as long":    {answers: 100 * us, at: true},
		"an answer came before others by much more": {answers: 100 * us, overtook: Samples{450 * us}, at: true},
	} {
		v := NewVantage(&trace.Header{Conns: []trace.Conn{{Ends: [2]trace.End{{Addr: near}, {Addr: far}}}}})
		v.host(near).answers, v.host(near).overtook = Samples{c.answers}, c.overtook
		long := pause{30 * c.answers, 31 * c.answers}
		v.host(far).idle = slices.Repeat(pauses{long}, 5)
		v.host(far).idle = append(v.host(far).idle, slices.Repeat(pauses{{us, 4 * us}}, c.short)...)
		v.host(far).spacing = slices.Repeat(Samples{us}, c.spacing)
		if p := v.Decide(); (p.Addr == near) != c.at {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// A request in the same tick of the clock as the answer before it says nothing about how fast its sender is.
func TestPlaceByTicks(t *testing.T) {
	near, far := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for _, c := range []struct {
		answers vtime.Duration // time that the far host takes to answer
		at      bool
	}{{3 * vtime.Microsecond, false}, {100 * vtime.Microsecond, true}} {
		v := NewVantage(&trace.Header{Conns: []trace.Conn{{Ends: [2]trace.End{{Addr: near}, {Addr: far}}}}})
		v.host(near).idle = slices.Repeat(pauses{{0, c.answers}}, Fewest)
		v.host(far).answers = Samples{c.answers}
		if p := v.Decide(); (p.Addr == near) != c.at {
			t.Errorf("%+v: %+v", c, p)
		}
	}
}

// A request that is missing at first and comes in a retransmission was lost before the tap, however soon that is. One
// that comes alone may have been put out of order by the capture.
func TestGapsBeforeTheTap(t *testing.T) {
	for name, c := range map[string]struct {
		sent []psn.PSN
		gaps int
	}{
		"a swap":                {[]psn.PSN{0, 1, 3, 2, 4}, 0},
		"a retransmission":      {[]psn.PSN{0, 1, 3, 4, 0, 1, 2, 3}, 1},
		"a replay with a gap":   {[]psn.PSN{0, 1, 2, 3, 0, 1, 3, 1, 2, 3}, 1},
		"again without a gap":   {[]psn.PSN{0, 1, 2, 3, 0, 1, 2, 3}, 0},
		"a swap after a replay": {[]psn.PSN{0, 1, 0, 1, 3, 2, 4}, 0},
	} {
		x := course{requester: &host{}, responder: &host{}}
		for i, p := range c.sent {
			x.request(&Sighting{PSN: p, Opcode: roce.SendOnly, At: vtime.Time(i) * vtime.Time(vtime.Microsecond)}, 1, true)
		}
		if got := x.requester.gaps; got != c.gaps {
			t.Errorf("%s: %d gaps, want %d", name, got, c.gaps)
		}
	}
}

// An acknowledgement that passes before earlier ones has overtaken them, unless it is of a request that had not passed
// or is repeated behind them: then its sender has sent it so.
func TestAcknowledgementsOvertake(t *testing.T) {
	const us = vtime.Time(vtime.Microsecond)
	for name, c := range map[string]struct {
		sent     []psn.PSN
		apart    vtime.Time
		overtook int
	}{
		"one overtakes three":   {[]psn.PSN{0, 4, 1, 2, 3, 5}, us, 1},
		"two swaps":             {[]psn.PSN{1, 0, 3, 2, 4}, us, 2},
		"repeated":              {[]psn.PSN{0, 4, 1, 2, 3, 4, 5}, us, 0},
		"of no request":         {[]psn.PSN{0, 10, 1, 2, 11}, us, 0},
		"long before them":      {[]psn.PSN{0, 4, 1, 2, 3, 5}, 100 * us, 1},
		"nothing follows it":    {[]psn.PSN{0, 4, 1, 2, 3}, us, 0},
		"in the order required": {[]psn.PSN{0, 1, 2, 2, 3}, us, 0},
	} {
		x := course{requester: &host{}, responder: &host{}}
		for p := range psn.PSN(10) {
			x.request(&Sighting{PSN: p, Opcode: roce.SendOnly, At: vtime.Time(p)}, 1, true)
		}
		for i, p := range c.sent {
			x.response(&Sighting{PSN: p, Opcode: roce.Acknowledge, Syndrome: roce.SyndromeACK,
				At: us + vtime.Time(i)*c.apart})
		}
		got := x.responder.overtook
		if want := slices.Repeat(Samples{vtime.Duration(c.apart)}, c.overtook); !slices.Equal(got, want) {
			t.Errorf("%s: early by %v, want %v", name, got, want)
		}
	}
}

// A NAK of a request that has passed tells of a loss behind the tap, unless the request passed after later ones: then a
// responder at the tap asks for it, and for the requests that it discarded, however late the NAK leaves.
func TestNAKsThatLeaveLate(t *testing.T) {
	for name, c := range map[string]struct {
		sent []psn.PSN
		nak  psn.PSN
		seen int
	}{
		"lost behind the tap":               {[]psn.PSN{0, 1, 2, 3}, 1, 1},
		"swapped":                           {[]psn.PSN{0, 2, 1, 3}, 1, 0},
		"discarded after a swap, and again": {[]psn.PSN{0, 2, 1, 3, 1, 2, 3}, 2, 0},
		"of a swap before the latest":       {[]psn.PSN{0, 2, 1, 3, 1, 2, 3}, 1, 0},
		"of a request in order":             {[]psn.PSN{0, 2, 1, 3, 1, 2, 3, 4}, 3, 1},
	} {
		x := course{requester: &host{}, responder: &host{}}
		for i, p := range c.sent {
			at := vtime.Time(i) * vtime.Time(vtime.Microsecond)
			x.request(&Sighting{PSN: p, Opcode: roce.SendOnly, At: at}, 1, true)
		}
		x.response(&Sighting{PSN: c.nak, Opcode: roce.Acknowledge, Syndrome: roce.SyndromePSNSeqErr})
		if got := x.responder.seen; got != c.seen {
			t.Errorf("%s: %d seen, want %d", name, got, c.seen)
		}
	}
}

// A responder that takes what passed the tap out of order is not at the tap; one that discards it, or to which it is
// sent again, may be.
func TestSwapsBeforeTheTap(t *testing.T) {
	for name, c := range map[string]struct {
		sent  []psn.PSN
		ack   psn.PSN
		swaps int
	}{
		"in order":              {[]psn.PSN{0, 1, 2, 3}, 3, 0},
		"swapped":               {[]psn.PSN{0, 2, 1, 3}, 2, 1},
		"swapped, not taken":    {[]psn.PSN{0, 2, 1, 3}, 1, 0},
		"swapped, and again":    {[]psn.PSN{0, 2, 1, 3, 2, 3}, 3, 0},
		"not swapped: one lost": {[]psn.PSN{0, 2, 3}, 3, 0},
	} {
		x := course{requester: &host{}, responder: &host{}}
		for i, p := range c.sent {
			at := vtime.Time(i) * vtime.Time(vtime.Microsecond)
			x.request(&Sighting{PSN: p, Opcode: roce.SendOnly, At: at}, 1, true)
		}
		x.response(&Sighting{PSN: c.ack, Opcode: roce.Acknowledge, Syndrome: 31})
		if got := x.responder.swaps; got != c.swaps {
			t.Errorf("%s: %d swaps, want %d", name, got, c.swaps)
		}
	}
}

// Packets that pass in another order than that in which their sender has to send them were reordered before the tap, so
// that it is not at the port of a sender that nothing shows to be near.
func TestOrderBeforeTheTap(t *testing.T) {
	ack, first, last, one := roce.Acknowledge, roce.ReadRespFirst, roce.ReadRespLast, roce.ReadRespOnly
	near, far := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for name, c := range map[string]struct {
		answers []roce.Opcode
		psns    []psn.PSN
		astray  bool
	}{
		"in order":                  {[]roce.Opcode{ack, first, last, ack}, []psn.PSN{0, 1, 2, 3}, false},
		"a READ again":              {[]roce.Opcode{first, last, ack, last}, []psn.PSN{1, 2, 3, 2}, true},
		"a READ again, from within": {[]roce.Opcode{first, last, ack, one}, []psn.PSN{1, 2, 3, 2}, false},
		"the capture begins":        {[]roce.Opcode{last, ack}, []psn.PSN{2, 3}, false},
		"an ACK overtaken":          {[]roce.Opcode{ack, ack, ack}, []psn.PSN{1, 3, 2}, true},
	} {
		v := NewVantage(&trace.Header{Conns: []trace.Conn{{Ends: [2]trace.End{{Addr: near}, {Addr: far}}}}})
		x := v.course(0, trace.B)
		for p := range psn.PSN(4) {
			x.request(&Sighting{PSN: p, Opcode: roce.SendOnly}, 1, true)
		}
		for i, o := range c.answers {
			x.response(&Sighting{PSN: c.psns[i], Opcode: o, Syndrome: 31})
		}
		if got := v.Astray(trace.A); got != c.astray {
			t.Errorf("%s: astray %v", name, got)
		}
	}
}

// A READ whose first response does not pass lost it before the tap, as one that lacks a later response.
func TestFirstResponseBeforeTheTap(t *testing.T) {
	for lost, name := range []string{"FIRST", "MIDDLE"} {
		x := course{requester: &host{}, responder: &host{}}
		x.request(&Sighting{Opcode: roce.ReadRequest}, 5, true)
		opcodes := []roce.Opcode{roce.ReadRespFirst, roce.ReadRespMiddle, roce.ReadRespLast}
		x.response(&Sighting{PSN: 0, Opcode: roce.ReadRespFirst})
		x.response(&Sighting{PSN: 1, Opcode: roce.ReadRespLast})
		for i, o := range opcodes {
			if i != lost {
				x.response(&Sighting{PSN: psn.PSN(2 + i), Opcode: o})
			}
		}
		if got := x.responder.gaps; got != 1 {
			t.Errorf("%s: %d gaps", name, got)
		}
	}
}

// A request that is sent again long after its answer has passed was not answered for its sender, unless data that were
// asked for before it are missing.
func TestDeafRequester(t *testing.T) {
	for name, c := range map[string]struct {
		first roce.Opcode
		after vtime.Duration
		data  bool
		then  psn.PSN
		deaf  int
	}{
		"long after":                     {roce.SendOnly, 20 * vtime.Millisecond, false, 8, 1},
		"long after, and without reason": {roce.SendOnly, 20 * vtime.Millisecond, false, 9, 0},
		"shortly after":                  {roce.SendOnly, vtime.Millisecond, false, 8, 0},
		"long after, data missing":       {roce.ReadRequest, 20 * vtime.Millisecond, false, 8, 0},
		"long after, data answered":      {roce.ReadRequest, 20 * vtime.Millisecond, true, 8, 1},
	} {
		x := course{requester: &host{}, responder: &host{}}
		at := vtime.Time(0)
		pass := func(by vtime.Duration, o roce.Opcode, p psn.PSN) {
			at = at.Add(by)
			if s := (&Sighting{At: at, PSN: p, Opcode: o, Headed: true, Sound: true}); o.IsRequest() {
				x.request(s, 1, true)
			} else {
				x.response(s)
			}
		}
		pass(0, c.first, 7)
		pass(vtime.Microsecond, roce.SendOnly, 8)
		if c.data {
			pass(vtime.Microsecond, roce.ReadRespOnly, 7)
		}
		pass(vtime.Microsecond, roce.Acknowledge, 8)
		pass(c.after, c.first, 7)
		pass(vtime.Microsecond, roce.SendOnly, c.then)
		if got := x.requester.deaf; got != c.deaf || x.deaf != (c.deaf > 0) {
			t.Errorf("%s: %d, want %d", name, got, c.deaf)
		}
	}
}

// Data that pass before those asked for earlier may be dropped. That their READ is sent again long after does not show
// a deaf requester.
func TestDeafRequesterDropsData(t *testing.T) {
	x := course{requester: &host{}, responder: &host{}}
	for i, step := range []struct {
		o roce.Opcode
		p psn.PSN
	}{
		{roce.ReadRequest, 7}, {roce.ReadRequest, 8}, {roce.ReadRespOnly, 8},
		{roce.ReadRequest, 7}, {roce.ReadRequest, 8}, {roce.ReadRespOnly, 7},
		{roce.ReadRequest, 8},
	} {
		at := vtime.Time(0).Add(vtime.Duration(i) * 20 * vtime.Millisecond)
		s := &Sighting{At: at, PSN: step.p, Opcode: step.o, Headed: true, Sound: true}
		if s.Opcode.IsRequest() {
			x.request(s, 1, true)
		} else {
			x.response(s)
		}
	}
	if x.requester.deaf != 0 {
		t.Errorf("deaf %d times", x.requester.deaf)
	}
}

// What a second tap of a pair shows of losses behind it: one replay of answered requests is a doubt about them, unless
// the host reacts so fast that the tap is at its port; several replays, or NAKs for what had passed, show it is not.
func TestLossesBehindASecondTap(t *testing.T) {
	near, far := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for name, c := range map[string]struct {
		seen, deaf      int
		gaps            int
		fast            bool
		doubted, astray bool
	}{
		"nothing":                {0, 0, 0, false, false, false},
		"a replay":               {0, 1, 0, false, true, false},
		"a replay, and near":     {0, 1, 0, true, false, false},
		"replays":                {0, 3, 0, true, false, true},
		"a NAK":                  {1, 0, 0, false, false, true},
		"a NAK, and near":        {1, 0, 0, true, false, false},
		"several NAKs, and near": {3, 0, 0, true, false, true},
		"a gap, and near":        {0, 0, 1, true, false, false},
		"several gaps, and near": {0, 0, 3, true, false, true},
	} {
		v := NewVantage(&trace.Header{Conns: []trace.Conn{{Ends: [2]trace.End{{Addr: near}, {Addr: far}}}}})
		x := v.course(0, trace.A)
		x.deaf, x.requester.deaf, x.requester.seen, x.requester.gaps = c.deaf > 0, c.deaf, c.seen, c.gaps
		if c.fast {
			x.requester.answers = Samples{vtime.Microsecond}
			x.responder.answers = Samples{vtime.Millisecond}
		}
		if got := v.Astray(trace.A); got != c.astray {
			t.Errorf("%s: astray %v", name, got)
		}
		v.AddDoubts(trace.A, false, false)
		if !c.astray && (v.header.Conns[0].Doubtful(trace.A).Why == deafWhy) != c.doubted {
			t.Errorf("%s: %+v", name, v.header.Conns[0].Doubts)
		}
	}
}

// A request that its sender goes back to was sent, whether it had passed or not; one that its receiver asks for was not
// received, unless it is acknowledged before it is sent again.
func TestLossesBesideATap(t *testing.T) {
	const ask, ack = -1, -2
	for name, c := range map[string]struct {
		steps          []int // PSNs of requests, or ask or ack, of PSN 8
		before, behind bool
	}{
		"none":                     {[]int{7, 8, 9, ack}, false, false},
		"before the tap":           {[]int{7, 9, ask, 8, 9, ack}, true, false},
		"behind it":                {[]int{7, 8, 9, ask, 8, 9, ack}, false, true},
		"asked for, but received":  {[]int{7, 8, 9, ask, ack, 8, 9}, false, false},
		"asked for, and not again": {[]int{7, 8, 9, ask}, false, false},
		"a wrong PSN in its place": {[]int{7, 590000, 9, ask, 8, 9, ack}, false, false},
		"a burst of losses":        {[]int{7, 200, 201, ask, 8, 9, ack}, true, false},
	} {
		x := course{requester: &host{}, responder: &host{}}
		for i, p := range c.steps {
			s := &Sighting{At: vtime.Time(i + 1), PSN: 8, Opcode: roce.Acknowledge, Headed: true, Sound: true}
			switch p {
			case ask:
				s.Syndrome = roce.SyndromePSNSeqErr
				x.response(s)
			case ack:
				x.response(s)
			default:
				s.PSN, s.Opcode = psn.PSN(p), roce.SendOnly
				x.request(s, 1, true)
			}
		}
		if x.before != c.before || x.behind != c.behind {
			t.Errorf("%s: before %v, behind %v", name, x.before, x.behind)
		}
	}
}

// A READ response that has passed before one that its requester has, and that it asks for, was lost behind the tap. One
// that was sent again may have come while the requester asked.
func TestLostReadResponses(t *testing.T) {
	ends := [2]trace.End{{Addr: netip.MustParseAddr("192.0.2.1")}, {Addr: netip.MustParseAddr("192.0.2.2")}}
	type pass struct {
		nak   bool
		p, of psn.PSN // of a response; the PSN that a NAK asks for, and the one that it names
	}
	for name, c := range map[string]struct {
		list []pass
		want int
	}{
		"lost behind":     {[]pass{{p: 0}, {p: 1}, {p: 2}, {true, 1, 2}, {true, 1, 2}}, 1},
		"lost before":     {[]pass{{p: 0}, {p: 2}, {true, 1, 2}}, 0},
		"two lost behind": {[]pass{{p: 0}, {p: 1}, {p: 2}, {p: 3}, {true, 0, 1}, {true, 2, 3}}, 2},
		"sent again":      {[]pass{{p: 0}, {p: 2}, {p: 1}, {true, 1, 2}}, 0},
	} {
		v := NewVantage(&trace.Header{Conns: []trace.Conn{{Ends: ends}}})
		for _, x := range c.list {
			s, e := Sighting{Opcode: roce.XReadRespFirst, PSN: x.p, Headed: true, Sound: true}, End{0, trace.B}
			if x.nak {
				s.Opcode, s.SACK, s.Syndrome, e.From = roce.IRNReadAck, x.of, roce.SyndromePSNSeqErr, trace.A
			}
			v.Follow(&s, e)
		}
		if got := v.host(ends[trace.A].Addr).seen; got != c.want {
			t.Errorf("%s: %d signs, want %d", name, got, c.want)
		}
	}
}
