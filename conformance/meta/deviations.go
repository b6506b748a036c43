package meta

import (
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
)

// Deviation is a known deviation of a device from the specification.
type Deviation struct {
	What    string
	Rules   []string // rules that it breaks where they can be judged; none when the rules allow it
	Allowed string   // why the rules allow it; "" when they do not
}

// ofSoftRoCE are from the code of the kernel's rdma_rxe (Linux 6.1).
var ofSoftRoCE = []Deviation{
	{What: "the requester has 128 PSNs unacknowledged at most", Allowed: "no rule asks for more in flight"},
	{What: "AckReq is set at the end of a message and on every 64th packet only",
		Allowed: "RC-ACK-005 asks for no more"},
	{What: "retry_cnt 7 retries for ever", Allowed: "of a run RC-TMO-002 judges completions, and a tool that retries " +
		"for ever has none; a capture of more than seven retries fails"},
	{What: "a gap in READ responses waits for the timer", Allowed: "RC-READ-002 sets no time"},
	{What: "RNR code 25 is 61.41 ms, the table has 61.44 ms", Rules: []string{"RC-RNR-002"}},
	{What: "the class of an opcode is compared with zero, so a UD opcode reaches an RC QP",
		Rules: []string{"NEG-OPC-002"}},
	{What: "lengths are compared by opcode instead of mask, so only the R_Key of a WRITE bounds them",
		Rules: []string{"NEG-LEN-003", "NEG-LEN-004", "NEG-LEN-007"}},
	{What: "an ACK has no upper bound", Rules: []string{"RC-ACK-004", "NEG-ACK-001"}},
}

// ofDevices are of commodity RNICs, from documents of vendors and published measurements. None was observed here.
var ofDevices = []Deviation{
	{What: "adaptive retransmission repeats before T_tr", Rules: []string{"RC-TMO-001"}},
	{What: "CNPs come with NAKs (DCQCN)", Allowed: "a CNP belongs to no half-conversation"},
	{What: "the rate rises slowly after a loss", Allowed: "no rule asks for a rate"},
	{What: "the timer takes up to 4 T_tr", Allowed: "so does RC-TMO-001 (IBTA 9.7.6.1.3)"},
}

// SoftRoCEDeviations lists the known deviations of soft-RoCE, and their waivers (META-RXE-001).
func SoftRoCEDeviations(waivers []waivers.Waiver) rule.Verdict {
	return list(SoftRoCE, ofSoftRoCE, waivers)
}

// DeviceDeviations lists the known deviations of RNICs (META-HW-001). The program has no waivers for them.
func DeviceDeviations() rule.Verdict { return list(Devices, ofDevices, nil) }

// list returns the verdict of an Observation with a finding per deviation.
func list(id string, known []Deviation, waivers []waivers.Waiver) rule.Verdict {
	var a account
	for _, d := range known {
		if len(d.Rules) == 0 {
			a.failf("%s: allowed, %s", d.What, d.Allowed)
			continue
		}
		var how []string
		for _, r := range d.Rules {
			how = append(how, r+" "+waived(r, waivers))
		}
		a.failf("%s: %s", d.What, strings.Join(how, ", "))
	}
	return a.verdict(id)
}

// waived returns the waiver of a rule as text.
func waived(id string, waivers []waivers.Waiver) string {
	for _, w := range waivers {
		if w.Rule == id {
			return "is waived until " + w.Expires
		}
	}
	return "fails without a waiver, where it is broken"
}
