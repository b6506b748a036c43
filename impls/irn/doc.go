// Package irn is IRN: selective retransmission with a bitmap per QP at either end, and a cap of one bandwidth-delay
// product on what is in flight.
//
// Every packet says where it goes, so that a responder places what comes early at once and has no buffer for it. Every
// arrival out of order draws a NACK with the expected PSN and the one that arrived; the sender retransmits what is
// missing below the highest that arrived, each once in a recovery. Completions and the MSN wait for their turn in a
// 2-bitmap. READ responses have sequence numbers of their own, and the requester acknowledges them.
//
// Source: Mittal et al., Revisiting Network Support for RDMA (IRN); "IRN 3.1" and the like are its sections. What it
// leaves open is settled by the logic that its authors published (NetSys/irn-vivado-hls), whose variables are named in
// sender.go. Start reading at sender.go and receiver.go, which are the scheme, then place.go.
//
// Not done here: congestion control, SEND with invalidate (which needs the order that early placement gives up), and
// the checks below the transport, which are the driver's.
package irn

// Where the paper is silent, or this differs, this is what is done.
//
//	3.1  The first NACK begins recovery, also one that acknowledges something; the published logic waits for the next.
//	     A NACK whose expected PSN is not the oldest unacknowledged, which was overtaken, tells only what arrived.
//	3.1  An acknowledgement that does not end recovery makes the published logic retransmit the new oldest packet, also
//	     when it is merely on its way, and each such retransmission puts the end of recovery off: when one NACK is lost
//	     every ACK may bring a retransmission for ever. The paper's sentence is kept to instead, see sender.partial.
//	3.1  The search for holes is done when a NACK comes or a retransmission leaves, not with the next transmission, so
//	     that no new packet goes between. A lost retransmission is found by the timer or by the next recovery.
//	3.1  The timer starts again with every advance and when the oldest packet is retransmitted. A timeout costs a retry.
//	3.2  Defaults of the cap and of the timeouts: see Params. READ responses have a cap of their own, of the same size.
//	5.2  rPSNs begin with the requester's first PSN. READ_(N)ACK is one opcode: the syndrome tells ACK from NACK. The
//	     answer to an atomic is numbered and acknowledged like a READ response. When only READ data is missing the
//	     requester's timer repeats the READ request, which revives a responder that has spent its retries.
//	5.3  The RETH of a later WRITE packet has the address of that packet, and as length what is left of the message
//	     from there. What would not be fine in its turn is not placed early: it is dropped in silence and judged when
//	     it comes again. Early packets are not held against the opcodes before and after them.
//	5.3  After an RNR wait everything is sent again that no NACK has named, since SENDs without a receive were dropped.
//	     Packets of RC are understood, for a peer without the extension, and wait for their turn; its READs and atomics
//	     are refused.
