package run

import (
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// lackOfTime holds the properties that fail when a link or a host has too little time; only a larger dilation helps.
// Accounts is one of them because frames that were dropped for lack of time make the counts differ.
const lackOfTime = validity.Capture | validity.Accounts | validity.Delay | validity.Rate |
	validity.Lateness | validity.Pace

// slower returns the least dilation for the next attempt after a run whose host was late: twice the dilation of that
// run. It returns 0 when the bench cannot choose a larger one, or when the run was INVALID for another reason.
func slower(r *model.Result) vtime.Dilation {
	if !r.Stretches {
		return 0
	}
	for i := range r.Certificates {
		for _, item := range r.Certificates[i].Items {
			if !item.OK && item.Property != 0 && item.Property&lackOfTime != 0 {
				return vtime.Dilation(r.Dilated).Doubled()
			}
		}
	}
	return 0
}
