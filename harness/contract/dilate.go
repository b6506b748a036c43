package contract

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// FeatureDilate is declared by a program that keeps the run's time itself: see Order.Dilate.
const FeatureDilate = "dilate"

// longestTimeout is the duration of the largest local ACK timeout code, 31 (IBTA 9.7.6.1.3).
const longestTimeout = 4096 * vtime.Nanosecond << 31

// Dilate converts orders, of which the first is setup, to the time of a program on a machine on which a second of the
// run lasts k seconds. A program that declares FeatureDilate gets k in setup and keeps the run's time; for any other,
// rates and times become the machine's. The error names the attribute that has no value in machine time.
func Dilate(orders []Order, caps *Capabilities, k vtime.Dilation) error {
	switch {
	case !k.Dilated():
		return nil
	case caps.Has(FeatureDilate):
		orders[0].Dilate = k
		return nil
	case caps.Has("spec"):
		return fmt.Errorf("the text of the run, for which it declares spec, is in a time that lasts %s times as long, "+
			"and it does not declare %s", k, FeatureDilate)
	}
	for i := range orders {
		if err := orders[i].stretch(k); err != nil {
			return err
		}
	}
	return nil
}

// stretch makes the times of one order those of the machine.
func (o *Order) stretch(k vtime.Dilation) error {
	o.Rate = int64(unit.Rate(o.Rate).Dilated(k))
	o.RTT, o.Deadline = o.RTT*int64(k), o.Deadline*int64(k)
	if d, err := vtime.ParseDuration(o.Value); err == nil && o.Op == OpParam && d > 0 {
		o.Value = k.Machine(d).String()
	}
	if o.QP != nil {
		qp := *o.QP
		if qp.Timeout *= int64(k); qp.Timeout > int64(longestTimeout/vtime.Nanosecond) {
			return fmt.Errorf(
				"a timeout of %d ns, %s times as long, is beyond code 31; lower --timeout or --dilate", o.Timeout, k)
		}
		o.QP = &qp
	}
	if o.Work != nil {
		work := *o.Work
		work.After *= int64(k)
		o.Work = &work
	}
	return nil
}
