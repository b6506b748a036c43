package recording

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Tap is the place of the only tap of a foreign capture, or that of its two taps, as the user states it. The zero Tap
// derives the place from the frames.
type Tap struct {
	place string
	addr  netip.Addr
}

// The words for places.
const (
	atRequester = "requester"
	atResponder = "responder"
	between     = "between"
	atPorts     = "ports" // of two taps, each at the port of an end
	bothPorts   = "both ports"
)

// TapWords are the words that ParseTap accepts.
var TapWords = []string{"auto", atRequester, atResponder, between, atPorts}

// ParseTap reads one of TapWords, or the address of the tapped host.
func ParseTap(text string) (Tap, error) {
	switch text {
	case "", "auto":
		return Tap{}, nil
	case atRequester, atResponder, between, atPorts:
		return Tap{place: text}, nil
	}
	if a, err := netip.ParseAddr(text); err == nil {
		return Tap{addr: a}, nil
	}
	return Tap{}, fmt.Errorf("%q: want one of %s, or the address of the tapped host", text,
		strings.Join(TapWords, ", "))
}

// stated reports whether the user stated a place.
func (t Tap) stated() bool { return t != Tap{} }

// suits returns an error if the place is not one for the number of taps that the frames of a capture show.
func (t Tap) suits(name string, two bool) error {
	switch {
	case two && t.stated() && t.place != atPorts:
		return fmt.Errorf("trace: %s: its frames show where its two taps are; --tap ports states that each is at the port "+
			"of an end, any other place is for captures of one tap", name)
	case !two && t.place == atPorts:
		return fmt.Errorf("trace: %s: --tap ports is for captures of two taps, and its frames show one", name)
	}
	return nil
}

// Capture describes a foreign capture: the conclusions that were drawn from its frames, and their numbers.
type Capture struct {
	Tap      string // "requester", "responder", "between" or "both ports"
	Address  string // address of the host at whose port the tap is; "" for none or several
	Told     bool   // the user stated the place of the tap, or of both; otherwise derived from the frames
	Why      string
	MTU      int               // learnt path MTU; 0 when unknown
	Frames   uint64            // RoCEv2 frames
	Skipped  uint64            // frames of other protocols
	Files    []File            // frames of each file, in the order of the arguments
	Kinds    map[string]uint64 // Skipped by protocol
	Tunnels  map[string]uint64 // RoCEv2 frames that a tunnel carried, by tunnel
	Twice    uint64            // RoCEv2 frames repeated by a mirror, which are left out
	Alone    uint64            // RoCEv2 frames that a mirror shows again, and not twice as the others
	Single   uint64            // RoCEv2 frames that a mirror shows once only, and not twice as the others
	Late     uint64            // RoCEv2 frames with an earlier time stamp than a frame before them
	Back     bool              // many frames in a row are Late: a clock was set back, or files were joined
	Cut      uint64            // RoCEv2 frames of which the capture kept only a part
	Headless uint64            // frames of Cut without all their headers
	Dropped  uint64            // frames that the capturing system counted as lost
	Counted  bool              // the capturing system counts lost frames
	Located  uint64            // least number of missing frames that other frames of a connection show
	Missing  uint64            // requests that were answered and that the capture at their sender's port does not show
	Distant  bool              // two taps have hardly a frame in common, and the delay of the link may exceed the capture
	Anew     uint64            // connections whose packets may be of several, because their QPNs were used again
	// frames that arrived at one tap and that the other tap, at the port of their sender, does not have; set by Play
	Injected uint64
	Early    uint64        // frames that arrived before they had left, by the clocks of two taps; set by Play
	Limit    string        // note on frames left out because a limit was reached; "" for none
	Clocks   time.Duration // correction of the clock of tap B, which was ahead; 0 when none was needed
	BadICRC  uint64        // complete RoCEv2 frames with a wrong ICRC, or that do not decode

	Attributes Use // the attributes of QPs that the user states
}

// File is a file of a capture.
type File struct {
	Name   string
	Frames uint64 // of all protocols, repetitions by a mirror included
}

// settle sets the taps and sides of h by t.
func (t Tap) settle(h *trace.Header, c *Capture) error {
	c.Told, c.Why = true, "as stated by the user"
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

// tapAt sets the tap at the port of a host, on side A if the host is mostly end A, otherwise on side B, and exchanges
// the sides of connections where needed.
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
