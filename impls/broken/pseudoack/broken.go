// Package pseudoack is pseudo-ACK boxes that are wrong on purpose, one behaviour broken in each, to prove that every
// rule of the family can fail.
//
// The correct box itself is unchanged. A variant wraps it in a shell that alters, drops, repeats or forges frames at
// its ports, or reports wrong variables.
package pseudoack

import (
	"embed"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/engine/tamper"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/broken"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/impls/pseudoack"
)

// recipe is the source form of a variant. Tamper sets the hooks of a new shell.
type recipe struct {
	name, breaks, catches, scenario string
	tamper                          func(s *shell)
	frame                           func(to engine.Port, frame []byte) []byte
}

//go:embed testdata
var stimuli embed.FS

// Family returns the variants.
func Family() broken.Family {
	var list []broken.Recipe
	for _, r := range slices.Concat(aboutAnswers(), aboutTiming(), aboutPassing(), aboutRecovery()) {
		list = append(list,
			broken.Recipe{Name: r.name, Breaks: r.breaks, Catches: r.catches, Scenarios: r.scenario, Change: r.change})
	}
	return broken.Make(right, stimuli, list...)
}

// right returns the implementation that the variants break: the box in front of go-back-N.
func right() engine.Implementation { return pseudoack.Over(gbn.Implementation()) }

// change wraps the box in a shell.
func (r *recipe) change(impl *engine.Implementation) {
	inner := impl.NewBox
	impl.NewBox = func(c engine.BoxConfig) (engine.Middlebox, error) {
		box, err := inner(c)
		if err != nil {
			return nil, err
		}
		s := &shell{Middlebox: box}
		if r.tamper != nil {
			r.tamper(s)
		}
		return tamper.Box(s, r.frame), nil
	}
}

// shell is a wrapper around a correct box. A hook that returns false drops the frame that it was called with; a nil
// hook drops nothing.
type shell struct {
	engine.Middlebox
	in    func(from engine.Port, f *roce.Frame) bool
	out   func(to engine.Port, f *roce.Frame) bool
	event func(e *engine.BoxEvent)
	still bool            // the box reports no deadline
	extra [2][]roce.Frame // frames of the variant, by port, sent before those of the box
	last  roce.Frame      // the latest ACK sent to Local
}

// add queues a frame of the variant.
func (s *shell) add(to engine.Port, f *roce.Frame) {
	c := *f
	c.Packet.Payload = append([]byte(nil), f.Packet.Payload...)
	s.extra[to] = append(s.extra[to], c)
}

// HandleFrame implements engine.Middlebox.
func (s *shell) HandleFrame(now vtime.Time, from engine.Port, f *roce.Frame) {
	if s.in == nil || s.in(from, f) {
		s.Middlebox.HandleFrame(now, from, f)
	}
}

// PollTransmit implements engine.Middlebox.
func (s *shell) PollTransmit(now vtime.Time, to engine.Port, f *roce.Frame) bool {
	if q := s.extra[to]; len(q) > 0 {
		*f, s.extra[to] = q[0], q[1:]
		return true
	}
	for s.Middlebox.PollTransmit(now, to, f) {
		drop := s.out != nil && !s.out(to, f)
		if to == engine.LAN && isACK(&f.Packet) {
			s.last = *f
		}
		if !drop {
			return true
		}
	}
	return false
}

// PollEvent implements engine.Middlebox.
func (s *shell) PollEvent() (engine.BoxEvent, bool) {
	e, ok := s.Middlebox.PollEvent()
	if ok && s.event != nil {
		s.event(&e)
	}
	return e, ok
}

// PollTimer implements engine.Middlebox.
func (s *shell) PollTimer() (vtime.Time, bool) {
	if s.still {
		return 0, false
	}
	return s.Middlebox.PollTimer()
}
