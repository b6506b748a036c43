package device

import "time"

// pause stops a tool that polls while no event can concern it: the kernel answers for it, and its polling is most of
// the processor time of a run. A tool that sleeps is not stopped.
func (r *running) pause() {
	if r != nil && r.tool.Polls() {
		r.process.Pause()
	}
}

// resume continues the tool.
func (r *running) resume() {
	if r != nil && r.tool.Polls() {
		r.process.Resume()
	}
}

// leave pauses it for good, because the run is over.
func (r *running) leave() {
	if r != nil {
		close(r.over)
		r.calm.Do(func() { close(r.enough) })
		r.pause()
	}
}

// attentive is the time for which a tool that only waits runs without pauses: until it has posted all it can.
const attentive = 50 * time.Millisecond

// glance lets a tool run at short intervals only, until it has done its work or the run has ended.
func (r *running) glance() {
	select {
	case <-r.done:
	case <-r.over:
	case <-time.After(attentive):
		r.process.Glance(r.done, r.enough)
		r.resumeWoken()
	}
}

// resumeWoken continues a tool that was stopped again after wake, unless the run has ended.
func (r *running) resumeWoken() {
	select {
	case <-r.over:
		return
	default:
	}
	select {
	case <-r.enough:
		r.process.Resume()
	default: // on another machine the supervisor does it
	}
}

// wake lets the tool run without pauses from now on: on an overloaded host a glance may be too short for any progress.
func (r *running) wake() {
	if r != nil && r.tool.Waits() {
		r.calm.Do(func() {
			close(r.enough)
			r.process.Resume()
		})
	}
}
