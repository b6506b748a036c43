package model

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
)

// Capture is how a capture of another program was understood, and what it holds.
type Capture struct {
	Tap         string `json:"tap"`               // "requester", "responder", "between" or "both ports"
	Address     string `json:"address,omitempty"` // of the tapped host, where there is one
	Told        bool   `json:"told"`              // the user said where the tap stands; otherwise the frames did
	Why         string `json:"why"`
	Connections int    `json:"connections"`
	MTU         int    `json:"mtu"` // learnt path MTU; 0 when unknown
	Frames      uint64 `json:"frames"`
	Skipped     uint64 `json:"skipped_frames"`  // of other protocols
	Cut         uint64 `json:"cut_frames"`      // of which the capture kept a part only
	Dropped     uint64 `json:"dropped_frames"`  // that the capturing system says it lost
	BadICRC     uint64 `json:"bad_icrc_frames"` // whole, with a wrong ICRC, or that do not decode
	OneTap      bool   `json:"one_tap"`         // what became of packets is not known: no losses, and what was sent again in vain
}

// OneTap reports whether r is of a foreign capture by one tap, to which what was lost, and what was sent again in vain, is unknown.
func (r *Result) OneTap() bool { return r.Capture != nil && r.Capture.OneTap }

// Lines says it for people: where the tap stands and why, and what was judged.
func (c *Capture) Lines() []string {
	at := map[string]string{"requester": "at the requester's port", "responder": "at the responder's port",
		"between": "between the ports, or nobody knows where: rules that need a port are inconclusive", "both ports": "one at each port"}[c.Tap]
	if c.Address != "" {
		at += ", " + c.Address
	}
	mtu := "MTU unknown"
	if c.MTU > 0 {
		mtu = fmt.Sprintf("MTU %d", c.MTU)
	}
	held := fmt.Sprintf("%s, %s; %s judged, %s of other protocols skipped", quantity.Plural(int64(c.Connections), "connection", "connections"), mtu,
		quantity.Plural(int64(c.Frames), "frame", "frames"), quantity.Count(int64(c.Skipped)))
	for _, x := range []struct {
		n    uint64
		what string
	}{{c.Cut, "cut"}, {c.BadICRC, "with a wrong ICRC"}, {c.Dropped, "lost by the capturing system"}} {
		held += fmt.Sprintf(", %s %s", quantity.Count(int64(x.n)), x.what)
	}
	return []string{fmt.Sprintf("tap: %s (%s)", at, c.Why), "capture: " + held}
}
