// Package lowar implements LoWAR: forward error correction as a shim between a reliable connection and UDP. The sender
// adds repair packets, each the XOR of data packets; the receiver recovers lost packets from them, so that the
// transport above does not see the loss. The shim does not change the packets of the transport, and the transport is
// not aware of the shim: Over puts it under any engine that uses RC packets.
//
// A block is up to r packets of one message. Its packets are assigned in turn to c coding units, and when the block
// ends each unit is sent as one repair packet. A unit recovers one packet, so a burst of up to c losses is repaired.
//
// Source: Zuo et al., LoWAR: Enhancing RDMA over Lossy WANs with Transparent Error Correction; "IV-B1" and the like are
// its sections. Start reading at encoder.go and decoder.go, which are the scheme; unit.go and reorder.go are its
// memory, and half.go connects them with the engine above. A requester encodes requests and decodes READ responses, a
// responder the reverse.
//
// Not done here: congestion control, and the checks below the transport, which are the driver's.
package lowar

// Choices where the paper is silent or contradicts itself, by its sections:
//
//	Alg. 1   Line 5 ends a block when i mod c = 0, which would make a repair packet for every c packets. The text says
//	         "If a packet ends its corresponding message or coding block", and Figure 6 counts r packets to a block:
//	         so here.
//	Alg. 1   Units e_1 to e_c with index i mod c: here zero-based positions in the block, as Figure 6 has them.
//	IV-A     Coded are SEND, WRITE and READ response packets of the RC class. ACKs, NAKs, READ requests and atomics
//	         are not, nor are the opcodes of the extension classes.
//	IV-B1    The effect of a retransmission on a block is open: here a packet that does not follow the one before it
//	         discards the open block, for which no repair packet is sent, and begins another.
//	IV-B2    A block fails if two packets of a unit are missing when its repair packet arrives, if a packet of a later
//	         block arrives while one is missing, if the ROB is full, and if a packet has been missing for t_rob.
//	         The paper gives no time; it must exceed the time that a block takes, and be short against the transport
//	         timer.
//	IV-B2    "stop tracking the connection until its retransmission arrives" makes sense above go-back-N. For an engine
//	         that keeps out-of-order packets (feature "sr") only the missing packets are retransmitted: there tracking
//	         continues with the next block.
//	IV-B2    After a timeout of the transport the sender's blocks may begin elsewhere than the receiver assumes. A
//	         repair packet shows where a block ended, and so where the next begins.
//	IV-C     Layout of the header: see roce.Repair. XORed is the packet from the BTH to the end of the padding without
//	         its byte 4, which routers may change.
//	IV-C     A repair packet has a check value beside the XOR, by which the receiver rejects a packet recovered from
//	         two different transmissions: see roce.Repair.
//	IV-C     (r, c) of both ends come from the same parameters. ANNOUNCE and FEEDBACK are sent with adaptive alone,
//	         whose controller (adapt.go) is not the paper's: "LoWAR itself does not mandate specific adaptive
//	         algorithms".
//	V        When no unit is free a block is sent without protection, and counted.
