package recording

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Tap says where the one tap of a foreign capture stands, for whoever knows better than what its frames tell. The zero
// Tap leaves that to the frames.
type Tap struct {
	place string
	addr  netip.Addr
}

// The words for places.
const (
	atRequester = "requester"
	atResponder = "responder"
	between     = "between"
	bothPorts   = "both ports"
)

// TapWords are the words that ParseTap takes.
var TapWords = []string{"auto", atRequester, atResponder, between}

// ParseTap reads one of TapWords, or the address of the tapped host.
func ParseTap(text string) (Tap, error) {
	switch text {
	case "", "auto":
		return Tap{}, nil
	case atRequester, atResponder, between:
		return Tap{place: text}, nil
	}
	if a, err := netip.ParseAddr(text); err == nil {
		return Tap{addr: a}, nil
	}
	return Tap{}, fmt.Errorf("%q: want one of %s, or the address of the tapped host", text,
		strings.Join(TapWords, ", "))
}

// told reports whether t says anything.
func (t Tap) told() bool { return t != Tap{} }

// Capture is what was taken for granted of a foreign capture, and what it holds.
type Capture struct {
	Tap      string // "requester", "responder", "between" or "both ports"
	Address  string // of the host at whose port the tap stands; "" for none or several
	Told     bool   // the user said where; otherwise the frames did
	Why      string
	MTU      int               // learnt path MTU; 0 when unknown
	Frames   uint64            // RoCEv2 frames
	Skipped  uint64            // frames of other protocols
	Files    []File            // what each file holds, in the order in which they were named
	Kinds    map[string]uint64 // of those, by what they are
	Tunnels  map[string]uint64 // RoCEv2 frames by what carried them to the tap, of those that a tunnel did
	Twice    uint64            // RoCEv2 frames that a mirror showed once more, which are not judged again
	Late     uint64            // RoCEv2 frames with an earlier time stamp than one before them
	Cut      uint64            // RoCEv2 frames of which the capture kept a part only
	Headless uint64            // of those, without all their headers
	Dropped  uint64            // frames that the capturing system says it lost
	Counted  bool              // it does say how many those are
	Located  uint64            // frames that it lost at least, at places that other frames show
	Missing  uint64            // requests that were answered and that the capture at their sender's port does not show
	Distant  bool              // two taps have hardly a frame in common, and the link may be longer than the capture
	Anew     uint64            // connections that began anew between the same QPNs, as PSN and MSN show
	// frames that arrived at one tap and that the other, at the port of their sender, does not show; known once it was
	// played
	Injected uint64
	Early    uint64        // frames that by the clocks of two taps arrived before they had left; likewise
	Limit    string        // what was left out because there was too much; "" when nothing was
	Clocks   time.Duration // by how much the clock of tap B was ahead, as far as it had to be set right
	BadICRC  uint64        // whole RoCEv2 frames with a wrong ICRC, or that do not decode
}

// File is a file of a capture.
type File struct {
	Name   string
	Frames uint64 // of all protocols, those that a mirror showed twice included
}

// settle sets the taps and sides of h as t says.
func (t Tap) settle(h *trace.Header, c *Capture) error {
	c.Told, c.Why = true, "as told"
	switch t.place {
	case atRequester:
		h.Taps, c.Tap = [2]bool{true, false}, atRequester
	case atResponder:
		h.Taps, c.Tap = [2]bool{false, true}, atResponder
	case between:
		h.Taps, h.Between, c.Tap = [2]bool{}, true, between
	default:
		return tapAt(h, c, t.addr)
	}
	return nil
}

// tapAt puts the tap at the port of a host, on the side of the requesters if it is that mostly.
func tapAt(h *trace.Header, c *Capture, a netip.Addr) error {
	var ends [2]int
	for i := range h.Conns {
		for s := range ends {
			if h.Conns[i].Ends[s].Addr == a {
				ends[s]++
			}
		}
	}
	if ends[0]+ends[1] < len(h.Conns) {
		return fmt.Errorf("tap at %v: it is an end of %d of the %d connections; it has to be one of all", a,
			ends[0]+ends[1], len(h.Conns))
	}
	side := trace.A
	c.Tap, c.Address = atRequester, a.String()
	if ends[trace.B] > ends[trace.A] {
		side, c.Tap = trace.B, atResponder
	}
	h.Taps = [2]bool{side == trace.A, side == trace.B}
	for i := range h.Conns {
		if e := &h.Conns[i].Ends; e[side].Addr != a {
			e[0], e[1] = e[1], e[0]
			d := &h.Conns[i].Doubts
			d[0], d[1] = d[1], d[0]
		}
	}
	return nil
}
