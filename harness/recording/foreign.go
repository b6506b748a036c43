package recording

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// learn derives the connections of a foreign capture, the procedure by which it has to be read, and the place of its
// tap. It returns the anew that reads by that procedure.
func (r *Recording) learn(name string, with anew, tap Tap) (anew, error) {
	var how procedure
	defer func() { r.Header.Tick = vtime.FromStd(how.tick) }()
	as := func(f func(*captureFiles) error) error {
		return with(func(c *captureFiles) error {
			how.apply(c)
			return f(c)
		})
	}
	l, err := r.survey(name, as)
	if err != nil {
		return nil, err
	}
	late, back, distant := l.survey.late, l.survey.back, l.survey.distant()
	for range 3 { // frames put in order may show more than frames out of order
		was := how
		if how = l.survey.procedure(&was); !how.differs(&was, l.survey.tapped()) {
			break
		}
		if l, err = r.survey(name, as); err != nil {
			return nil, err
		}
	}
	r.Capture.Late, r.Capture.Back, r.Capture.Clocks, r.Capture.Distant = uint64(late), back, how.shift, distant
	switch {
	case how.two && tap.stated():
		return nil, fmt.Errorf("trace: %s: its frames show where its two taps are; --tap is for captures of one tap", name)
	case !how.two:
		return l.trusting(as), r.stand(l, as, &how, tap)
	}
	only, err := r.both(l, as, &how)
	if only == nil || err != nil {
		return l.trusting(as), err
	}
	how = how.alone(*only)
	if l, err = r.survey(name, as); err != nil {
		return nil, err
	}
	r.Capture.Late, r.Capture.Back = uint64(late), back
	if err = r.stand(l, as, &how, tap); err == nil {
		r.Capture.Why += fmt.Sprintf("; tap %v stands between the ports, and is left out", only.Other())
	}
	return l.trusting(as), err
}

// both examines the captures of two taps for missing frames, and for a tap that is between the ports. It returns the
// only tap to use in that case: the other one, or the first if both are between the ports.
func (r *Recording) both(l *learner, as anew, how *procedure) (only *trace.Side, err error) {
	at, w := [2]*vantage{newVantage(&r.Header), newVantage(&r.Header)}, newWitness(&r.Header)
	err = l.show(&r.Header, as, func(s *sighting, e end) {
		at[s.tap].follow(s, e)
		w.follow(s, e)
	})
	switch {
	case err != nil:
		return nil, err
	case how.apart[trace.B] || at[trace.B].astray(trace.B):
		return new(trace.Side), nil
	case how.apart[trace.A] || at[trace.A].astray(trace.A):
		b := trace.B
		return &b, nil
	}
	r.Capture.Located = w.tell()
	l.say(&r.Header, r.Capture)
	r.Header.Inferred = r.unsealed == nil &&
		(l.survey.damages(&r.Header) || at[trace.A].unsettled(trace.A) || at[trace.B].unsettled(trace.B))
	for tap := range at {
		at[tap].addDoubts(trace.Side(tap))
		for i := range r.Header.Conns {
			if r.Header.Inferred {
				at[tap].suspect(r.Header.Conns[i].Ends[tap].Addr)
			}
		}
	}
	if r.Capture.Dropped > 0 {
		unplace(r.Header.Conns)
	}
	r.Capture.Anew = at[0].anew(&r.Header) + at[1].anew(&r.Header)
	return nil, nil
}

// stand derives the place of the only tap, and examines the capture for missing frames.
func (r *Recording) stand(l *learner, as anew, how *procedure, tap Tap) error {
	v, w := newVantage(&r.Header), newWitness(&r.Header)
	err := l.show(&r.Header, as, func(s *sighting, e end) {
		v.follow(s, e)
		w.follow(s, e)
	})
	if err != nil {
		return err
	}
	r.Capture.Located = w.tell()
	at := v.decide()
	if how.apart[0] {
		at = place{why: "most frames were seen at two places"}
	}
	switch {
	case tap.stated():
		err = tap.settle(&r.Header, r.Capture)
	case at.addr.IsValid():
		r.Capture.Why = at.why
		if r.Header.Inferred = at.inferred && r.unsealed == nil; r.Header.Inferred {
			v.suspect(at.addr)
			v.skipped(at.addr)
		}
		err = tapAt(&r.Header, r.Capture, at.addr)
	default:
		err = Tap{place: between}.settle(&r.Header, r.Capture)
		r.Capture.Told, r.Capture.Why = false, at.why
	}
	r.Capture.Missing, r.Capture.Anew = v.missing(&r.Header), v.anew(&r.Header)
	return err
}

// survey reads captures once to learn their connections. If it finds senders that never make a right ICRC, it reads the
// captures again with their frames.
func (r *Recording) survey(name string, as anew) (*learner, error) {
	l := newLearner()
	l.seals.never = r.unsealed
	err := as(func(c *captureFiles) error {
		if err := l.read(c.sources); err != nil {
			return err
		}
		if r.unsealed == nil {
			if r.unsealed = l.seals.unsealed(); r.unsealed != nil {
				return nil
			}
		}
		r.Header, *r.Capture = l.header(), Capture{}
		c.count(l, r.Capture)
		if len(r.Header.Conns) == 0 {
			return fmt.Errorf("trace: %s: no RoCEv2 connection in it; %s", name, c.counts(l))
		}
		return nil
	})
	if err == nil && r.unsealed != nil && l.seals.never == nil {
		return r.survey(name, as)
	}
	return l, err
}
