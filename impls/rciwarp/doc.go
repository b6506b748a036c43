// Package rciwarp is iWARP on a reliable connection: RDMAP over DDP over MPA over a TCP stream. It is the baseline to
// which datagram-iWARP (package writerecord) is compared.
//
// A stream is one QP: a state machine that produces FPDUs and consumes bytes, independent of TCP segments. On the netns
// bench it runs over the TCP of the kernel; in virtual time and with tcp=lite it runs over package tcplite. Both send
// each FPDU as one segment (RFC 5044, 5: aligned). The side with the lower QPN opens the connection.
//
// Sources: RFC 5040 (RDMAP), RFC 5041 (DDP), RFC 5044 (MPA); Grant, Rashti, Balaji and Afsahi, RDMA Capable iWARP over
// Datagrams, IV-A, which uses it as the baseline. Start reading at stream.go; send.go, receive.go and read.go are the
// operations, startup.go and terminate.go begin and end a stream, conn.go is the connection of TCP-lite.
//
// Deviations and gaps that were closed:
//
//	RFC 5044, 7.1   Revision 1. An initiator that has nothing to send when the reply comes sends an empty WRITE,
//	                because the responder must wait for an FPDU; RFC 6581 has the same device, and negotiates it.
//	RFC 5040, 5.5   SEND and WRITE complete when the peer's TCP has acknowledged them, not when TCP has taken them:
//	                later than a stack may, and no promise that the peer accepted them. READ completes when all data
//	                is in place.
//	QP attributes   MTU, start PSNs (but for TCP-lite's first sequence number), timers, RetryCount and RNRRetry are
//	                those of RoCE and mean nothing here: mss is TCP's, min_rto, retries and rwnd are TCP-lite's, and
//	                the kernel has its own. There is no RNR: a SEND without a receive ends the stream (RFC 5041, 5).
//	RFC 5044, 5     Over the kernel's TCP an FPDU is cut in two when the segment has room for less than when the
//	                connection was established: behind SACK blocks, which an end sends that lacks data itself. Its
//	                receiver does not mind.
//	RFC 5040, 4.8   A Terminate carries the length and the DDP header of the segment, and the body of a READ request.
//	                It ends both directions: each side closes its half and flushes its outstanding requests.
//	RFC 5041, 7     A region is known by its key and address together, so an address outside every region is reported
//	                as an invalid STag; one that begins inside and ends outside, as a base or bounds violation.
//	RFC 5040, 5.1   READs beyond the depth of the peer's queue are refused, as a missing buffer; the initiator's own
//	                limit is MaxRdAtomic. Private data, in which RFC 6581 exchanges the depths, is empty.
//
// Not here: immediate data and atomics (RFC 7306), shared receive queues, and recovery other than TCP's. SEND with
// solicited event is sent as such and completes like any other.
package rciwarp
