// Package engine defines the contract between a transport protocol and its drivers.
//
// An engine is one half of one QP, requester or responder, as a pure state machine: no I/O, goroutine, clock, random
// source or lock. The driver passes inputs to the engine (Handle…, Post…) with the time at which they happened, and
// then drains the outputs (Poll…). The same engine runs in virtual time and in real time, and its results can be
// replayed.
//
// Drain order. After any call into an engine, at the same now:
//
//  1. PollEvent until it reports none;
//  2. PollTransmit, one packet each time the link is free; the engine chooses the packet;
//  3. PollTimer, last, because sending starts timers.
//
// A driver may delay step 2 without limit; that is back-pressure. An engine must not assume that a packet has been sent
// before PollTransmit has returned that packet.
package engine

import (
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Engine is the interface that both halves of a QP share.
//
// Packets are passed by pointer because a Packet is 200 bytes and the call is an interface call: a value would be
// copied twice per packet. The Packet belongs to the driver and is valid during the call only.
type Engine interface {
	// HandlePacket processes an arriving packet. The packet is addressed to this QP, has passed the checks below the
	// transport (ICRC, version, partition key, opcode class) and belongs to this half: responses go to the requester,
	// requests to the responder.
	HandlePacket(now vtime.Time, p *roce.Packet)

	// HandleTimer processes the expiry of the deadline that PollTimer returned. An early call does nothing. After the
	// call, PollTimer returns a deadline later than now, or none.
	HandleTimer(now vtime.Time)

	// PollTransmit fills p with the next packet and reports true, or reports false if no packet can be sent now. The
	// payload either refers to registered memory, which stays unchanged until the request completes, or is valid until
	// the next call for any QP of the same Host.
	PollTransmit(now vtime.Time, p *roce.Packet) bool

	// PollEvent returns the next completion or state change.
	PollEvent() (Event, bool)

	// PollTimer returns the time at which the driver must call HandleTimer; ok is false if no timer runs.
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

// Urgent is implemented by requesters whose retransmissions precede new packets, including the new packets of other QPs
// of the endpoint. Urgent reports whether the next packet of PollTransmit is expected to be a retransmission; a driver
// serves urgent QPs before the others, their requesters first.
type Urgent interface {
	Urgent() bool
}
