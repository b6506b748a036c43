package recording

import (
	"fmt"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// learn finds out what a foreign capture is of, how it has to be read, and where it was taken. It returns how to read it.
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
	late := l.survey.late
	for range 3 { // what frames out of order do not show, they show in order
		was := how
		if how = l.survey.procedure(&was); !how.differs(&was, l.survey.tapped()) {
			break
		}
		if l, err = r.survey(name, as); err != nil {
			return nil, err
		}
	}
	r.Capture.Late, r.Capture.Clocks = uint64(late), how.shift
	switch {
	case how.two && tap.told():
		return nil, fmt.Errorf("trace: %s: two taps show themselves where they stand", name)
	case !how.two:
		return l.trusting(as), r.stand(as, &how, tap)
	}
	only, err := r.between(as)
	switch {
	case err != nil:
		return nil, err
	case only == nil:
		l.say(&r.Header, r.Capture)
		return l.trusting(as), r.bear(as)
	}
	how.two, how.only, how.shift = false, only, 0
	if l, err = r.survey(name, as); err != nil {
		return nil, err
	}
	r.Capture.Late = uint64(late)
	if err = r.stand(as, &how, tap); err == nil {
		r.Capture.Why += fmt.Sprintf("; tap %v stands between the ports, and is left out", only.Other())
	}
	return l.trusting(as), err
}

// between finds out whether one of two taps is between the ports: then the other one alone counts, or the first when both are.
func (r *Recording) between(as anew) (only *trace.Side, err error) {
	var at [2]*vantage
	err = as(func(c *captureFiles) error {
		for s := range at {
			at[s] = newVantage(&r.Header)
		}
		lanes := capture.NewLanes(c.sources, time.Time{})
		for n := lanes.Next(); n != nil; n = lanes.Next() {
			at[n.Frame.Tap].frame(&n.Frame, n.At)
		}
		r.Capture.Anew = at[0].anew() + at[1].anew()
		return nil // an error shows when it is played
	})
	switch {
	case err != nil:
		return nil, err
	case at[trace.B].astray(trace.B):
		return new(trace.Side), nil
	case at[trace.A].astray(trace.A):
		b := trace.B
		return &b, nil
	}
	return nil, nil
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

// stand finds out where the one tap stands.
func (r *Recording) stand(as anew, how *procedure, tap Tap) error {
	return as(func(c *captureFiles) error {
		v := newVantage(&r.Header)
		v.unsealed = r.unsealed
		if err := v.watch(c.sources); err != nil {
			return err
		}
		v.witness.tell()
		at := v.decide()
		if how.apart {
			at = place{why: "most frames were seen at two places"}
		}
		var err error
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
		r.Capture.Missing, r.Capture.Anew = v.missing(&r.Header), v.anew()
		return err
	})
}

// bear finds out what speaks against the captures of two taps.
func (r *Recording) bear(as anew) error {
	return as(func(c *captureFiles) error {
		v := newVantage(&r.Header)
		err := v.watch(c.sources)
		v.witness.tell()
		return err
	})
}
