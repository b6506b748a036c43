package wrk

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// failures holds, by connection, whether the queue pair of a side is in error because of a fatal NAK: one that it
// received, or one that it sent as the responder of the other half.
type failures map[int]bool

// failuresKey identifies the failures that the checks of this package share for a port.
type failuresKey struct{}

// causes tracks why the requester's queue pair may be in error.
type causes struct {
	c      *rule.Context
	failed bool // the endpoint reported an error, or a request failed

	refused bool // the transport has no such operation, or no room for a scripted one
}

// at returns the failures of a port.
func at(p *rule.Port) failures {
	return p.Shared(failuresKey{}, func() any { return failures{} }).(failures)
}

// sight processes a response. Both the sender and the receiver of a fatal NAK are in error.
func (f *causes) sight(s *rule.Sight) {
	if !rule.IsFatalNAK(s.Pkt) {
		return
	}
	if s.Rec.Fate != trace.Injected {
		at(f.c.PeerPort)[f.c.Index] = true
	}
	if s.Point == trace.RequesterIn && s.Intact() {
		at(f.c.Port)[f.c.Index] = true
	}
}

// event processes the reports of failures at the requester's side.
func (f *causes) event(e *trace.Event) {
	if !f.c.Mine(e) {
		return
	}
	switch e.Kind {
	case trace.Fatal:
		f.failed = true
	case trace.Count:
		f.refused = f.refused || e.Name == "refused_post"
	case trace.CQE, trace.Recv:
		f.failed = f.failed || e.Body.Status != engine.StatusSuccess
	}
}

// any reports whether the queue pair may be in error.
func (f *causes) any() bool { return f.failed || f.c.Failed || f.nak() }

// excused reports whether work may be left undone.
func (f *causes) excused() bool { return f.any() || f.refused || f.c.Until() != vtime.Never }

// nak reports whether a fatal NAK, of either half, is a cause.
func (f *causes) nak() bool { return f.c.Failed || at(f.c.Port)[f.c.Index] }
