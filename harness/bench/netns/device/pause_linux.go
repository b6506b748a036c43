package device

import "time"

// pause stops a tool that polls, while nothing can happen that concerns it: the kernel answers for it, and what it
// would burn meanwhile is most of what a run takes of a processor. One that sleeps is left alone.
func (r *running) pause() {
	if r != nil && r.tool.Polls() {
		r.process.Pause()
	}
}

// resume lets it go on.
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

// attentive is how long a tool that only waits looks without rest: until it has posted what it can.
const attentive = 50 * time.Millisecond

// glance lets a tool look now and then until it has done its work, or the run is over.
func (r *running) glance() {
	select {
	case <-r.done:
	case <-r.over:
	case <-time.After(attentive):
		r.process.Glance(r.done, r.enough)
		r.resumeWoken()
	}
}

// resumeWoken lets a tool go on that was stopped once more after it was woken, unless the run is over.
func (r *running) resumeWoken() {
	select {
	case <-r.over:
		return
	default:
	}
	select {
	case <-r.enough:
		r.process.Resume()
	default: // another machine looks after it
	}
}

// wake lets it look without rest, for as long as it lasts: on a host that is starved a glance may be too short to see
// anything.
func (r *running) wake() {
	if r != nil && r.tool.Waits() {
		r.calm.Do(func() {
			close(r.enough)
			r.process.Resume()
		})
	}
}
