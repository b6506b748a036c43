// Package writerecord is datagram-iWARP: send/receive and RDMA Write-Record over UDP, without connections and without
// retransmission.
//
// A source divides a message into segments, passes each to UDP as one datagram, and completes the request with the last
// one. A target places segments as they arrive, in any order. A SEND takes a posted receive and completes when all of
// its bytes have arrived. A Write-Record takes none: the target logs the bytes that it has written, and declares them
// valid when the last segment arrives. Lost segments are not sent again; the log shows the bytes that have arrived.
//
// Source: Grant, Rashti, Balaji and Afsahi, RDMA Capable iWARP over Datagrams; "IV-B3" and the like are its sections.
// Start reading at source.go and target.go; receive.go and record.go are the two operations, chunks.go is the log.
//
// All connections of an endpoint are one datagram QP with one receive queue: see Host. Not implemented: RDMA READ,
// which the paper leaves to later work; SEND with invalidate or solicited event; the socket interface of section V-A.
package writerecord

// Decisions where the paper is silent or contradicts itself.
//
//	IV-B    "CRC32": CRC32c, as iWARP has it in MPA.
//	IV-B    The layout of a Write-Record segment: package iwarp. There is no padding before the CRC, because it
//	        could not be distinguished from payload without a length field.
//	IV-B    "64KB": a UDP payload over IPv4 has 65507 bytes at most. Segments carry 65000 unless a parameter says
//	        otherwise.
//	IV-B1   A SEND longer than a datagram is segmented and reassembled by the stack, though the paper recommends that
//	        the application does it; "the entire message must be discarded" (IV-B4) needs it.
//	IV-B1   A message that is incomplete t_reasm after its first segment is given up: its buffer returns to the head
//	        of the receive queue, and the loss is reported. Duplicates within t_reasm of the first segment are not
//	        taken for new messages.
//	IV-B3   Placement or declaration "as they arrive" (VI-A2): placed on arrival, declared when the last segment
//	        arrives.
//	IV-B3   A segment after the last one adds a completion for its bytes; no declaration is ever withdrawn.
//	IV-B3   The log of a message is kept for t_rec after its first segment. A last segment that comes later declares
//	        itself.
//	IV-B3   A completion with a validity map is a series of Declared events of which all but the last say More.
//	IV-B2   Errors "are simply reported, but the QP is not forced into the error state": a Refused event, and no
//	        Terminate.
