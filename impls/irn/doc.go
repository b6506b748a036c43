// Package irn implements IRN: selective retransmission with a bitmap per QP at either end, and a cap of one
// bandwidth-delay product on the packets in flight.
//
// Every packet carries its own address, so that a responder places out-of-order packets at once and needs no buffer for
// them. Every out-of-order packet draws a NACK with the expected PSN and its own PSN; the sender retransmits the
// missing packets below the highest PSN that arrived, each once in a recovery. Completions and the MSN are delayed, by
// means of a 2-bitmap, until all earlier packets have arrived. READ responses have their own PSN space, and the
// requester acknowledges them.
//
// Source: Mittal et al., Revisiting Network Support for RDMA (IRN); "IRN 3.1" and the like are its sections. Questions
// that the paper leaves open are settled by the logic that its authors published (NetSys/irn-vivado-hls), whose
// variables are named in sender.go. Start reading at sender.go and receiver.go, which are the scheme, then place.go.
//
// Not done here: congestion control, SEND with invalidate (which needs the order that early placement gives up), and
// the checks below the transport, which are the driver's.
package irn

// Choices where the paper is silent, and differences from the paper, by its sections:
//
//	3.1  The first NACK begins recovery, even if it also acknowledges packets; the published logic waits for the next.
//	     A NACK whose expected PSN is not the oldest unacknowledged PSN was overtaken; only its SACK is used.
//	3.1  An acknowledgement that does not end recovery makes the published logic retransmit the new oldest packet, also
//	     when it is merely on its way, and each such retransmission puts the end of recovery off: when one NACK is lost
//	     every ACK may bring a retransmission for ever. The code follows the paper's sentence, see sender.partial.
//	3.1  The search for holes runs when a NACK arrives or a retransmission is sent, not with the next transmission, so
//	     that no new packet is sent between. A lost retransmission is found by the timer or by the next recovery.
//	3.1  The timer starts again with every advance and when the oldest packet is retransmitted. A timeout costs a retry.
//	3.2  Defaults of the cap and of the timeouts: see Params. READ responses have a separate cap of the same size.
//	5.2  rPSNs begin with the requester's first PSN. READ_(N)ACK is one opcode: the syndrome tells ACK from NACK. The
//	     answer to an atomic is numbered and acknowledged like a READ response. When only READ data is missing the
//	     requester's timer repeats the READ request, which revives a responder that has spent its retries.
//	5.3  The RETH of a later WRITE packet has the address of that packet, and as length the bytes of the message from
//	     there on. A packet that would be refused in order is not placed early: it is dropped without an answer and
//	     checked when it is retransmitted. The opcode sequence of early packets is not checked.
//	5.3  After an RNR wait all packets that no NACK has named are sent again, since SENDs without a receive were
//	     dropped. RC packets, of a peer without the extension, are accepted and executed in order; its READs and
//	     atomics are refused.
