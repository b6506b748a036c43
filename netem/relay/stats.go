package relay

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/channel"
)

// Phase says which impairments act.
type Phase string

// The phases.
const (
	ProbePhase Phase = "probe" // rate, delay, jitter and queue only: the link can be measured without consuming draws
	RunPhase   Phase = "run"   // everything
)

// Stats are what the relay did in one phase.
type Stats struct {
	Phase      Phase      `json:"phase"`
	AB         PathStats  `json:"ab"`
	BA         PathStats  `json:"ba"`
	Lateness   Lateness   `json:"lateness"`
	Memory     int        `json:"memory"`      // bytes held for frames in flight at the most
	LogDropped uint64     `json:"log_dropped"` // records that the fate log had no room for, since the start
	Realtime   bool       `json:"realtime"`    // the kernel granted a real-time priority
	From       vtime.Time `json:"from"`        // when the phase began, on the clock of the run
	To         vtime.Time `json:"to"`
}

// PathStats are those of one direction.
type PathStats struct {
	Received uint64 `json:"received"` // frames taken from the device
	// frames put on the other device: copies, injected and foreign ones too
	Forwarded   uint64           `json:"forwarded"`
	Foreign     uint64           `json:"foreign"`      // frames that the Classifier does not know
	Injected    uint64           `json:"injected"`     // frames made by the relay
	Overflow    uint64           `json:"overflow"`     // frames for which the relay had no memory
	Oversize    uint64           `json:"oversize"`     // frames longer than a device may carry, dropped
	Stalls      uint64           `json:"stalls"`       // times that the device took no more for a while
	KernelDrops uint64           `json:"kernel_drops"` // frames that the kernel dropped because the relay was slow
	InFlight    int              `json:"in_flight"`    // frames waiting for their time at the end of the phase
	Channel     channel.Counters `json:"channel"`
}

// Lateness is the distribution of actual minus planned departure.
type Lateness struct {
	Count int64          `json:"count"`
	P50   vtime.Duration `json:"p50_ps"`
	P99   vtime.Duration `json:"p99_ps"`
	Max   vtime.Duration `json:"max_ps"`
}

// lateness counts in nanoseconds up to ten seconds, with two significant digits.
type lateness struct{ h *hdrhistogram.Histogram }

const latest = 10_000_000_000

// newLateness allocates all that recording needs, about 20 kB.
func newLateness() lateness { return lateness{hdrhistogram.New(1, latest, 2)} }

// record counts one departure. Early ones, by which two readings of a clock may differ, count as punctual.
func (l lateness) record(d vtime.Duration) {
	_ = l.h.RecordValue(min(max(int64(d/vtime.Nanosecond), 1), latest)) // in range, so it cannot fail
}

// summary converts back to the unit of the project.
func (l lateness) summary() Lateness {
	ns := func(x int64) vtime.Duration { return vtime.Duration(x) * vtime.Nanosecond }
	return Lateness{
		Count: l.h.TotalCount(), P50: ns(l.h.ValueAtQuantile(50)), P99: ns(l.h.ValueAtQuantile(99)), Max: ns(l.h.Max()),
	}
}
