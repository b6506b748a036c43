package atlas

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/perf/stats"
)

// FormatVersion is the version of Map's JSON form.
const FormatVersion = 1

// Map is the result of an atlas: the best transport for each link, and its lead. It is written as atlas.json.
type Map struct {
	Format  int     `json:"format"`
	Version string  `json:"version"` // of this tool
	Commit  string  `json:"commit"`
	Started string  `json:"started"` // RFC 3339
	Wall    float64 `json:"wall_seconds"`
	Command string  `json:"command"`

	Confidence float64  `json:"confidence"` // of the intervals
	Margin     float64  `json:"margin"`     // relative difference in goodput that matters
	Seeds      int      `json:"seeds"`
	Runs       int      `json:"runs"`
	Law        string   `json:"law"`        // of the lengths of bursts: geometric or fixed
	Transports []string `json:"transports"` // in the order in which ties are decided

	Cells []Cell `json:"cells"` // by rate, burst, RTT and loss
}

// Cell is one link.
type Cell struct {
	RateBps float64 `json:"rate_bps"`
	RTTNs   int64   `json:"rtt_ns"`
	Loss    float64 `json:"loss"`
	Burst   int     `json:"burst"`           // packets
	Product int     `json:"product_packets"` // bandwidth-delay product of the path, packets

	// the first, in the order of the transports, of those within the margin of the best
	Pick    string          `json:"pick,omitempty"`
	Best    string          `json:"best,omitempty"` // the highest mean
	Next    string          `json:"next,omitempty"` // the best of those that are worse; "" when all are tied
	Lead    *stats.Estimate `json:"lead,omitempty"` // of Best over Next: 0.5 is half as much goodput again
	Entries []Entry         `json:"entries"`
	Trouble string          `json:"trouble,omitempty"` // why there is no pick
}

// Entry is one transport over one link.
type Entry struct {
	Transport string `json:"transport"`
	// goodput as a share of the payload rate of the line without loss
	Share    stats.Estimate  `json:"share"`
	Values   []float64       `json:"values,omitempty"` // by seed
	Behind   *stats.Estimate `json:"behind,omitempty"` // how much more Best has
	Tied     bool            `json:"tied"`             // for the best
	Scenario string          `json:"scenario"`
	Trouble  string          `json:"trouble,omitempty"`
}

// Entry returns the entry of a transport; nil when there is none.
func (c *Cell) Entry(transport string) *Entry {
	for i := range c.Entries {
		if c.Entries[i].Transport == transport {
			return &c.Entries[i]
		}
	}
	return nil
}

// Tied returns how many transports are tied for the best.
func (c *Cell) Tied() (n int) {
	for i := range c.Entries {
		if c.Entries[i].Tied {
			n++
		}
	}
	return n
}

// Left returns how many cells have no pick.
func (m *Map) Left() (n int) {
	for i := range m.Cells {
		if m.Cells[i].Trouble != "" {
			n++
		}
	}
	return n
}

// Verdict formats the lead of the pick: over the next transport, with the interval where it is wide enough to be
// visible, or the number of tied transports: "1.9 (1.7–2.1) × gbn", "3 tied, 1.2 × gbn", "all tied".
func (c *Cell) Verdict() string {
	tied := ""
	if n := c.Tied(); n > 1 {
		tied = fmt.Sprintf("%d tied, ", n)
	}
	switch {
	case c.Trouble != "":
		return ""
	case c.Lead == nil:
		return "all tied"
	}
	return tied + times(c.Lead) + " × " + c.Next
}

// Short is Verdict without the interval.
func (c *Cell) Short() string {
	point := *c
	if c.Lead != nil {
		point.Lead = &stats.Estimate{Value: c.Lead.Value, Low: c.Lead.Value, High: c.Lead.Value}
	}
	return point.Verdict()
}

// times writes a lead as a multiple.
func times(e *stats.Estimate) string {
	text := multiple(e.Value)
	if low, high := multiple(e.Low), multiple(e.High); low != text || high != text {
		text += " (" + low + "–" + high + ")"
	}
	return text
}

func multiple(lead float64) string {
	switch x := lead + 1; {
	case x > 999:
		return ">999"
	case x >= 9.95:
		return fmt.Sprintf("%.0f", x)
	case x >= 1.995:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.2f", x)
	}
}
