package run

import (
	"time"

	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Today returns the current UTC date, "2027-01-31": a waiver that expires before it is void.
func Today() string { return time.Now().UTC().Format(time.DateOnly) }

// named lists the names under which waivers address the two ends of a run whose requester is A: each by itself and with
// its role.
func named(impls [2]string) []string {
	return []string{impls[0], impls[0] + "-requester", impls[1], impls[1] + "-responder"}
}

// Device returns the implementations and the kernel of a run, which its waivers have to match.
func Device(r *model.Result) waivers.Device {
	d := waivers.Device{Names: named(r.Impl)}
	for _, fact := range r.Environment {
		if fact.Name == "kernel" {
			d.Kernel = fact.Value
		}
	}
	return d
}
