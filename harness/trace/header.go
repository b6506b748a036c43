package trace

import (
	"net/netip"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Header describes the run of a trace; it precedes the stream. Unknown fields are zero: a foreign capture has at most
// addresses, QPNs and what its frames show.
type Header struct {
	Version int     // of the NDJSON format
	Bench   string  // "sim", "netns", "file", …
	Taps    [2]bool // which sides were tapped
	// the only tap is between the sides, or its place is unknown: a record then has only Sent, the time at the tap
	Between bool
	// the place of the only tap was inferred from times, or the network damages frames between two taps whose places
	// were not told, so that frames may have been damaged before a tap; not written to files
	Inferred bool    `json:"-"`
	Bytes    bool    // records carry Raw
	Dilated  int     // seconds of the machine per second of the trace; 0 means 1
	Reports  Reports // what both endpoints report beside the packets
	// resolution of the time stamps of a foreign capture; 0 when they are exact; not written to files
	Tick vtime.Duration `json:"-"`
	// Declares are the features that the program or image at A and at B declares, separated by spaces, as
	// engine.Implementation.Declares has them; "" where the name of the implementation says them.
	Declares [2]string
	Conns    []Conn
}

// BehindLine reports whether the taps see a packet when its last bit has left the line, as in virtual time. Taps of
// real interfaces see it when it is handed to the line.
func (h *Header) BehindLine() bool { return h.Bench == "sim" || h.Bench == "fixture" }

// FileBench is the Bench of captures of other programs.
const FileBench = "file"

// FormatVersion is the version of the NDJSON form, as package ndjson writes it.
const FormatVersion = 1

// Conn is one connection: a QP on each side.
type Conn struct {
	Ends [2]End // indexed by Side
	Hop  Hop    // the part of the path, when a middlebox divides it
	// the packets may be of several connections, because the QPNs were reused or because the two directions are put
	// together by a guess, so that no attribute, such as the MTU, holds for all of them; not written to files
	Anew bool
	// smallest path MTU that takes the longest packet, of a connection whose MTU is not known, because no packet had to be
	// full: a message no longer than this is one packet; not written to files
	Fits int32

	// Doubts are the defects of the evidence on the requests of each requester and their responses, by requester. They
	// are derived from the frames of a foreign capture; a bench certifies its own captures instead. They are not
	// written to files.
	Doubts [2]*Doubt // nil where there is none
}

// Doubtful returns the Doubt about the requests of an end; none by default.
func (c *Conn) Doubtful(requester Side) (d Doubt) {
	if of := c.Doubts[requester&1]; of != nil {
		d = *of
	}
	return d
}

// Doubt is a set of properties that a capture lacks, and the reason.
type Doubt struct {
	Fails validity.Property // 0 when it lacks none
	Why   string
	// the taps whose evidence lacks them, by side: what the other tap shows is as good as without this one; none for a
	// doubt about all the evidence
	At [2]bool
	// the time from which what is seen is not in doubt, for a doubt about what was before; 0 for a doubt that does not end
	Until vtime.Time
}

// End is one end of a connection.
type End struct {
	Addr netip.Addr
	Port uint16 // UDP source port
	Impl string // name of the implementation, "" for a foreign device
	QP   engine.QP
	// Misaddressed are other QP numbers of single packets that, by their PSNs, were meant for this end.
	Misaddressed []uint32
	// Known says that QP holds the attributes in force. Otherwise only QPN and the attributes learnt from the packets
	// are set, and rules that need an attribute are INCONCLUSIVE.
	Known bool
	// Reports are the reports of this end in addition to Header.Reports.
	Reports Reports
}
