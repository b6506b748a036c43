// Package fasr is FaSR: selective retransmission that keeps state only for QPs in recovery, in pools that all QPs of an
// endpoint share, and that needs no bitmap while one packet is missing.
//
// A receiver counts what is missing (lost-cnt). With one packet missing it is on the fast path: packets behind only
// move sack-high, and the retransmission takes RCV-NXT behind all of them. With more it is on the slow path and records
// arrivals in a list of bitmap blocks. Every packet out of order draws a SACK with lost-cnt, by which the sender tells
// the loss of data from that of SACKs. A QP takes one SR state unit when its recovery begins and gives it back at the
// end; when the pool is exhausted, it goes back N until then.
//
// Source: Huang et al., Fast and Scalable Selective Retransmission for RDMA; "III-B1" and the like are its sections.
// Start reading at receiver.go and sender.go, which are the scheme; pool.go and bitmap.go are its memory. A requester
// is a sender of requests and a receiver of READ responses, a responder the reverse.
//
// Not done here: congestion control, atomics and SEND with invalidate (the paper has no packets for them), and the
// checks below the transport, which are the driver's.
package fasr

// Where the paper is silent, or does not hold together, this is what is done.
//
//	III-B1  What a second copy of the highest packet draws is not said: the SACK again. Between RCV-NXT and sack-high
//	        the receiver cannot tell a copy from a retransmission, and FNACKs both.
//	III-B1  ACKs: asked for (AckReq) when all is in order, at once when RCV-NXT is filled in recovery.
//	III-B2  "lost-cnt increases" misses a loss that hides behind a repair between two SACKs; RTO or FNACK find it.
//	        lostcnt_credit changes that, and is not the paper.
//	III-B2  When the first SACK is lost, packets that arrived are sent again. lc1_exact changes that, and is not the
//	        paper.
//	III-C1  The unit has five places, IRN's. Here there are four, since the reorder store remembers where messages end;
//	        the accounting (account.go) has five.
//	III-D   compression-cnt beyond ten bits: what exceeds it is written out in blocks.
//	III-D   Fallback to go-back-N ends when RCV-NXT has passed the highest PSN that was seen, dropped or not; the NAK
//	        is sent once per RCV-NXT. A sender that finds no unit goes back N; one that finds no block keeps
//	        recovering, and its timeouts go back N.
//	III-D   The sender acts on an FNACK only when it is about UNACK. Timeouts cost a retry; FNACKs, SACKs and NAKs,
//	        which show that the peer is alive, cost none.
//	III-D   Retransmissions leave before new data, also that of the endpoint's other QPs, and in PSN order; the FNACK
//	        rule means nothing otherwise. QPs that have some take turns.
//	IV-B    RTO: max(3 RTT, RTT + half a window), see config.rto. Shorter than the RTT, it makes every packet go twice:
//	        the variable rto_below_rtt warns of it.
//	IV-D    MSN and offset take eight bytes, not six. READ responses have PSNs of their own, which begin with those of
//	        the requests that they answer; their answers go under one opcode (answer.go). A responder sends them again
//	        on its own RTO, RetryCount times, and again when the READ request comes again.
//	IV-D    SEND and WRITE packets without the extension, those of RC, are executed too; its READs and atomics are
//	        refused.
//	IV-D    Out-of-order data waits in the reorder store, is checked in its turn, and must be where its own header
//	        says. A request that finds no receive stays there with all behind it (IBTA's RNR NAK; the paper has no
//	        word on it).
