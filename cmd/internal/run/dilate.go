package run

import (
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// haste is what fails of a link or a host that has too little time: nothing but more time helps. Accounts differ where
// frames were dropped for that reason.
const haste = validity.Capture | validity.Accounts | validity.Delay | validity.Rate | validity.Lateness | validity.Pace

// slower is the factor that a run needs at least after one whose machine was late: twice as much, where that is the
// bench's to choose; 0 where it is not, or the reason was another.
func slower(r *model.Result) vtime.Dilation {
	if !r.Stretches {
		return 0
	}
	for i := range r.Certificates {
		for _, item := range r.Certificates[i].Items {
			if !item.OK && item.Property != 0 && item.Property&haste != 0 {
				return vtime.Dilation(r.Dilated).Doubled()
			}
		}
	}
	return 0
}
