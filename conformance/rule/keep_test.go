package rule

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// newKeeper returns a walk whose responder keeps out-of-order packets.
func newKeeper(t *testing.T) *walk {
	w := newWalk(t, true)
	w.c.responder.keep.reach = keepReach(&w.c, []string{KeepsEarly})
	return w
}

// released processes every request whose turn has come, and lists them: "+2 +3!", with a mark on an illegal one.
func (w *walk) released() string {
	var list []string
	for w.c.release(&w.s) {
		text := w.s.Pkt.PSN.Sub(testStart)
		mark := ""
		if !w.s.Legal {
			mark = "!"
		}
		list = append(list, "+"+string(rune('0'+text))+mark)
		w.c.update(&w.s)
	}
	return strings.Join(list, " ")
}

func TestKeptRequestsAreReleasedInOrder(t *testing.T) {
	w := newKeeper(t)
	w.see(trace.ResponderIn, roce.SendFirst, 0, 1024)
	w.want("kept", w.see(trace.ResponderIn, roce.SendOnly, 3, 5).Kept, true)
	w.want("kept", w.see(trace.ResponderIn, roce.SendLast, 2, 5).Kept, true)
	w.want("kept twice", w.see(trace.ResponderIn, roce.SendLast, 2, 5).Kept, false)
	w.see(trace.ResponderIn, roce.ReadRequest, 5, 0, dmaLen(3000))
	w.want("held", int(w.c.Held), 3)
	w.want("gap", w.c.GapOpen, true)
	w.see(trace.ResponderIn, roce.SendMiddle, 1, 1024)
	w.want("released", w.released(), "+2 +3")
	w.want("EPSN", w.c.EPSN, testStart.Add(4))
	w.want("MSN", w.c.MSN, psn.MSN(2))
	w.want("the next gap is open", w.c.GapOpen, true)
	w.see(trace.ResponderIn, roce.SendOnly, 4, 5)
	w.want("released", w.released(), "+5")
	w.want("EPSN beyond the READ", w.c.EPSN, testStart.Add(8))
	w.want("gap", w.c.GapOpen, false)
	w.want("held", int(w.c.Held), 0)
}

func TestKeepingOnlyTheNewest(t *testing.T) {
	w := newKeeper(t)
	w.c.responder.keep.rising = true
	w.want("kept", w.see(trace.ResponderIn, roce.SendOnly, 2, 5).Kept, true)
	w.want("below it", w.see(trace.ResponderIn, roce.SendOnly, 1, 5).Kept, false)
	w.want("above it", w.see(trace.ResponderIn, roce.SendOnly, 3, 5).Kept, true)
	w.see(trace.ResponderIn, roce.SendOnly, 0, 5)
	w.want("released", w.released(), "")
	w.see(trace.ResponderIn, roce.SendOnly, 1, 5)
	w.want("released", w.released(), "+2 +3")
}

// TestWhatNoSACKNamesWasDroppedWhenANAKComes: +2 was kept; +3 and later packets found no room (FaSR III-D).
func TestWhatNoSACKNamesWasDroppedWhenANAKComes(t *testing.T) {
	w := newKeeper(t)
	w.c.responder.keep.rising = true
	w.see(trace.ResponderIn, roce.SendOnly, 0, 5)
	for i := 2; i < 5; i++ {
		w.want("kept", w.see(trace.ResponderIn, roce.SendOnly, i, 5).Kept, true)
	}
	w.see(trace.ResponderOut, roce.FaSRSack, 1, 0, func(p *roce.Packet) { p.SACK.PSN = testStart.Add(2) })
	w.c.falls(sequenceNAK(1))
	w.want("held", int(w.c.Held), 1)
	w.want("kept when it goes back", w.see(trace.ResponderIn, roce.SendOnly, 6, 5).Kept, false)
	w.see(trace.ResponderIn, roce.SendOnly, 1, 5)
	w.want("released", w.released(), "+2")
	w.see(trace.ResponderIn, roce.SendOnly, 3, 5)
	w.want("released", w.released(), "")
	w.want("an ACK says that more was kept",
		w.c.attests(&roce.Packet{BTH: roce.BTH{Opcode: roce.Acknowledge, PSN: testStart.Add(4)}}), true)
	w.want("released", w.released(), "+4")
	w.see(trace.ResponderIn, roce.SendOnly, 5, 5)
	w.see(trace.ResponderIn, roce.SendOnly, 6, 5)
	w.want("kept behind all that was seen", w.see(trace.ResponderIn, roce.SendOnly, 8, 5).Kept, true)
}

// TestANAKTakesBackWhatOnlySeemedToBeKept: a NAK withdraws +1 and later packets, but not packets in order while no
// response was in doubt.
func TestANAKTakesBackWhatOnlySeemedToBeKept(t *testing.T) {
	w := newRisen(t)
	w.c.falls(sequenceNAK(1))
	w.want("EPSN", w.c.EPSN, testStart.Add(1))
	w.want("MSN", w.c.MSN, psn.MSN(1))
	w.see(trace.ResponderIn, roce.SendOnly, 1, 5)
	w.want("released", w.released(), "")
	w.want("EPSN", w.c.EPSN, testStart.Add(2))
	w.want("kept behind what was dropped", w.see(trace.ResponderIn, roce.SendOnly, 3, 5).Kept, false)
	w.see(trace.ResponderIn, roce.SendOnly, 2, 5)
	w.want("EPSN", w.c.EPSN, testStart.Add(3))
	w.c.falls(sequenceNAK(1))
	w.want("EPSN stays", w.c.EPSN, testStart.Add(3))
}

// TestALateNAKTakesBackNothingThatCameAgain: responses wait for their turn on a port, so a NAK may leave after the copy
// that it asked for has arrived.
func TestALateNAKTakesBackNothingThatCameAgain(t *testing.T) {
	w := newRisen(t)
	w.see(trace.ResponderIn, roce.SendOnly, 3, 5)
	w.see(trace.ResponderIn, roce.SendOnly, 1, 5)
	w.c.falls(sequenceNAK(1))
	w.want("EPSN", w.c.EPSN, testStart.Add(4))
	w.see(trace.ResponderIn, roce.SendOnly, 2, 5)
	w.c.falls(sequenceNAK(3))
	w.want("EPSN after a NAK of what rested on +1", w.c.EPSN, testStart.Add(3))
}

// TestALateNAKTakesBackNothingThatWasInOrder: no copies of +1 came before its ACK, so it was kept, and +2 was in order.
func TestALateNAKTakesBackNothingThatWasInOrder(t *testing.T) {
	w := newRisen(t)
	w.see(trace.ResponderOut, roce.Acknowledge, 1, 0)
	w.c.falls(sequenceNAK(2))
	w.want("EPSN", w.c.EPSN, testStart.Add(3))
}

// TestALateNAKTakesBackNothingThatWasReceived: the responder has reported the receive of +1, so it was executed.
func TestALateNAKTakesBackNothingThatWasReceived(t *testing.T) {
	w := newRisen(t)
	done := &trace.Event{Kind: trace.Recv, Side: w.c.Req.Other()}
	done.Body.PSN = testStart.Add(1)
	w.want("a completion releases", w.c.completes(done), false)
	w.c.falls(sequenceNAK(1))
	w.want("EPSN", w.c.EPSN, testStart.Add(3))
}

// TestWhatIsTakenBackHasItsPlaceAgain: a WRITE of which a NAK takes back +1 goes on at the address of +1.
func TestWhatIsTakenBackHasItsPlaceAgain(t *testing.T) {
	w := newKeeper(t)
	w.c.responder.keep.rising = true
	const mtu = 256
	w.c.MTU = mtu
	next := func() uint64 { return w.c.Place(&roce.Packet{BTH: roce.BTH{Opcode: roce.WriteMiddle}}) }
	w.see(trace.ResponderIn, roce.WriteMiddle, 1, mtu)
	w.see(trace.ResponderIn, roce.WriteFirst, 0, mtu, dmaLen(1024), func(p *roce.Packet) { p.RETH.VA = 0x1000 })
	w.want("released", w.released(), "+1")
	w.see(trace.ResponderIn, roce.WriteMiddle, 2, mtu)
	w.want("place of +3", next(), uint64(0x1300))
	w.c.falls(sequenceNAK(1))
	w.want("place of +1", next(), uint64(0x1100))
}

// newRisen returns a responder with KeepsNewest that has accepted +1, because it had come early, and +2 in order.
func newRisen(t *testing.T) *walk {
	w := newKeeper(t)
	w.c.responder.keep.rising = true
	w.see(trace.ResponderIn, roce.SendOnly, 1, 5)
	w.see(trace.ResponderIn, roce.SendOnly, 0, 5)
	w.want("released", w.released(), "+1")
	w.see(trace.ResponderIn, roce.SendOnly, 2, 5)
	return w
}

func sequenceNAK(off int) *roce.Packet {
	return &roce.Packet{BTH: roce.BTH{Opcode: roce.Acknowledge, PSN: testStart.Add(off)},
		AETH: roce.AETH{Syndrome: roce.SyndromePSNSeqErr}}
}

func TestKeepingIsBounded(t *testing.T) {
	w := newWalk(t, true)
	w.want("kept without the feature", w.see(trace.ResponderIn, roce.SendOnly, 1, 5).Kept, false)
	w = newWalk(t, true)
	w.c.PeerAttr.Params = engine.Params{"max_ooo_psn": "3"}
	w.c.responder.keep.reach = keepReach(&w.c, []string{"rc", KeepsEarly})
	w.want("kept at the bound", w.see(trace.ResponderIn, roce.SendOnly, 3, 5).Kept, false)
	w.want("kept below it", w.see(trace.ResponderIn, roce.SendOnly, 2, 5).Kept, true)
	w.c.PeerAttr.Params = engine.Params{"cap": "2"}
	w.want("reach of IRN", int(keepReach(&w.c, []string{"rc", KeepsEarly})), 2)
	for i := 900; i > 0; i-- {
		k := newKeeper(t)
		k.see(trace.ResponderIn, roce.SendOnly, i, 5)
		k.see(trace.ResponderIn, roce.SendOnly, i/2, 5)
		if !k.c.responder.keep.holds(testStart.Add(i)) {
			t.Fatalf("+%d is forgotten when the ring grows", i)
		}
	}
}

func TestKeptRequestsMayBeIllegal(t *testing.T) {
	w := newKeeper(t)
	w.see(trace.ResponderIn, roce.SendMiddle, 1, 1024)
	w.see(trace.ResponderIn, roce.SendOnly, 2, 5)
	w.see(trace.ResponderIn, roce.SendOnly, 0, 5)
	w.want("released", w.released(), "+1!")
	w.want("EPSN stays", w.c.EPSN, testStart.Add(1))
}

func TestRNRMakesReleasedRequestsWaitAgain(t *testing.T) {
	w := newKeeper(t)
	w.see(trace.ResponderIn, roce.SendOnly, 1, 5)
	w.see(trace.ResponderIn, roce.SendOnly, 2, 5)
	w.see(trace.ResponderIn, roce.SendOnly, 0, 5)
	w.want("released", w.released(), "+1 +2")
	w.see(trace.ResponderOut, roce.Acknowledge, 1, 0, ack(roce.SyndromeRNR+12))
	w.want("EPSN", w.c.EPSN, testStart.Add(1))
	w.want("held", int(w.c.Held), 1)
	w.see(trace.ResponderIn, roce.SendOnly, 1, 5)
	w.want("released", w.released(), "+2")
	w.want("MSN", w.c.MSN, psn.MSN(3))
}

func TestFNACKSaysThatAPacketWasDropped(t *testing.T) {
	w := newKeeper(t)
	fnack := func(p psn.PSN) func(*roce.Packet) { return func(x *roce.Packet) { x.SACK.PSN = p } }
	w.see(trace.ResponderIn, roce.FSendFirst+roce.SendOnly, 3, 5)
	w.see(trace.ResponderIn, roce.FSendFirst+roce.SendOnly, 1, 5)
	w.see(trace.ResponderOut, roce.FNACK, 0, 0, fnack(testStart.Add(1)))
	w.see(trace.ResponderIn, roce.FSendFirst+roce.SendOnly, 0, 5)
	w.want("released", w.released(), "")
	w.see(trace.ResponderOut, roce.FNACK, 0, 0, fnack(testStart.Add(3))) // a second copy of it
	w.see(trace.ResponderIn, roce.FSendFirst+roce.SendOnly, 1, 5)
	w.see(trace.ResponderIn, roce.FSendFirst+roce.SendOnly, 2, 5)
	w.want("released", w.released(), "+3")
}

func TestSelectiveAcknowledgementsAreCumulativeUpToTheirPSN(t *testing.T) {
	for _, o := range []roce.Opcode{roce.RACK, roce.IRNNack, roce.FaSRSack, roce.FaSRSackOverflow, roce.FNACK} {
		w := newWalk(t, true)
		for i := range 4 {
			w.see(trace.RequesterOut, roce.SendOnly, i, 1)
		}
		s := w.see(trace.RequesterIn, o, 2, 0, func(p *roce.Packet) { p.SACK.PSN = testStart.Add(3) })
		w.want(o.String(), w.c.UNA, testStart.Add(2))
		last, ok := Acknowledged(s.Pkt)
		w.want("acknowledged", ok && last == testStart.Add(1), true)
	}
}

// The first responses may be lost before the tap: they are missing, and the next one waits for them, whatever the PSN
// with which the space starts.
func TestFirstResponsesLost(t *testing.T) {
	for _, start := range []int{0, 5, -3, 1 << 20} {
		w := newWalk(t, true)
		number := func(sn, offset uint32) func(*roce.Packet) {
			return func(p *roce.Packet) { p.SO = roce.SOETH{SN: sn, Offset: offset} }
		}
		w.see(trace.RequesterOut, roce.XReadRequest, 0, 0, dmaLen(1032), number(7, 0))
		w.see(trace.RequesterOut, roce.XReadRequest, 1, 0, dmaLen(1032), number(8, 0))
		w.want("fourth", w.see(trace.RequesterIn, roce.XReadRespOnly-1, start+3, 8, number(8, 1024)).Relation, Ahead)
		w.want("first", w.see(trace.RequesterIn, roce.XReadRespFirst, start, 1024, number(7, 0)).Relation, InOrder)
		w.want("second", w.see(trace.RequesterIn, roce.XReadRespOnly-1, start+1, 8, number(7, 1024)).Relation, InOrder)
		w.want("third", w.see(trace.RequesterIn, roce.XReadRespFirst, start+2, 1024, number(8, 0)).Relation, InOrder)
		w.want("outstanding READs", w.c.OutstandingReads(), 0)
	}
}

func TestReadsNumberedApart(t *testing.T) {
	w := newWalk(t, true)
	const far = 1000 // where the responses begin to count
	w.see(trace.RequesterOut, roce.XReadRequest, 0, 0, dmaLen(3000))
	w.see(trace.RequesterOut, roce.XReadRequest, 1, 0, dmaLen(8))
	w.want("MAX", w.c.MAX, testStart.Add(2))
	w.want("outstanding READs", w.c.OutstandingReads(), 2)
	w.see(trace.RequesterIn, roce.Acknowledge, 1, 0, ack(roce.SyndromeACK))
	w.want("UNA", w.c.UNA, testStart.Add(2))
	w.want("answered by the ACK", w.c.Answered(testStart), false)
	for i, o := range []roce.Opcode{roce.XReadRespFirst, roce.XReadRespFirst + 1, roce.XReadRespFirst + 2,
		roce.XReadRespOnly} {
		w.want("relation out", w.see(trace.ResponderOut, o, far+i, 1024).Relation, First)
	}
	w.want("relation again", w.see(trace.ResponderOut, roce.XReadRespFirst, far, 1024).Relation, Again)
	w.want("in", w.see(trace.RequesterIn, roce.XReadRespFirst, far, 1024).Relation, InOrder)
	w.want("in", w.see(trace.RequesterIn, roce.XReadRespOnly, far+3, 8).Relation, Ahead)
	w.see(trace.RequesterIn, roce.XReadRespFirst+2, far+2, 952)
	w.want("held", w.c.Reads.Held, 2)
	w.want("the second READ waits for the first", w.c.Answered(testStart.Add(1)), false)
	w.see(trace.RequesterIn, roce.XReadRespFirst+1, far+1, 1024)
	w.want("EPSN of the responses", w.c.Reads.EPSN, testStart.Add(far+4))
	w.want("answered", w.c.Answered(testStart) && w.c.Answered(testStart.Add(1)), true)
	w.want("outstanding READs", w.c.OutstandingReads(), 0)
	w.see(trace.ResponderIn, roce.IRNReadAck, far+2, 0)
	w.want("UNA of the responses", w.c.Reads.UNA, testStart.Add(far+2))
	w.want("UNA of the requests", w.c.UNA, testStart.Add(2))
	w.want("EPSN of the requests", w.c.EPSN, testStart)
}

// TestReadDataOfARequesterThatKeepsTheNewest: responses below the newest kept one are dropped, and must be sent again.
func TestReadDataOfARequesterThatKeepsTheNewest(t *testing.T) {
	w := newWalk(t, true)
	w.c.rising = true
	w.see(trace.RequesterOut, roce.XReadRequest, 0, 0, dmaLen(3000))
	w.see(trace.RequesterIn, roce.XReadRespFirst, 0, 1024)
	w.see(trace.RequesterIn, roce.XReadRespFirst+2, 3, 952)
	w.want("below the newest", w.see(trace.RequesterIn, roce.XReadRespFirst+1, 2, 1024).Kept, false)
	w.see(trace.RequesterIn, roce.XReadRespFirst+1, 1, 1024)
	w.want("EPSN of the responses", w.c.Reads.EPSN, testStart.Add(2))
	w.see(trace.RequesterIn, roce.XReadRespFirst+1, 2, 1024)
	w.want("EPSN of the responses", w.c.Reads.EPSN, testStart.Add(4))
}

// TestReadIsAwaitedHoweverMuchFollows acknowledges so many requests after a READ that the window has reused its entry.
func TestReadIsAwaitedHoweverMuchFollows(t *testing.T) {
	w := newWalk(t, true)
	w.see(trace.RequesterOut, roce.XReadRequest, 0, 0, dmaLen(3000))
	for i := range 100 {
		w.see(trace.RequesterOut, roce.XSendFirst+roce.SendOnly, 1+i, 64)
		w.see(trace.RequesterIn, roce.Acknowledge, 1+i, 0, ack(roce.SyndromeACK))
	}
	w.want("the window has the READ", w.c.Sent(testStart) != nil, false)
	w.want("answered", w.c.Answered(testStart), false)
	w.see(trace.RequesterIn, roce.XReadRespFirst, 0, 1024)
	w.see(trace.RequesterIn, roce.XReadRespFirst+2, 1, 1024)
	w.want("answered by its data", w.c.Answered(testStart), true)
}

// TestWhatHasNoReceiveIsNotKept: "tells" is set when receives are reported, "direct" when out-of-order packets are
// placed at once.
func TestWhatHasNoReceiveIsNotKept(t *testing.T) {
	const sendOnly, writeImm = roce.XSendFirst + roce.SendOnly, roce.XSendFirst + roce.WriteOnlyImm
	number := func(sn uint32) func(*roce.Packet) { return func(p *roce.Packet) { p.SO.SN = sn } }
	w := newKeeper(t)
	w.c.responder.keep.direct, w.c.responder.tells = true, true
	w.c.event(&trace.Event{Kind: trace.Receive, Side: w.c.Req.Other()})
	w.c.event(&trace.Event{Kind: trace.Receive, Side: w.c.Req}) // of the other half
	w.want("the first has one", w.see(trace.ResponderIn, sendOnly, 1, 5, number(0)).Kept, true)
	w.want("the second has none", w.see(trace.ResponderIn, sendOnly, 2, 5, number(1)).Kept, false)
	w.want("nor has an immediate", w.see(trace.ResponderIn, writeImm, 3, 5, number(1)).Kept, false)
	w.want("a WRITE needs none", w.see(trace.ResponderIn, roce.XSendFirst+roce.WriteOnly, 4, 5).Kept, true)
	w.c.event(&trace.Event{Kind: trace.Receive, Side: w.c.Req.Other()})
	w.want("now it has", w.see(trace.ResponderIn, sendOnly, 2, 5, number(1)).Kept, true)
	w.c.responder.tells = false
	w.want("nobody tells", w.see(trace.ResponderIn, sendOnly, 5, 5, number(9)).Kept, false)
	w.want("which is in doubt", w.c.responder.keep.find(testStart.Add(5)).doubt, true)
}

// TestDoubtIsSettledByWhatTheResponderSays: a receive may be posted between the arrival of a request and its turn.
func TestDoubtIsSettledByWhatTheResponderSays(t *testing.T) {
	const sendOnly = roce.XSendFirst + roce.SendOnly
	newDirect := func() *walk {
		w := newKeeper(t)
		w.c.responder.keep.direct, w.c.responder.tells = true, true
		for i := 1; i < 4; i++ {
			w.see(trace.ResponderIn, sendOnly, i, 5, func(p *roce.Packet) { p.SO.SN = uint32(i) })
		}
		return w
	}
	nack := &roce.Packet{BTH: roce.BTH{Opcode: roce.IRNNack, PSN: testStart}, SACK: roce.SACKETH{PSN: testStart.Add(2)}}
	ack := &roce.Packet{BTH: roce.BTH{Opcode: roce.Acknowledge, PSN: testStart.Add(2)}}

	w := newDirect()
	w.want("a NACK names one", w.c.attests(nack), true)
	w.want("nothing new", w.c.attests(nack), false)
	w.see(trace.ResponderIn, sendOnly, 0, 5)
	w.want("released", w.released(), "")
	w.want("an ACK covers the other", w.c.attests(ack), true)
	w.want("released", w.released(), "+1 +2")

	w = newDirect()
	w.want("an ACK of what is missing", w.c.attests(ack), false)
	w.see(trace.ResponderIn, sendOnly, 0, 5)
	done := &trace.Event{Kind: trace.Recv, Side: w.c.Req.Other()}
	done.Body.PSN = testStart.Add(1)
	w.want("a completion", w.c.completes(done), true)
	w.want("released", w.released(), "+1")
}

// TestWhatNamesAReceiveIsInDoubtBehindARefusal: a later SEND has no receive either, but a WRITE needs none.
func TestWhatNamesAReceiveIsInDoubtBehindARefusal(t *testing.T) {
	w := newKeeper(t)
	w.c.responder.keep.direct = true
	w.see(trace.ResponderIn, roce.XSendFirst+roce.SendOnly, 0, 5)
	w.see(trace.ResponderIn, roce.XSendFirst+roce.SendOnly, 1, 5)
	w.see(trace.ResponderIn, roce.XSendFirst+roce.WriteOnly, 2, 5, dmaLen(5))
	w.see(trace.ResponderOut, roce.Acknowledge, 0, 0, ack(roce.SyndromeRNR+12))
	w.want("held", int(w.c.Held), 1)
	w.see(trace.ResponderIn, roce.XSendFirst+roce.SendOnly, 0, 5)
	w.want("released", w.released(), "")
	w.see(trace.ResponderIn, roce.XSendFirst+roce.SendOnly, 1, 5)
	w.want("released", w.released(), "+2")
}
