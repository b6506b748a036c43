package units

import (
	"sync"
	"time"
)

// meter divides the processor time of the process evenly among the units that are being made. In contrast to the time
// that a unit lasts, this does not depend on what else the machine does.
type meter struct {
	used func() time.Duration // processor time of the process so far

	mu      sync.Mutex
	last    time.Duration // of used, when the time until then was divided
	running map[*time.Duration]bool
}

// processor is the meter of this process.
var processor = meter{used: processorTime}

// begin begins a unit and returns the time that it has taken, which is complete when end has been called.
func (m *meter) begin() *time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.divide()
	if m.running == nil {
		m.running = map[*time.Duration]bool{}
	}
	taken := new(time.Duration)
	m.running[taken] = true
	return taken
}

// end ends a unit and returns the time that it took.
func (m *meter) end(taken *time.Duration) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.divide()
	delete(m.running, taken)
	return *taken
}

// divide adds the time since the last call to the units that are running.
func (m *meter) divide() {
	now := m.used()
	for taken := range m.running {
		*taken += (now - m.last) / time.Duration(len(m.running))
	}
	m.last = now
}
