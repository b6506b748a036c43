package recording

import (
	"fmt"
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
	for range 2 { // what frames out of order do not show, they show in order
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
	case how.two:
		l.say(&r.Header, r.Capture)
		return as, nil
	}
	return as, r.stand(as, tap)
}

// survey reads captures once to learn their connections.
func (r *Recording) survey(name string, as anew) (l *learner, err error) {
	return l, as(func(c *captureFiles) (err error) {
		if l, err = learn(c.sources); err != nil {
			return err
		}
		r.Header, *r.Capture = l.header(), Capture{}
		c.count(l, r.Capture)
		if len(r.Header.Conns) == 0 {
			return fmt.Errorf("trace: %s: no RoCEv2 connection in it; %s", name, c.counts(l))
		}
		return nil
	})
}

// stand finds out where the one tap stands.
func (r *Recording) stand(as anew, tap Tap) error {
	return as(func(c *captureFiles) error {
		v := newVantage(&r.Header)
		if err := v.watch(c.sources); err != nil {
			return err
		}
		at := v.decide()
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
		r.Capture.Missing = v.missing(&r.Header)
		return err
	})
}
