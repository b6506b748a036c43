// Package tamper is what an implementation that is wrong on purpose does to whole frames: to what it sends when it has
// been encoded, and to what arrives before it is checked. A transport has no business there, so that package engine
// knows nothing of it.
//
// Around and Box put the change behind what an implementation builds, as a Host or a Middlebox like any other; whoever
// drives that takes it off again with Open and OpenBox.
package tamper

import "github.com/rdma-gauntlet/gauntlet/harness/engine"

// Frames changes frames, from the Ethernet header on. What a function returns takes the place of what it was given, and
// may be in other memory. A function that is nil leaves frames alone.
type Frames struct {
	Out func(frame []byte) []byte // as they leave
	In  func(frame []byte) []byte // as they arrive
}

// host is a host with what happens to its frames.
type host struct {
	engine.Host
	frames Frames
}

// Around returns an implementation whose hosts change frames. What it changed before stays, but for the same direction.
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

// Open returns a host without what happens to its frames, and that.
func Open(h engine.Host) (engine.Host, Frames) {
	if t, ok := h.(*host); ok {
		return t.Host, t.frames
	}
	return h, Frames{}
}

// BoxFrames changes a frame as it leaves a port of a box; nil leaves all alone.
type BoxFrames func(to engine.Port, frame []byte) []byte

// box is a box with what happens to its frames.
type box struct {
	engine.Middlebox
	out BoxFrames
}

// Box returns a box that changes frames.
func Box(right engine.Middlebox, out BoxFrames) engine.Middlebox { return &box{right, out} }

// OpenBox returns a box without what happens to its frames, and that.
func OpenBox(b engine.Middlebox) (engine.Middlebox, BoxFrames) {
	if t, ok := b.(*box); ok {
		return t.Middlebox, t.out
	}
	return b, nil
}
