// Package srnic is a baseline after SRNIC: IRN's decisions on FaSR's wire, with the bitmaps in host memory, for which
// the receive pipeline of the NIC has to wait.
//
// "SRNIC solved this issue by uploading bitmaps to host and relying on the CPU to perform SR, which indeed saves
// on-chip memory within the RNIC. However, its connection scalability is achieved at the expense of throughput in lossy
// networks. Because the receiver needs to pause the pipeline to wait for the CPU's bitmap query results after receiving
// the retransmitted packet" (FaSR II-A). The engine is that of package irn; pipeline.go is the waiting for queries, one
// pipeline for all QPs of an endpoint.
//
// Source: the statements and measurements of SRNIC in Huang et al., Fast and Scalable Selective Retransmission for RDMA
// (FaSR) (Wang et al., SRNIC: A Scalable Architecture for RDMA NICs, NSDI 2023); "II-A" and the like are sections of
// the former.
//
// Not implemented: the other subjects of SRNIC, that is, which state is on the chip and how work requests are fetched.
package srnic

// Choices where the source is silent, by its sections:
//
//	II-A  How many queries a loss costs is not said. With two of 1.4 us the loss of throughput is 24 % at 1 % loss and
//	      100 Gb/s, and the paper measures 25 % (V-B); with one it is 13.7 %. Two is the default (queries): the
//	      arrival of a retransmission is looked up, and RCV-NXT is updated. The sender asks once for each
//	      retransmission that it collects.
//	II-A  The answers and completions that a packet causes wait for its queries, and so do the other packets that the
//	      QP could send meanwhile. Later packets, of any QP, wait in order in a buffer of a given size.
//	V-A   "SRNIC adds 12B of state overhead per QP": the layout is not given, and not modelled beyond its size.
//	IV-D  The wire is FaSR's with a lost-cnt of zero. A later packet of a WRITE has no R_Key, so that an
//	      out-of-order packet waits in a reorder store, as in FaSR. There are no atomics, nor SEND with invalidate.
//	IV-D  The syndrome distinguishes READ_ACK from READ_NACK; the rest is as in package irn.
