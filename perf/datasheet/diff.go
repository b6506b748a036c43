package datasheet

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Tolerance is the difference up to which two times count as the same: a tenth, or the delay that a host's scheduler
// adds.
const (
	Tolerance      = 0.1
	ToleranceFloor = 50 * vtime.Microsecond
)

// Difference is a property in which two devices differ.
type Difference struct {
	Name string    `json:"name"`
	Of   [2]string `json:"of"`
}

// Diff lists the properties in which two sheets differ, in the order of the sheet. A property that one of them lacks is
// a difference; times differ when they are further apart than the tolerance.
func Diff(a, b *Sheet) []Difference {
	var out []Difference
	for i := range a.Rows {
		x := &a.Rows[i]
		y := b.Find(x.Name)
		if y == nil {
			y = &Row{Value: Absent}
		}
		if !x.Same(y) {
			out = append(out, Difference{x.Name, [2]string{x.Value, y.Value}})
		}
	}
	return out
}

// Same reports whether two rows say the same.
func (r *Row) Same(o *Row) bool {
	if len(r.Times) == 0 || len(r.Times) != len(o.Times) {
		return r.Value == o.Value
	}
	for i, t := range r.Times {
		apart := max(t-o.Times[i], o.Times[i]-t)
		if apart > int64(ToleranceFloor/vtime.Nanosecond) && float64(apart) > Tolerance*float64(max(t, o.Times[i])) {
			return false
		}
	}
	return true
}

// WriteDiff prints the differences between two sheets.
func WriteDiff(out io.Writer, a, b *Sheet) error {
	list := Diff(a, b)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\t%s\t%s\n", a.Device, b.Device)
	for _, d := range list {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", d.Name, d.Of[0], d.Of[1])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%d of %d properties differ\n", len(list), len(a.Rows))
	return err
}
