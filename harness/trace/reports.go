package trace

import "strings"

// Reports is a set of kinds of reports that the endpoints of a run make beside their packets.
type Reports uint16

// The reports. The last ten are for black boxes: parts of the others that a stock tool above the device can report, and
// the device's counters.
const (
	ReportCQE    Reports = 1 << iota // Post, Receive, CQE, Recv, Timeout, Fatal, Declared, Lost and Refused events
	ReportStores                     // Store events: every placement in memory
	ReportTimers                     // Timer events: every change of the transport timer
	ReportProbes                     // Probe and Count events
	ReportMemory                     // Memory events: the comparison of the images at the end

	ReportDone     // Post and CQE events; a CQE's time is the latest time at which the request can have completed
	ReportPosted   // Receive events
	ReportReceived // Receive and Recv events; a Recv's time is the latest time at which the receive can have completed
	ReportRegions  // Probe events of the memory regions: mr_rkey, mr_va, mr_len, mr_access
	ReportChecked  // Memory events named "received": the memory that the application found on completion of a receive

	ReportOrdered // Post and CQE events, each kind in order; their times are as in ReportDone
	ReportChanges // Changed events: bytes of the regions of ReportRegions that changed from start to end
	// of a QP for datagrams: its Q_Key as a Probe, Q_Key violations as a Count, and a Recv for each datagram delivered
	ReportDatagrams
	// all Post and CQE events, with their status; the n-th CQE counts for the n-th request
	ReportFlushed
	ReportCounters // Counter events: the counters of the device at the start and at the end
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

// UnmarshalText reads the set back. It ignores unknown words.
func (r *Reports) UnmarshalText(text []byte) error {
	for _, name := range strings.Fields(string(text)) {
		bit, _ := ParseReport(name)
		*r |= bit
	}
	return nil
}
