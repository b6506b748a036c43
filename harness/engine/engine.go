// Package engine is the contract between a transport protocol and everything that drives it.
//
// An engine is one half of one QP, requester or responder, as a pure state machine: no I/O, goroutine, clock, random
// source or lock. The driver tells it what happened (Handle…, Post…) with the time at which it happened, and then
// drains what follows from it (Poll…). One engine serves virtual time and real time alike, which is why its result can
// be replayed.
//
// Drain order. After any call into an engine, at the same now:
//
//  1. PollEvent until it reports none;
//  2. PollTransmit, one packet for each moment the link is free; it is the engine that decides what goes next;
//  3. PollTimer, last, because sending starts timers.
//
// A driver may delay step 2 for as long as it likes; that is back-pressure, and the engine must not assume that a
// packet it could send has been sent.
package engine

import (
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Engine is what both halves of a QP have in common.
//
// Packets are passed by pointer because a Packet is 200 bytes and the call is an interface call: a value would be
// copied twice per packet. The pointed-to Packet belongs to the driver and is valid during the call only.
type Engine interface {
	// HandlePacket takes a packet that is addressed to this QP, passed the checks below the transport (ICRC, version,
	// partition key, opcode class) and belongs to this half: responses go to the requester, requests to the responder.
	HandlePacket(now vtime.Time, p *roce.Packet)

	// HandleTimer tells the engine that its deadline has come. An early call does nothing. Afterwards PollTimer is
	// later than now, or none.
	HandleTimer(now vtime.Time)

	// PollTransmit fills p with the next packet and reports true, or reports false when there is nothing to send now.
	// The payload may refer to registered memory, which stays unchanged until the request completes; another one is
	// valid until the next call for any QP of the same Host.
	PollTransmit(now vtime.Time, p *roce.Packet) bool

	// PollEvent returns the next completion or state change.
	PollEvent() (Event, bool)

	// PollTimer returns the time at which HandleTimer wants to be called; ok is false when no timer runs.
	PollTimer() (deadline vtime.Time, ok bool)

	// Flush moves the half to the error state because the other half, or the application, failed: outstanding requests
	// complete with StatusFlushed in order, and from then on nothing is sent and nothing answered (IBTA 10.3.1).
	Flush(now vtime.Time)
}

// Requester is the half that turns work requests into request packets and handles their responses.
type Requester interface {
	Engine

	// Post queues a work request. It returns ErrQueueFull when QP.QueueDepth requests are outstanding, ErrQPState after
	// the QP failed, and another error when the request itself is malformed; in no case is the request half-queued.
	Post(now vtime.Time, wr WorkRequest) error
}

// Responder is the half that executes request packets and answers them.
type Responder interface {
	Engine

	// PostReceive gives the responder a buffer for a SEND or for an immediate; the errors are those of Post.
	PostReceive(now vtime.Time, rr ReceiveRequest) error
}

// Urgent is implemented by engines that send again before anything new, also before what the other QPs of the endpoint
// have. Urgent reports whether the packet that PollTransmit gives next is a retransmission, as far as is known without
// asking it; a driver serves QPs that say so before the others.
type Urgent interface {
	Urgent() bool
}
