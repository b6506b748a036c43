package conform

import (
	"fmt"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/device"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
)

// Again returns the command that repeats one scenario as it was run.
func (o *Options) Again(impl, scenario string) string {
	if o.Command != nil {
		return o.Command(impl, scenario)
	}
	return "gauntlet conform" + o.subject(impl) + o.settings() + fmt.Sprintf(" --focus '%s %s$'", o.role(impl), scenario)
}

// subject names what is judged, its peer and its place. A device has neither of its roles as its name.
func (o *Options) subject(impl string) string {
	if h := o.Hosted; h.File != "" {
		if h.Host != "" {
			return fmt.Sprintf(" --testbed %s --dut %s", h.File, h.Host)
		}
		return " --testbed " + h.File
	}
	name, peer := " --impl "+impl, o.Peer
	switch impl {
	case device.Both:
		name, peer = " --dut "+dut.Name, dut.Name
	case device.Responder, device.Requester:
		name, peer = " --dut "+dut.Name, ""
	}
	if peer != "" {
		name += " --peer " + peer
	}
	return name + " --bench " + o.Bench
}

// role is the word before the scenario in a focus. An implementation is chosen by its flag, and its name may hold what
// a regular expression would read otherwise.
func (o *Options) role(impl string) string {
	switch {
	case o.Hosted.File != "", impl == device.Responder, impl == device.Requester:
		return impl
	}
	return ""
}

// settings are the flags of a run that differ from their defaults.
func (o *Options) settings() string {
	var b strings.Builder
	flag := func(set bool, name string, value any) {
		if set {
			fmt.Fprintf(&b, " --%s %v", name, value)
		}
	}
	flag(o.Link != "" && o.Link != "auto", "link", o.Link)
	flag(o.Dilate != 0, "dilate", o.Dilate)
	flag(o.Attempts != 0 && o.Attempts != Attempts, "attempts", o.Attempts)
	flag(o.Limit != 0, "limit", o.Limit)
	flag(o.Still != 0, "no-progress", o.Still)
	return b.String()
}
