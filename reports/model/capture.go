package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
)

// Capture describes a foreign capture: how it was interpreted, and the frames that it holds.
type Capture struct {
	Tap     string `json:"tap"`               // "requester", "responder", "between" or "both ports"
	Address string `json:"address,omitempty"` // of the tapped host, where there is one
	// the user stated the position of the tap; otherwise it was inferred from frames
	Told        bool              `json:"told"`
	Why         string            `json:"why"`
	Connections int               `json:"connections"`
	MTU         int               `json:"mtu"`                     // learnt path MTU; 0 when unknown
	Frames      uint64            `json:"frames"`                  // judged
	Skipped     uint64            `json:"skipped_frames"`          // of other protocols
	Kinds       map[string]uint64 `json:"skipped_kinds,omitempty"` // those of Skipped, by protocol
	// frames that a tunnel carried to the tap, by the kind of tunnel
	Tunnels map[string]uint64 `json:"tunnels,omitempty"`
	// frames that a mirror duplicated, which are not judged again
	Repeated uint64 `json:"repeated_frames"`
	// with an earlier time stamp than one before them; they are judged in their order of time
	Late uint64 `json:"late_frames"`
	// offset by which the second tap's clock was ahead, as far as it was corrected
	ClockNs  int64  `json:"clock_offset_ns,omitempty"`
	Cut      uint64 `json:"cut_frames"`      // frames of which the capture kept only a part
	Headless uint64 `json:"headless_frames"` // of those, without all their headers
	Complete string `json:"completeness"`    // "certified", "incomplete" or "assumed"
	// frames that the capture lacks at least, as other frames show
	Missing uint64 `json:"missing_frames"`
	// frames that the capturing system reports as lost; null where it did not count them
	Dropped *uint64 `json:"dropped_frames"`
	BadICRC uint64  `json:"bad_icrc_frames"` // complete frames with a wrong ICRC, and frames that do not decode
	// what takes the proof from every FAIL that does not rest on single frames
	Doubts []string `json:"doubts,omitempty"`
	Limit  string   `json:"limit,omitempty"` // the limit that was reached, and the frames that were left out
	// the knowledge of the QP attributes, in words
	Attributes string `json:"attributes,omitempty"`
	// the fates of packets are not known: no losses, and no spurious retransmissions
	OneTap bool `json:"one_tap"`
}

// OneTap reports whether r is of a capture by one tap, which shows neither losses nor spurious retransmissions.
func (r *Result) OneTap() bool { return r.SingleTap || r.Capture != nil && r.Capture.OneTap }

// Lines describes the capture for people: the position of the tap with the reason for it, and the frames that were
// judged.
func (c *Capture) Lines() []string {
	at := map[string]string{"requester": "at the requester's port", "responder": "at the responder's port",
		"between":    "between the ports, or at an unknown place: rules that need a port are inconclusive",
		"both ports": "one at each port"}[c.Tap]
	if c.Address != "" {
		at += ", " + c.Address
	}
	mtu := "MTU unknown"
	if c.MTU > 0 {
		mtu = fmt.Sprintf("MTU %d", c.MTU)
	}
	held := fmt.Sprintf("%s, %s; %s judged", quantity.Plural(int64(c.Connections), "connection", "connections"), mtu,
		quantity.Plural(int64(c.Frames), "frame", "frames"))
	for _, x := range []struct {
		n      uint64
		what   string
		always bool
	}{
		{c.Skipped, "of other protocols skipped" + kinds(c.Kinds), true}, {c.Cut, "cut", true},
		{c.Headless, "cut within their headers", false},
		{c.BadICRC, "with a wrong ICRC", true}, {c.Repeated, "seen once more by a mirror", false},
		{c.Late, "out of time order, which was put right", false},
	} {
		if x.always || x.n > 0 {
			held += fmt.Sprintf(", %s %s", quantity.Count(int64(x.n)), x.what)
		}
	}
	switch {
	case c.Cut > 0 && c.BadICRC > 0:
		held += "; the missing parts may be damaged, as whole frames are"
	case c.Cut > 0:
		held += "; the missing parts are assumed undamaged"
	}
	for _, t := range sorted(c.Tunnels) {
		held += fmt.Sprintf(", %s in %s", quantity.Count(int64(c.Tunnels[t])), t)
	}
	lines := []string{fmt.Sprintf("tap: %s (%s)", at, c.Why), "capture: " + held, "complete: " + c.completeness()}
	if len(c.Doubts) > 0 {
		lines = append(lines, "in doubt: "+strings.Join(c.Doubts, "; ")+
			": rules that rest on that are inconclusive where they do not hold")
	}
	if c.Limit != "" {
		lines = append(lines, "limit: "+c.Limit)
	}
	if c.Attributes != "" {
		lines = append(lines, "attributes: "+c.Attributes)
	}
	if c.ClockNs != 0 {
		lines = append(lines,
			fmt.Sprintf("clocks: that of the second tap is %s ahead, if the delay is the same both "+
				"ways; it was set right",
				quantity.Duration(c.ClockNs)))
	}
	return lines
}

// completeness states the knowledge about frames that the capture lacks. An assumption is a condition of every FAIL
// that a single frame does not prove.
func (c *Capture) completeness() string {
	counted := "lost frames are not counted"
	if c.Dropped != nil {
		counted = quantity.Plural(int64(*c.Dropped), "frame", "frames") + " lost by its own count"
	}
	if c.Missing > 0 {
		counted += fmt.Sprintf(", %s missing as others show", quantity.Count(int64(c.Missing)))
	}
	return fmt.Sprintf("%s (%s)", c.Complete, counted)
}

// kindsMost bounds the kinds of frames that are named in a line.
const kindsMost = 5

// kinds lists the kinds of frames with their counts, the most frequent first.
func kinds(counts map[string]uint64) string {
	var list []string
	for i, what := range sorted(counts) {
		if i == kindsMost {
			list = append(list, "others")
			break
		}
		list = append(list, quantity.Count(int64(counts[what]))+" "+what)
	}
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}

// sorted returns the names that were counted, the most frequent first.
func sorted(counts map[string]uint64) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

// MarshalJSON implements json.Marshaler: a number that the taps do not show is null, not zero.
func (r Result) MarshalJSON() ([]byte, error) {
	type known Result
	type capture struct {
		known
		Timeouts *int64 `json:"timeouts"` // endpoints report them
	}
	type run struct {
		known
		unfated
	}
	type foreign struct {
		capture
		unfated
	}
	switch {
	case r.Capture == nil && r.OneTap():
		return json.Marshal(run{known: known(r)})
	case r.Capture == nil:
		return json.Marshal(known(r))
	case r.OneTap():
		return json.Marshal(foreign{capture: capture{known: known(r)}})
	}
	return json.Marshal(capture{known: known(r)})
}

// unfated has the numbers that need the fates of packets, all null.
type unfated struct {
	Spurious   *int64          `json:"spurious_packets"`
	Lost       *int64          `json:"lost_packets"`
	Recoveries *int64          `json:"recoveries"`
	Single     *int64          `json:"single_losses"`
	RecoveryNs *metrics.Spread `json:"recovery_ns"`
}
