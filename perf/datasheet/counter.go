package datasheet

import "fmt"

// Counter is the reading of a counter of the device, over all traces, with the bounds that follow from the packets at
// the device's port.
type Counter struct {
	Name  string
	Value int64
	Low   int64 // lower bound of the true count; Low <= High unless High < 0
	High  int64 // upper bound of the true count; below zero when not known
	Seen  int   // traces
	Wrong int   // traces of Seen in which the value was outside the bounds
}

// Count adds the reading of a counter in a trace.
func (f *Findings) Count(c Counter) {
	for i := range f.Counters {
		if of := &f.Counters[i]; of.Name == c.Name {
			of.Value, of.Low, of.Seen, of.Wrong = of.Value+c.Value, of.Low+c.Low, of.Seen+c.Seen, of.Wrong+c.Wrong
			if of.High += c.High; c.High < 0 || of.High < c.High {
				of.High = -1
			}
			return
		}
	}
	f.Counters = append(f.Counters, c)
}

// row prints a counter: "12, and the wire has 13; wrong in 1 of 4".
func (c *Counter) row() Row {
	wire := fmt.Sprintf("%d to %d", c.Low, c.High)
	switch {
	case c.High == c.Low:
		wire = fmt.Sprint(c.Low)
	case c.High < 0:
		wire = fmt.Sprintf("%d or more", c.Low)
	}
	how := "as the wire"
	if c.Wrong > 0 {
		how = fmt.Sprintf("wrong in %d of %d", c.Wrong, c.Seen)
	}
	return Row{Name: "counts " + c.Name,
		Value: fmt.Sprintf("%d, the wire has %s: %s", c.Value, wire, how), Seen: c.Seen}
}
