package recording

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// Completeness is what is known of whether a capture has every frame that passed its taps while it was taken. Nothing
// in a capture tells a frame that was never sent from one that the capture lost, unless it counts what it loses, or
// other frames show that this one was there.
type Completeness string

// The degrees.
const (
	Certified  Completeness = "certified"  // the capturing system counted what it lost: nothing
	Incomplete Completeness = "incomplete" // it counted some, or the frames show that some are missing
	Assumed    Completeness = "assumed"    // nobody counted, and nothing shows that one is missing
)

// Lacks is how many frames are missing at least, as others show.
func (c *Capture) Lacks() uint64 { return c.Located + c.Missing + c.Injected }

// Completeness returns the degree of c, once it was played.
func (c *Capture) Completeness() Completeness {
	switch {
	case c.Dropped > 0 || c.Lacks() > 0:
		return Incomplete
	case c.Counted:
		return Certified
	}
	return Assumed
}

// scattered reports whether frames may be missing anywhere: some of those that were counted are not located, or nobody
// counted and they are missing at several places. What is missing at a port is of no connection.
func (c *Capture) scattered() bool {
	n := c.Lacks()
	return c.Missing+c.Injected > 0 || c.Dropped > n || !c.Counted && n > 1
}

// Doubts returns what does not hold of a capture as a whole, so that nothing that rests on it is a proof. Frames that
// are all located take the proof away where they are missing alone (trace.Conn.Doubts).
func (c *Capture) Doubts() (list []trace.Doubt) {
	doubt := func(fails validity.Property, why string) { list = append(list, trace.Doubt{Fails: fails, Why: why}) }
	if c.scattered() {
		doubt(validity.Capture, "the capture missed frames ("+c.account()+")")
	}
	if c.Headless > 0 {
		doubt(validity.Capture, fmt.Sprintf("the capture lacks %d headers of frames", c.Headless))
	}
	if c.Distant {
		doubt(validity.Capture, "hardly any frame was seen at both taps, and it is not known which of them is where")
	}
	if c.Anew > 0 {
		doubt(validity.Capture, "QPNs were used again for other connections")
	}
	if c.Early > 0 {
		doubt(validity.Clock|validity.Accounts,
			fmt.Sprintf("%d frames arrived before they had left, by clocks of the taps that drift", c.Early))
	}
	if c.Clocks != 0 {
		doubt(validity.Clock, fmt.Sprintf("the clocks of the taps differ by about %v", c.Clocks))
	}
	return list
}

// account says how many frames are missing.
func (c *Capture) account() string {
	counted := "not counted"
	if c.Counted || c.Dropped > 0 {
		counted = fmt.Sprintf("%d by its own count", c.Dropped)
	}
	return fmt.Sprintf("%s, %d located", counted, c.Lacks())
}
