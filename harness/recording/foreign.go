package recording

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// learn finds out what a foreign capture is of, how it has to be read, and where it was taken. It returns how to read
// it.
func (r *Recording) learn(name string, with anew, tap Tap) (anew, error) {
	var how procedure
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
	late, distant := l.survey.late, l.survey.distant()
	for range 3 { // what frames out of order do not show, they show in order
		was := how
		if how = l.survey.procedure(&was); !how.differs(&was, l.survey.tapped()) {
			break
		}
		if l, err = r.survey(name, as); err != nil {
			return nil, err
		}
	}
	r.Capture.Late, r.Capture.Clocks, r.Capture.Distant = uint64(late), how.shift, distant
	switch {
	case how.two && tap.told():
		return nil, fmt.Errorf("trace: %s: two taps show themselves where they stand", name)
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
	r.Capture.Late = uint64(late)
	if err = r.stand(l, as, &how, tap); err == nil {
		r.Capture.Why += fmt.Sprintf("; tap %v stands between the ports, and is left out", only.Other())
	}
	return l.trusting(as), err
}

// both finds out what speaks against the captures of two taps, and whether one of them is between the ports: then the
// other one alone counts, or the first when both are.
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
	r.Capture.Anew = at[0].anew(&r.Header) + at[1].anew(&r.Header)
	return nil, nil
}

// stand finds out where the one tap stands, and what speaks against the capture.
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
	case tap.told():
		err = tap.settle(&r.Header, r.Capture)
	case at.addr.IsValid():
		r.Capture.Why = at.why
		err = tapAt(&r.Header, r.Capture, at.addr)
	default:
		err = Tap{place: between}.settle(&r.Header, r.Capture)
		r.Capture.Told, r.Capture.Why = false, at.why
	}
	r.Capture.Missing, r.Capture.Anew = v.missing(&r.Header), v.anew(&r.Header)
	return err
}

// survey reads captures once to learn their connections.
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
