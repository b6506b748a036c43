package relay

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/channel"
)

// Phase is a part of the life of a relay; it determines the impairments that are active.
type Phase string

// The phases.
const (
	ProbePhase Phase = "probe" // rate, delay, jitter and queue only: the link can be measured without consuming draws
	RunPhase   Phase = "run"   // all impairments of the link, faults and injections
)

// Stats are the counts and measurements of one phase of the relay.
type Stats struct {
	Phase      Phase      `json:"phase"`
	AB         PathStats  `json:"ab"`
	BA         PathStats  `json:"ba"`
	Lateness   Lateness   `json:"lateness"`
	Memory     int        `json:"memory"`      // bytes allocated for frames in flight since the start; never decreases
	LogDropped uint64     `json:"log_dropped"` // records dropped because the fate log had no room, since the start
	Realtime   bool       `json:"realtime"`    // the kernel granted a real-time priority
	From       vtime.Time `json:"from"`        // start of the phase, on the clock of the run
	To         vtime.Time `json:"to"`          // end of the phase, or the time of these Stats
}

// PathStats are the counts of one direction in one phase.
type PathStats struct {
	Received uint64 `json:"received"` // frames received from the device
	// Forwarded counts the frames sent to the other device, including copies, injected and foreign frames.
	Forwarded   uint64           `json:"forwarded"`
	Foreign     uint64           `json:"foreign"`      // frames that the Classifier does not know
	Injected    uint64           `json:"injected"`     // crafted frames queued
	Overflow    uint64           `json:"overflow"`     // frames dropped because the relay had no memory for them
	Oversize    uint64           `json:"oversize"`     // frames dropped because they exceed the receive buffer
	Stalls      uint64           `json:"stalls"`       // batches that the device did not take completely
	KernelDrops uint64           `json:"kernel_drops"` // frames that the kernel dropped because the relay was slow
	InFlight    int              `json:"in_flight"`    // frames waiting for their departure at the time of these Stats
	Channel     channel.Counters `json:"channel"`
}

// Lateness is the distribution of the actual minus the planned departure time.
type Lateness struct {
	Count int64          `json:"count"`
	P50   vtime.Duration `json:"p50_ps"`
	P99   vtime.Duration `json:"p99_ps"`
	Max   vtime.Duration `json:"max_ps"`
}

// lateness is a histogram in nanoseconds, from 1 ns to ten seconds, with two significant digits.
type lateness struct{ h *hdrhistogram.Histogram }

const latest = 10_000_000_000

// newLateness returns an empty histogram. It allocates about 20 kB, so that record allocates nothing.
func newLateness() lateness { return lateness{hdrhistogram.New(1, latest, 2)} }

// record counts one departure. An early departure, a difference between two clock readings, counts as on time.
func (l lateness) record(d vtime.Duration) {
	_ = l.h.RecordValue(min(max(int64(d/vtime.Nanosecond), 1), latest)) // in range, so it cannot fail
}

// summary returns the distribution in vtime units.
func (l lateness) summary() Lateness {
	ns := func(x int64) vtime.Duration { return vtime.Duration(x) * vtime.Nanosecond }
	return Lateness{
		Count: l.h.TotalCount(), P50: ns(l.h.ValueAtQuantile(50)), P99: ns(l.h.ValueAtQuantile(99)), Max: ns(l.h.Max()),
	}
}
