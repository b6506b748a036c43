package trace

import (
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Point is one of the four places at which the packets of a half-conversation are seen. A half-conversation is the
// requests of one side of a connection and the responses to them; a connection has two, one per requester.
type Point uint8

// The points, in the order in which a request and its response pass them.
const (
	RequesterOut Point = iota
	ResponderIn
	ResponderOut
	RequesterIn
)

var pointNames = [...]string{"requester out", "responder in", "responder out", "requester in"}

// String returns the name that findings print.
func (p Point) String() string { return pointNames[p&3] }

// AtRequester reports whether the point belongs to the requester's tap.
func (p Point) AtRequester() bool { return p == RequesterOut || p == RequesterIn }

// Sight is one packet passing one tap. Every record gives one sight at the sender's tap and one at the receiver's, each
// with its own time.
type Sight struct {
	At    vtime.Time
	Tap   Side
	Out   bool         // leaving the tapped endpoint
	Rec   *Record      // the record, including what happens to the packet after At: for fate and evidence
	Pkt   *roce.Packet // the packet as seen here
	ICRC  Integrity    // as seen here
	Sum   uint32       // payload checksum as seen here
	Raw   []byte       // bytes as seen here; nil when not captured
	Index uint64       // position of Rec in the stream
}

// Viewer receives sights and events in time order.
type Viewer interface {
	Sight(*Sight)
	Event(*Event)
	End(at vtime.Time)
}

// Views is a Viewer that passes everything to several viewers, in order.
type Views []Viewer

// Sight implements Viewer.
func (v Views) Sight(s *Sight) {
	for _, w := range v {
		w.Sight(s)
	}
}

// Event implements Viewer.
func (v Views) Event(e *Event) {
	for _, w := range v {
		w.Event(e)
	}
}

// End implements Viewer.
func (v Views) End(at vtime.Time) {
	for _, w := range v {
		w.End(at)
	}
}
