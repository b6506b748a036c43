package run

import (
	"time"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Today is the day by which waivers expire, UTC, such as "2027-01-31".
func Today() string { return time.Now().UTC().Format(time.DateOnly) }

// named lists what waivers call the two ends of a run whose work is A's: each by itself, and in its role.
func named(impls [2]string) []string {
	return []string{impls[0], impls[0] + "-requester", impls[1], impls[1] + "-responder"}
}

// Device is what the verdicts of a run are about, as waivers name it.
func Device(r *model.Result) rule.Device {
	d := rule.Device{Names: named(r.Impl)}
	for _, fact := range r.Environment {
		if fact.Name == "kernel" {
			d.Kernel = fact.Value
		}
	}
	return d
}
