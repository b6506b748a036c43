package rate

import (
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// The parameters of DCQCN, as its paper recommends (Zhu et al., SIGCOMM 2015, 5.2 and figure 14), for lines of 40 Gb/s.
// The additive step, 40 Mb/s there, is taken as a share of the line, because on a slow one it would undo every cut at
// once. The step of hyper increase is not printed; ten times the additive one is our choice.
const (
	dcqcnGain   = 1.0 / 256
	alphaPeriod = 55 * vtime.Microsecond // period after which alpha decays once without a notification (K)
	raisePeriod = 55 * vtime.Microsecond // the timer of rate increase (T)
	raiseBytes  = 10 << 20               // its byte counter (B)
	raiseSteps  = 5                      // rounds of fast recovery (F)
	raiseShare  = 1.0 / 1000
	hyper       = 10
)

// NotifyPeriod is how often a receiver answers marked packets of a QP with a notification at most: "If a marked packet
// arrives for a flow, and no CNP has been sent for the flow in last N microseconds, a CNP is sent immediately" (3.1).
const NotifyPeriod = 50 * vtime.Microsecond

// dcqcn is the reaction point of DCQCN (3.1, figure 7). Names are the paper's: RC and RT are the current and the target
// rate, alpha the estimate of congestion, T and BC the rounds of the timer and of the byte counter.
type dcqcn struct {
	pacer
	line   unit.Rate
	rc, rt float64
	alpha  float64
	cut    bool // a notification has come: only then is there anything to recover from

	alphaAt vtime.Time // alpha decays next
	raiseAt vtime.Time // the timer expires next
	bytes   int        // since the byte counter last ran out
	t, bc   int
}

func newDCQCN(p Path) *dcqcn {
	return &dcqcn{line: p.Line, rc: float64(p.Line), rt: float64(p.Line), alpha: 1}
}

// Sent implements Control.
func (d *dcqcn) Sent(now vtime.Time, n int) vtime.Time {
	d.catchUp(now)
	if d.cut {
		if d.bytes += n; d.bytes >= raiseBytes {
			d.bytes -= raiseBytes
			d.bc++
			d.raise()
		}
	}
	return d.sent(now, unit.Rate(d.rc), n)
}

// Notified implements Control: equations 1 and 2.
//
//	"RT = RC, RC = RC(1 - alpha/2), alpha = (1-g)alpha + g"
func (d *dcqcn) Notified(now vtime.Time) {
	d.catchUp(now)
	d.rt = d.rc
	d.rc = max(d.rc*(1-d.alpha/2), float64(d.line)/slowest)
	d.alpha = (1-dcqcnGain)*d.alpha + dcqcnGain
	d.cut, d.t, d.bc, d.bytes = true, 0, 0, 0
	d.alphaAt, d.raiseAt = now.Add(alphaPeriod), now.Add(raisePeriod)
}

// Acknowledged implements Control; DCQCN learns nothing from acknowledgements.
func (d *dcqcn) Acknowledged(vtime.Time, bool) {}

// Rate implements Control.
func (d *dcqcn) Rate(now vtime.Time) unit.Rate {
	d.catchUp(now)
	return unit.Rate(d.rc)
}

// catchUp handles all timer expiries up to now, in order. At line rate only alpha changes.
func (d *dcqcn) catchUp(now vtime.Time) {
	for d.cut && (d.alphaAt <= now || d.raiseAt <= now) {
		if d.alphaAt <= d.raiseAt {
			d.alpha *= 1 - dcqcnGain
			d.alphaAt = d.alphaAt.Add(alphaPeriod)
			continue
		}
		d.raiseAt = d.raiseAt.Add(raisePeriod)
		d.t++
		d.raise()
		if d.recovered() {
			d.rest(now)
		}
	}
}

// recovered reports whether the rate is the line's and alpha has decayed, so that the next notification has the same
// effect as a first one, within a thousandth.
func (d *dcqcn) recovered() bool { return d.rc >= float64(d.line) && d.alpha < 1e-3 }

// rest ends the recovery, so that an idle QP has no timers to handle.
func (d *dcqcn) rest(now vtime.Time) { d.cut, d.alphaAt, d.raiseAt = false, now, now }

// raise is a round of rate increase: fast recovery towards the target, then additive and hyper increase of the target
// (equations 3 and 4).
func (d *dcqcn) raise() {
	most, least := max(d.t, d.bc), min(d.t, d.bc)
	switch {
	case most < raiseSteps: // fast recovery
	case least > raiseSteps:
		d.rt += float64(least-raiseSteps) * hyper * raiseShare * float64(d.line)
	default:
		d.rt += raiseShare * float64(d.line)
	}
	d.rt = min(d.rt, float64(d.line))
	d.rc = (d.rt + d.rc) / 2
	if d.rt-d.rc < 1 { // halving never arrives
		d.rc = d.rt
	}
}
