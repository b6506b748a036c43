package trace

import "strings"

// Reports is the set of things that the endpoints of a run report beside the wire.
type Reports uint16

// The reports. The last nine are parts of the others: as much as a black box tells by the stock tool above it.
const (
	ReportCQE    Reports = 1 << iota // Post, Receive, CQE, Recv, Timeout, Fatal, Declared, Lost and Refused events
	ReportStores                     // Store events: every placement in memory
	ReportTimers                     // Timer events: every change of the transport timer
	ReportProbes                     // Probe and Count events
	ReportMemory                     // Memory events: the comparison of the images at the end

	ReportDone     // Post and CQE events; the time of a CQE is that by which the request had completed
	ReportPosted   // Receive events
	ReportReceived // Receive and Recv events; the time of a Recv is that by which the receive had completed
	ReportRegions  // Probe events of the memory regions: mr_rkey, mr_va, mr_len, mr_access
	ReportChecked  // Memory events named "received": what the application found when a receive had completed

	ReportOrdered // Post and CQE events, each in its order; their times are those of ReportDone
	ReportChanges // Changed events: the regions of ReportRegions, compared at the end with what they were
	// of a QP for datagrams: its Q_Key as a Probe, the violations as a Count, and a Recv for each that was delivered
	ReportDatagrams
	// as many Post and CQE events as there were, with their status; the n-th CQE is taken for the n-th request
	ReportFlushed
	ReportCounters // Counter events: what the device counts, at the start and at the end
)

// reportNames are the words for the reports, in NDJSON and in fixtures.
var reportNames = []struct {
	name string
	bit  Reports
}{{"cqe", ReportCQE}, {"stores", ReportStores}, {"timers", ReportTimers}, {"probes", ReportProbes},
	{"memory", ReportMemory},
	{"done", ReportDone}, {"posted", ReportPosted}, {"received", ReportReceived}, {"regions", ReportRegions},
	{"checked", ReportChecked},
	{"ordered", ReportOrdered}, {"changes", ReportChanges}, {"datagrams", ReportDatagrams}, {"flushed", ReportFlushed},
	{"counters", ReportCounters}}

// Names returns the words for the set, in the order of the bits; the list is empty rather than nil when there are none.
func (r Reports) Names() []string {
	list := []string{}
	for _, n := range reportNames {
		if r&n.bit != 0 {
			list = append(list, n.name)
		}
	}
	return list
}

// ParseReport finds a report by its name.
func ParseReport(name string) (Reports, bool) {
	for _, r := range reportNames {
		if r.name == name {
			return r.bit, true
		}
	}
	return 0, false
}

// MarshalText spells a set of reports with blanks between its words.
func (r Reports) MarshalText() ([]byte, error) { return []byte(strings.Join(r.Names(), " ")), nil }

// UnmarshalText reads the set back. What is not known is not reported.
func (r *Reports) UnmarshalText(text []byte) error {
	for _, name := range strings.Fields(string(text)) {
		bit, _ := ParseReport(name)
		*r |= bit
	}
	return nil
}
