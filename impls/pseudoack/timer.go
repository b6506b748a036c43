package pseudoack

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// timer is a deadline that may be running.
type timer struct {
	at      vtime.Time // meaningful while running
	running bool
}

// start sets the deadline of the flow unless the timer runs already.
func (fl *flow) start(now vtime.Time) {
	if !fl.timer.running {
		fl.restart(now)
	}
}

// restart sets the deadline one wan_rto after now.
func (fl *flow) restart(now vtime.Time) {
	if fl.state > promising {
		return
	}
	fl.timer = timer{now.Add(fl.box.cfg.rto), true}
	fl.box.wakeAt(fl, fl.timer.at)
}
