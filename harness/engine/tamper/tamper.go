// Package tamper lets an implementation that is wrong on purpose alter whole frames: outgoing frames after they are
// encoded, and arriving frames before they are checked. A correct transport has no access to frames, so the contract in
// package engine does not cover this.
//
// Around and Box attach the functions that alter frames to a Host or a Middlebox; the driver detaches them with Open
// and OpenBox.
package tamper

import "github.com/rdma-gauntlet/gauntlet/harness/engine"

// Frames holds functions that alter frames, from the Ethernet header on. The result of a function replaces its
// argument, and may be in other memory. A nil function alters nothing.
type Frames struct {
	Out func(frame []byte) []byte // called for outgoing frames
	In  func(frame []byte) []byte // called for arriving frames
}

// host is a Host with the functions that alter its frames.
type host struct {
	engine.Host
	frames Frames
}

// Around returns an implementation whose hosts alter frames. A non-nil function of f replaces a function that right
// already has for the same direction.
func Around(right engine.Implementation, f Frames) engine.Implementation {
	impl := right
	impl.NewHost = func(given engine.Params) (engine.Host, error) {
		h, err := right.Host(given)
		if err != nil {
			return nil, err
		}
		inner, all := Open(h)
		if f.Out != nil {
			all.Out = f.Out
		}
		if f.In != nil {
			all.In = f.In
		}
		return &host{inner, all}, nil
	}
	return impl
}

// Open returns the host that h wraps, or h itself, and the functions that alter its frames.
func Open(h engine.Host) (engine.Host, Frames) {
	if t, ok := h.(*host); ok {
		return t.Host, t.frames
	}
	return h, Frames{}
}

// BoxFrames alters a frame that leaves a port of a middlebox; a nil BoxFrames alters nothing.
type BoxFrames func(to engine.Port, frame []byte) []byte

// box is a Middlebox with the function that alters its frames.
type box struct {
	engine.Middlebox
	out BoxFrames
}

// Box returns a middlebox that alters outgoing frames.
func Box(right engine.Middlebox, out BoxFrames) engine.Middlebox { return &box{right, out} }

// OpenBox returns the box that b wraps, or b itself, and the function that alters its frames.
func OpenBox(b engine.Middlebox) (engine.Middlebox, BoxFrames) {
	if t, ok := b.(*box); ok {
		return t.Middlebox, t.out
	}
	return b, nil
}
