// Package fasr implements FaSR: selective retransmission that keeps state only for QPs in recovery, in pools that all
// QPs of an endpoint share, and that needs no bitmap while only one packet is missing.
//
// A receiver counts the missing packets (lost-cnt). With one packet missing it is on the fast path: later packets only
// move sack-high, and the retransmission moves RCV-NXT past all of them. With more it is on the slow path and records
// arrivals in a list of bitmap blocks. Every out-of-order packet draws a SACK with lost-cnt, by which the sender
// distinguishes the loss of data from the loss of SACKs. A QP takes one SR state unit when its recovery begins and
// returns it at the end; if the pool is exhausted, the QP uses go-back-N until recovery is complete.
//
// Source: Huang et al., Fast and Scalable Selective Retransmission for RDMA; "III-B1" and the like are its sections.
// Start reading at receiver.go and sender.go, which are the scheme; pool.go and bitmap.go are its memory. A requester
// is a sender of requests and a receiver of READ responses, a responder the reverse.
//
// Not done here: congestion control, atomics and SEND with invalidate (the paper has no packets for them), and the
// checks below the transport, which are the driver's.
package fasr

// Choices where the paper is silent or contradicts itself, by its sections:
//
//	III-B1  The answer to a second copy of the highest packet is open: here the SACK is repeated. Between RCV-NXT and
//	        sack-high the receiver cannot tell a copy from a retransmission, and FNACKs both.
//	III-B1  ACKs: in order, for packets with AckReq; in recovery, at once when RCV-NXT moves.
//	III-B2  "lost-cnt increases" misses a loss if another loss is repaired between the same two SACKs; RTO or FNACK
//	        find it.
//	        lostcnt_credit changes that, and is not the paper.
//	III-B2  When the first SACK is lost, packets that arrived are retransmitted. lc1_exact changes that, and is not
//	        the paper.
//	III-C1  The unit has five places, IRN's. Here there are four, since the reorder store remembers where messages end;
//	        the accounting (account.go) has five.
//	III-D   compression-cnt beyond ten bits: the rest of the run is recorded in blocks.
//	III-D   Fallback to go-back-N ends when RCV-NXT has passed the highest PSN that arrived, dropped or not; the NAK is
//	        sent once per RCV-NXT. A sender without a unit goes back N; a sender without a block stays in recovery, and
//	        its timeouts go back N.
//	III-D   The sender acts on an FNACK only if its expected PSN is UNACK. Timeouts cost a retry; FNACKs, SACKs and
//	        NAKs, which show that the peer is alive, cost none.
//	III-D   Retransmissions are sent before new data, including that of the endpoint's other QPs, and in PSN order;
//	        otherwise the FNACK rule has no meaning. QPs with retransmissions take turns.
//	IV-B    RTO: max(3 RTT, RTT + half a window), see config.rto. An RTO below the RTT makes every packet be sent
//	        twice: the variable rto_below_rtt warns of it.
//	IV-D    MSN and offset take eight bytes, not six. READ responses have their own PSN space, which begins with the
//	        first PSN of the requests; the answers to them have one opcode (answer.go). A responder retransmits them on
//	        its own RTO, RetryCount times, and again when the READ request is repeated.
//	IV-D    SEND and WRITE packets without the extension, those of RC, are executed too; its READs and atomics are
//	        refused.
//	IV-D    Out-of-order packets wait in the reorder store and are checked in PSN order; the address in the header of
//	        a packet must equal the address that follows from its message. A request that lacks a receive stays in the
//	        store, as do all later packets (IBTA's RNR NAK; the paper does not mention this case).
