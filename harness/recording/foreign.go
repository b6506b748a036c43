package recording

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/recording/evidence"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// learn derives the connections of a foreign capture, the procedure by which it has to be read, and the place of its
// tap, as far as they are not stated. It returns the anew that reads by that procedure.
func (r *Recording) learn(name string, with anew, stated Stated) (anew, error) {
	l, as, err := r.place(name, with, stated)
	if err == nil {
		err = r.complete(l, stated.QP)
	}
	if err != nil {
		return nil, err
	}
	for i := range r.Header.Conns {
		if r.Header.Conns[i].Anew {
			r.Capture.Anew++
		}
	}
	return l.kept.reading(as, &r.Header, l.bad == 0), nil
}

// place is learn without the attributes of QPs. It returns the learner as well.
func (r *Recording) place(name string, with anew, stated Stated) (*learner, anew, error) {
	var how procedure
	tap := stated.Tap
	defer func() { r.Header.Tick = vtime.FromStd(how.tick) }()
	as := func(f func(*captureFiles) error) error {
		return with(func(c *captureFiles) error {
			how.apply(c)
			return f(c)
		})
	}
	l, err := r.survey(name, as)
	if err != nil {
		return nil, nil, err
	}
	late, back, distant := l.survey.late, l.survey.back, l.survey.distant()
	for range 3 { // frames put in order may show more than frames out of order
		was := how
		if how = l.survey.procedure(&was); !how.differs(&was, l.survey.tapped()) {
			break
		}
		if l, err = r.survey(name, as); err != nil {
			return nil, nil, err
		}
	}
	r.Capture.Late, r.Capture.Back, r.Capture.Clocks, r.Capture.Distant = uint64(late), back, how.shift, distant
	if err := tap.suits(name, how.two); err != nil {
		return nil, nil, err
	}
	if !how.two {
		return l, as, r.stand(l, as, &how, tap)
	}
	only, err := r.both(l, as, &how, stated)
	if only == nil || err != nil {
		return l, as, err
	}
	how = how.alone(*only)
	if l, err = r.survey(name, as); err != nil {
		return nil, nil, err
	}
	r.Capture.Late, r.Capture.Back = uint64(late), back
	if err = r.stand(l, as, &how, Tap{}); err == nil {
		r.Capture.Why += fmt.Sprintf("; tap %v stands between the ports, and is left out", only.Other())
	}
	return l, as, err
}

// both examines the captures of two taps for missing frames, and for a tap that is between the ports. It returns the
// only tap to use in that case: the other one, or the first if both are between the ports. That the user states their
// places leaves only what the frames contradict.
func (r *Recording) both(l *learner, as anew, how *procedure, stated Stated) (only *trace.Side, err error) {
	at := [2]*evidence.Vantage{evidence.NewVantage(&r.Header), evidence.NewVantage(&r.Header)}
	w := evidence.NewWitness(&r.Header)
	w.Begins = func(conn int32, requester trace.Side) bool { return r.begins(l, conn, requester, stated.QP) }
	err = l.show(&r.Header, as, func(s *evidence.Sighting, e evidence.End) {
		at[s.Tap].Follow(s, e)
		w.Follow(s, e)
	})
	between := func(s trace.Side) bool { return how.apart[s] || at[s].Astray(s) }
	if stated.Tap.stated() {
		between = func(s trace.Side) bool { return how.apart[s] || at[s].RefutesBoth(s) }
	}
	switch {
	case err != nil:
		return nil, err
	case between(trace.B):
		return new(trace.Side), nil
	case between(trace.A):
		b := trace.B
		return &b, nil
	}
	r.Capture.Located = w.Tell()
	l.say(&r.Header, r.Capture)
	if r.Capture.Told = stated.Tap.stated(); r.Capture.Told {
		r.Capture.Why += ", which is at its port as stated by the user"
	}
	r.Header.Inferred = r.unsealed == nil && !r.Capture.Told &&
		(l.survey.damages(&r.Header) || at[trace.A].Unsettled(trace.A) || at[trace.B].Unsettled(trace.B))
	if r.Header.Inferred {
		r.Capture.Why += "; that no hop is between a tap and its port is assumed, and --tap ports states it"
	}
	for tap := range at {
		at[tap].AddDoubts(trace.Side(tap), r.Header.Inferred, r.Capture.Told)
	}
	if r.Capture.Dropped > 0 {
		evidence.Widen(r.Header.Conns)
	}
	for _, v := range at {
		v.MarkAnew(&r.Header)
	}
	return nil, nil
}

// stand derives the place of the only tap, and examines the capture for missing frames.
func (r *Recording) stand(l *learner, as anew, how *procedure, tap Tap) error {
	v, w := evidence.NewVantage(&r.Header), evidence.NewWitness(&r.Header)
	err := l.show(&r.Header, as, func(s *evidence.Sighting, e evidence.End) {
		v.Follow(s, e)
		w.Follow(s, e)
	})
	if err != nil {
		return err
	}
	r.Capture.Located = w.Tell()
	at := v.Decide()
	if how.apart[0] {
		at = evidence.Place{Why: "most frames were seen at two places"}
	}
	switch {
	case tap.stated():
		err = r.believe(tap, v)
	case at.Addr.IsValid():
		r.Capture.Why = at.Why
		if r.Header.Inferred = at.Inferred && r.unsealed == nil; r.Header.Inferred {
			v.DoubtPlace(at.Addr)
		}
		err = tapAt(&r.Header, r.Capture, at.Addr)
	default:
		err = Tap{place: between}.settle(&r.Header, r.Capture)
		r.Capture.Told, r.Capture.Why = false, at.Why
	}
	r.Capture.Missing = v.Missing(&r.Header)
	v.MarkAnew(&r.Header)
	return err
}

// believe sets the place that the user states. If the frames show that the tap is not there, it is between the ports: a
// FAIL that rests on a place is a proof only if the frames allow that place.
func (r *Recording) believe(tap Tap, v *evidence.Vantage) error {
	err := tap.settle(&r.Header, r.Capture)
	if err != nil || r.Header.Between {
		return err
	}
	side, c := trace.A, r.Capture
	if r.Header.Taps[trace.B] {
		side = trace.B
	}
	switch why, refuted := v.Refutes(side); {
	case refuted:
		at := c.Tap
		err = Tap{place: between}.settle(&r.Header, c)
		c.Address, c.Told = "", false
		c.Why = fmt.Sprintf("the user states the port of the %s, which the frames contradict: %s", at, why)
	case why != "":
		c.Why += "; against that: " + why
	}
	return err
}

// survey reads captures once to learn their connections. If it finds senders that never make a right ICRC, it reads the
// captures again with their frames.
func (r *Recording) survey(name string, as anew) (*learner, error) {
	l := newLearner()
	l.seals.never = r.unsealed
	err := as(func(c *captureFiles) error {
		if err := l.read(c.sources, c.progress); err != nil {
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
			return fmt.Errorf("trace: %s: it shows no RoCEv2 connection; %s", name, c.counts(l))
		}
		return nil
	})
	if err == nil && r.unsealed != nil && l.seals.never == nil {
		return r.survey(name, as)
	}
	return l, err
}
