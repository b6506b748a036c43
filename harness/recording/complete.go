package recording

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// Completeness is the degree of certainty that a capture has every frame that passed its taps while it was taken. A
// capture does not distinguish a frame that was never sent from a frame that the capture lost, unless it counts its
// losses or other frames show that the frame was there.
type Completeness string

// The degrees.
const (
	Certified  Completeness = "certified"  // the capturing system counted its losses: none
	Incomplete Completeness = "incomplete" // it counted losses, or frames show that others are missing
	Assumed    Completeness = "assumed"    // losses were not counted, and no frame shows that another is missing
)

// Lacks returns the least number of missing frames that other frames show.
func (c *Capture) Lacks() uint64 { return c.Located + c.Missing + c.Injected }

// Completeness returns the degree of c; it is valid after c was played.
func (c *Capture) Completeness() Completeness {
	switch {
	case c.Dropped > 0 || c.Lacks() > 0:
		return Incomplete
	case c.Counted:
		return Certified
	}
	return Assumed
}

// scattered reports whether frames may be missing anywhere: some of the counted losses are not located, or losses were
// not counted and frames are missing at several places. Frames that are missing at a port cannot be assigned to a
// connection.
func (c *Capture) scattered() bool {
	n := c.Lacks()
	return c.Missing+c.Injected > 0 || c.Dropped > n || !c.Counted && n > 1
}

// Doubts returns the properties that the capture as a whole lacks, so that no FAIL that rests on them is a proof.
// Missing frames that are all located, and QPNs used again, raise doubts only on their connections (trace.Conn.Doubts).
func (c *Capture) Doubts() (list []trace.Doubt) {
	doubt := func(fails validity.Property, why string) { list = append(list, trace.Doubt{Fails: fails, Why: why}) }
	if c.scattered() {
		doubt(validity.Capture, "the capture missed frames ("+c.account()+")")
	}
	if c.Headless > 0 {
		doubt(validity.Capture, fmt.Sprintf("the capture lacks %d headers of frames", c.Headless))
	}
	if c.Cut > 0 && c.BadICRC > 0 {
		doubt(validity.Capture, fmt.Sprintf("whole frames have a wrong ICRC, so that the %d frames that were cut may have "+
			"been damaged on their way, too", c.Cut))
	}
	if c.Alone > 0 {
		doubt(validity.Capture, fmt.Sprintf("a mirror shows frames twice, and %d frames once more alone: late second "+
			"sights, or retransmissions that were lost behind it", c.Alone))
	}
	if c.Single > 0 {
		doubt(validity.Capture, fmt.Sprintf("a mirror shows frames twice, and %d frames once: lost between the two "+
			"places at which it sees them, or by the capture", c.Single))
	}
	if c.Distant {
		doubt(validity.Capture, "hardly any frame was seen at both taps, so that their places are unknown")
	}
	if c.Back {
		doubt(validity.Capture|validity.Clock, "the time stamps go back for many frames in a row: a clock was set, so "+
			"that the order of the frames is not sure")
	}
	if c.Early > 0 {
		doubt(validity.Clock|validity.Accounts,
			fmt.Sprintf("%d frames arrived before they had left, by the clocks of the taps, which drift", c.Early))
	}
	if c.Clocks != 0 {
		doubt(validity.Clock, fmt.Sprintf("the clocks of the taps differ by about %v", c.Clocks))
	}
	return list
}

// account returns the number of missing frames as text.
func (c *Capture) account() string {
	counted := "not counted"
	if c.Counted || c.Dropped > 0 {
		counted = fmt.Sprintf("%d by its own count", c.Dropped)
	}
	return fmt.Sprintf("%s, %d located", counted, c.Lacks())
}
