package meta

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/meta/degrade"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/merge"
	"github.com/rdma-gauntlet/gauntlet/harness/recording"
	"github.com/rdma-gauntlet/gauntlet/harness/splitmix"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Way is one way to lose evidence: a run is seen from one View, its recording there is damaged by a Harm, and, unless
// Told, the connections are known only from the frames.
type Way struct {
	View degrade.View
	Harm degrade.Harm
	// the attributes of the QPs, the place of the tap and the properties that the recording lacks are known
	Told   bool
	Stated bool // the user states the attributes of the QPs of a foreign capture, and at which port it was taken
}

// String returns the name of the way.
func (w Way) String() string {
	switch {
	case w.Told:
		return w.View.Name + ", " + w.Harm.Name + ", told"
	case w.Stated:
		return w.View.Name + ", " + w.Harm.Name + ", stated"
	}
	return w.View.Name + ", " + w.Harm.Name
}

// broken returns the reason for which a bench's certificate would make verdicts INVALID; "" when it would not.
func (w Way) broken(rests validity.Property) string {
	if w.Harm.Breaks != 0 && rests.Fails(w.Harm.Breaks) {
		return w.Harm.Name
	}
	return ""
}

// Ways returns all ways.
func Ways() (list []Way) {
	for _, v := range degrade.Views {
		for _, h := range degrade.Harms {
			list = append(list, Way{View: v, Harm: h}, Way{View: v, Harm: h, Stated: true})
			if !v.OneWay {
				list = append(list, Way{View: v, Harm: h, Told: true})
			}
		}
	}
	return list
}

// FromLess judges each recording with less evidence, in the ways that are given for it. No rule that does not fail with
// all evidence may fail with less (META-LESS-001), and a rule that fails with all evidence may pass with less only
// where the evidence against it is gone (META-MORE-001). Recordings with a packet that was forged on the path are
// skipped, because a tap takes it for a packet of an endpoint, and so are divided paths and storms of packets.
func FromLess(by Judge, rules []rule.Rule, over []*Recording,
	ways func(i int) []Way) (less, more rule.Verdict, err error) {
	var added, kept account
	for i, r := range over {
		whole, err := r.judge(by, rules)
		if err != nil {
			return less, more, err
		}
		wires, err := degrade.Wires(r.Header, r.Play)
		if err != nil {
			return less, more, err
		}
		for _, wire := range wires {
			if wire.Forged || wire.Long || r.Header.Divided() {
				continue
			}
			for _, w := range ways(i) {
				name := fmt.Sprintf("%s, %v", r.Name, w)
				left := w.Harm.To(w.View.Of(wire), draws(name))
				degraded, err := r.less(by, rules, wire, w, left)
				if err != nil {
					return less, more, fmt.Errorf("meta: %s: %w", name, err)
				}
				added.added(name, whole, degraded)
				before, err := r.before(by, rules, wire, w, whole)
				if err != nil {
					return less, more, fmt.Errorf("meta: %s: %w", name, err)
				}
				kept.kept(name, before, degraded, w.Harm.Hides || left.Conceals())
			}
		}
	}
	return added.verdict(LessEvidence), kept.verdict(MoreEvidence), nil
}

// draws returns the random numbers of one way and recording; they do not depend on what was judged before.
func draws(name string) splitmix.Stream {
	h := fnv.New64a()
	h.Write([]byte(name))
	return splitmix.Stream(h.Sum64())
}

// added records the rules that fail with less evidence only.
func (a *account) added(name string, whole, degraded []rule.Verdict) {
	for k, v := range degraded {
		if v.Met > 0 {
			a.met++
		}
		switch {
		case v.Status == rule.Error:
			a.failf("%s: %s: %s", name, v.Rule, v.Reason)
		case v.Status == rule.Fail && whole[k].Status != rule.Fail:
			a.failf("%s: %s is %s, and FAIL with less: %s", name, v.Rule, because(&whole[k]), v.Findings[0].Text)
		}
	}
}

// before returns the verdicts with which those of way w are compared: the verdicts on the whole run or, unless Told,
// those on the undamaged recording from the same View.
func (r *Recording) before(by Judge, rules []rule.Rule, wire *degrade.Wire, w Way,
	whole []rule.Verdict) ([]rule.Verdict, error) {
	fails := func(v rule.Verdict) bool { return v.Status == rule.Fail }
	if w.Told || !slices.ContainsFunc(whole, fails) {
		return whole, nil
	}
	return r.less(by, rules, wire, Way{View: w.View, Harm: degrade.Harms[0]}, w.View.Of(wire))
}

// kept records the rules that fail with all evidence and pass with less although they met as many stimuli and no
// evidence is hidden, and those that are undecided without a reason.
func (a *account) kept(name string, before, degraded []rule.Verdict, hidden bool) {
	for k, v := range degraded {
		if len(before) == 0 || before[k].Status != rule.Fail {
			continue
		}
		a.met++
		if !hidden && v.Status == rule.Pass && v.Met >= before[k].Met || v.Status != rule.Pass &&
			v.Status != rule.Fail && v.Reason == "" {
			a.failf("%s: %s is FAIL (met %d), and %v with less (met %d): %s", name, v.Rule, before[k].Met, v.Status,
				v.Met, before[k].Findings[0].Text)
		}
	}
}

// because returns a status with its reason.
func because(v *rule.Verdict) string {
	if v.Reason == "" {
		return v.Status.String()
	}
	return fmt.Sprintf("%v (%s)", v.Status, v.Reason)
}

// less judges a damaged recording of a wire; it returns no verdicts when the recording cannot be opened.
func (r *Recording) less(by Judge, rules []rule.Rule, wire *degrade.Wire, w Way,
	left degrade.Recording) ([]rule.Verdict, error) {
	file := left.File()
	o := r.Options
	if w.Told {
		h := wire.Header
		h.Taps, h.Between = left.Place, left.Between
		if left.Form.Micro {
			h.Tick = vtime.Microsecond // as the reader of a foreign capture derives it
		}
		verdicts, err := by(h, rules, o, func(s trace.Sink) error { return told(&h, file, s) })
		rule.Invalidate(verdicts, w.broken)
		return verdicts, err
	}
	o.Orders = nil
	in, err := recording.ReadFrom("degraded", bytes.NewReader(file), int64(len(file)), w.stated(&wire.Header, left.Place))
	if err != nil {
		return nil, nil // too few frames to derive a connection
	}
	verdicts, err := by(in.Header, rules, o, in.Play)
	rule.Doubt(verdicts, in.Capture.Doubts())
	if left.Lacks() && in.Capture.Completeness() == recording.Assumed || left.Conceals() {
		rule.Doubt(verdicts, untrue)
	}
	return verdicts, err
}

// stated returns what the user states of a foreign capture, at a place, of the connections of h.
func (w Way) stated(h *trace.Header, place [2]bool) (s recording.Stated) {
	if !w.Stated {
		return s
	}
	for side := range place {
		if place[side] && !place[1-side] {
			s.Tap, _ = recording.ParseTap(h.Conns[0].Ends[side].Addr.String()) // an address is never an error
		}
	}
	s.QP = func(host netip.Addr, q *engine.QP, _ map[string]string) (start bool, err error) {
		for i := range h.Conns {
			for _, e := range h.Conns[i].Ends {
				if e.Addr == host && e.QP.QPN == q.QPN && e.Known {
					*q = e.QP
					return true, nil
				}
			}
		}
		return false, errors.New("the attributes of the QP are not known")
	}
	return s
}

// untrue is the doubt about a capture of which the result says that it is assumed to be complete, because it does not
// count losses, or that missing parts of frames are assumed undamaged, and of which that is not so.
var untrue = []trace.Doubt{{Fails: validity.Capture, Why: "what was assumed of the capture is not so"}}

// told plays a file whose header is known.
func told(h *trace.Header, file []byte, s trace.Sink) error {
	in, err := capture.NewReader(bytes.NewReader(file))
	if err != nil {
		return err
	}
	if h.Taps == [2]bool{true, true} {
		_, err = merge.Taps(h, []capture.Source{in}, merge.Options{}, s)
		return err
	}
	side := trace.A
	if h.Taps[trace.B] {
		side = trace.B
	}
	return merge.OneTap(h, side, []capture.Source{in}, s)
}
