// Package pseudoack is the RDMA WAN accelerator with pseudo-ACKs: a box in the path near Local that acknowledges SENDs
// and WRITEs at once, so that the queue depth of Local's NIC no longer limits the packets in flight on the WAN.
//
//	Local ---- LAN ---- box ------------- WAN ------------- Remote
//	      requests -->        the same requests -->
//	      <-- pseudo-ACKs               <-- ACKs, which end here
//
// Both ends are unmodified. To Local the box looks like a nearby Remote; to Remote it looks like a Local that never
// stalls. A flow is the requests of one QP of Local. Per flow the box keeps five PSNs:
//
//	   wan_una           wan_nxt                 exp_psn
//	------+------------------+----------------------+---------> PSN
//	      |  sent on the WAN | waits for the WAN    |
//	      |------- the buffer, which holds all -----|
//	   acked: all before it is acknowledged to Local; max: the highest wan_nxt so far
//
// Source: H. Masutani, J. Ichikawa, K. Inoue, "Long-distance RDMA-acceleration Frameworks", NTT Technical Review,
// section 5. Start reading at box.go, then local.go (requests of Local), remote.go (responses of Remote) and
// recover.go.
//
// # Decisions that the paper leaves open
//
// The paper reproduces "packet sequence number (PSN), destination QP number (dstQPN), and message sequence number
// (MSN)" and says no more about the box. The decisions here are:
//
//   - Loss on the WAN. The paper assumes none. A promise is a pseudo-ACK of a request that Remote has not acknowledged.
//     The box buffers the requests that it has promised and goes back N on a NAK, an RNR NAK or wan_rto. With buffer=0
//     it keeps nothing, as in the paper: a packet that the WAN loses is a broken promise, which is counted and ends the
//     connection with NAK 0x63 instead of in silence.
//   - Requests beyond the size of the buffer are not promised. This is back-pressure: Local stops when its queue is
//     full.
//   - A READ or an atomic is never promised, and a later request only when the READ or atomic has been answered: an ACK
//     of a later request is an implied NAK of the READ (IBTA 9.7.5.1). The box requests lost READ responses again.
//   - READ responses that the box has requested again get the opcodes of their place in Local's READ. Responses that
//     the LAN loses are requested again by Local and replayed by Remote, which sees a duplicate READ.
//   - A gap on the LAN is answered with NAK 0x60, as by a responder, but only when every request before the gap may be
//     promised, because the NAK acknowledges them.
//   - Without connection management the box promises nothing until the first real ACK shows the number of Local's QP
//     and the MSN. Until then it recovers from loss on the WAN as usual, but leaves a gap on the LAN to Local's timer.
//   - A DREQ of Local waits in the box until Remote has acknowledged every request in the buffer.
//   - A fatal NAK by Remote of a promised request becomes NAK 0x63 of the next request. Other fatal NAKs are forwarded
//     unchanged.
//   - There is one box; requests of Remote are forwarded and not accelerated.
//   - A pseudo-ACK answers a packet with AckReq, as an ACK by Remote would, and not every packet.
//
// A completion guarantees less than without the box: Local's CQE means that the box has the data, not that Remote has
// it.
package pseudoack
