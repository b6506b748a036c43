// Package pseudoack is the RDMA WAN accelerator with pseudo-ACKs: a box in the path near Local that acknowledges SENDs
// and WRITEs at once, so that the queue depth of Local's NIC no longer bounds what is in flight on the WAN.
//
//	Local ---- LAN ---- box ------------- WAN ------------- Remote
//	      requests -->        the same requests -->
//	      <-- pseudo-ACKs               <-- ACKs, which end here
//
// Both ends are unmodified. To Local the box is a Remote that is close by; to Remote it is a Local that never stalls.
// Per flow, which is the requests of one QP of Local, it keeps five PSNs:
//
//	   wan_una           wan_nxt                 exp_psn
//	------+------------------+----------------------+---------> PSN
//	      |  sent on the WAN | waits for the WAN    |
//	      |------- the buffer, which holds all -----|
//	   acked: what Local has been told; anywhere between wan_una and exp_psn, and wan_max, the furthest of wan_nxt
//
// Source: H. Masutani, J. Ichikawa, K. Inoue, "Long-distance RDMA-acceleration Frameworks", NTT Technical Review,
// section
// 5. Start reading at box.go, then local.go (what Local sends), remote.go (what Remote answers) and recover.go.
//
// # What the paper leaves open, and what is done here
//
// The paper reproduces "packet sequence number (PSN), destination QP number (dstQPN), and message sequence number
// (MSN)" and says no more about the box. These are our decisions:
//
//   - Loss on the WAN. The paper assumes none. Here the box keeps what it has promised and goes back N from its buffer
//     on
//     a NAK, an RNR NAK or wan_rto. With buffer=0 it keeps nothing, as in the paper: a packet that the WAN loses is a
//     broken promise, which is counted and ends the connection with NAK 0x63 instead of in silence.
//   - Beyond the buffer there are no promises, which is back-pressure: Local's own queue depth stops it.
//   - A READ or an atomic is never promised, nor is anything behind it until it is answered: an ACK of a later request
//     is an
//     implied NAK of the READ (IBTA 9.7.5.1). Lost READ responses are asked for again by the box.
//   - READ responses that the box has asked for again get the opcodes of their place in Local's READ. Those that the
//     LAN
//     loses are asked for again by Local and replayed by Remote, which then sees a READ of what it has answered.
//   - A gap on the LAN is answered with NAK 0x60 as a responder does, but only when all before it may be promised,
//     because
//     the NAK acknowledges it.
//   - Without connection management the box promises nothing until the first real ACK has told the number of Local's QP
//     and
//     the MSN. It recovers from WAN loss meanwhile as it does later, but a gap on the LAN is left to Local's timer.
//   - A DREQ of Local waits in the box until Remote has everything that Local was promised.
//   - Fatal NAKs of Remote for what was promised become NAK 0x63 for the next request. Others pass unchanged.
//   - One box; requests of Remote pass through it and are not accelerated.
//   - ACKs go out where AckReq asks for one, as Remote's would, and not for every packet.
//
// Completions mean less than without the box: Local's CQE says that the box has the data, not that Remote has.
package pseudoack
