// Package scenario is the text that describes a run, and the Spec that it parses to.
//
// The text is lines of "verb word… key=value…", the same in a file for "gauntlet run", in a ladder test beside an
// implementation, and in a conformance scenario. A Spec is plain data: printable, hashable, built without touching the
// machine. Print and Parse are inverse.
package scenario

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// Spec is a whole run: who talks to whom over what, doing what, for how long, from which seed.
type Spec struct {
	Title      []string      // the prose at the top of the text
	Seed       uint64        // every random stream of the run derives from it
	Impl       [2]string     // implementation at A and at B
	Params     engine.Params // parameters of the schemes
	Link       spec.Duplex
	Faults     []fault.Fault
	Injections []Injection
	Reads      Readings
	QP         [2]engine.QP // attributes at A and at B; numbers and start PSNs belong to connection 0
	QPs        int          // connections, 1 to MaxQPs
	Receives   int          // buffers posted at the start on each QP; kept at that number when Replenish is set
	Replenish  bool
	ReceiveLen unit.Size // size of a posted receive; 0 takes the largest message
	Loads      []Load
	Posts      []Post
	For        vtime.Duration // the run stops here even with work outstanding; 0 runs until the work is done
	Limit      vtime.Duration // the run is an ERROR when it lasts longer than this
}

// MaxQPs bounds the connections of one run.
const MaxQPs = 10000

// Load is a closed-loop workload: on every QP of one side, QueueDepth requests are kept outstanding.
type Load struct {
	From  trace.Side
	Op    engine.Op
	Msg   unit.Size // bytes per message
	Count int       // messages per QP; 0 goes on until Spec.For
}

// Post is one scripted work request or receive.
type Post struct {
	From    trace.Side
	QP      int // connection
	At      vtime.Duration
	Receive bool // a receive buffer rather than a work request
	WR      engine.WorkRequest
	// LocalOff and RemoteOff are offsets into this QP's regions; BadKey gives a key that names no region.
	LocalOff, RemoteOff int64
	BadKey              bool
}

// Injection is a crafted packet that the link hands to one side as if the other had sent it.
type Injection struct {
	To     trace.Side
	QP     int            // connection whose addresses it bears
	At     vtime.Duration // when it arrives
	Packet string         // in roce's one-line form; psn=+n counts from the start of the half-conversation it belongs to
	Raw    []Edit         // changes of the encoded frame, after which the checksums are right unless said otherwise
	BadCRC bool           // leave the ICRC wrong
	Cut    int            // keep only so many bytes of the IP packet; 0 keeps all
}

// Edit overwrites a named field of an encoded frame.
type Edit struct {
	Field string
	Value uint64
}

// Readings says how much the endpoints report beside the wire.
type Readings struct {
	Detail bool // every placement, timer setting and counter; for scenarios, not for 10^7-packet runs
}

// Hash identifies the Spec: the SHA-256 of its canonical text, in hex.
func (s *Spec) Hash() string {
	sum := sha256.Sum256([]byte(s.String()))
	return hex.EncodeToString(sum[:])
}

// Ends returns the attributes of connection i: numbers and start PSNs derived from those of connection 0, so that a
// packet can be attributed by its DestQP alone.
func (s *Spec) Ends(i int) [2]engine.QP {
	ends := s.QP
	for side := range ends {
		ends[side].QPN = firstQPN[side] + uint32(i)
		ends[side].DestQPN = firstQPN[1-side] + uint32(i)
		ends[side].PD = 1
		ends[side].Params = s.Params
	}
	return ends
}

// firstQPN keeps the two sides' numbers apart, so that one capture cannot confuse them.
var firstQPN = [2]uint32{0x11, 0x10011}

// Start sets the first request PSN of both directions.
func (s *Spec) Start(p psn.PSN) {
	for side := range s.QP {
		s.QP[side].SendPSN, s.QP[side].RecvPSN = p, p
	}
}

// RTT returns the propagation delay of both directions together.
func (s *Spec) RTT() vtime.Duration { return s.Link.AB.Delay + s.Link.BA.Delay }

// LongestMessage returns the size of the largest message that the Spec posts.
func (s *Spec) LongestMessage() unit.Size {
	var most unit.Size
	for _, l := range s.Loads {
		most = max(most, l.Msg)
	}
	for _, p := range s.Posts {
		most = max(most, unit.Size(p.WR.Len))
	}
	return most
}
