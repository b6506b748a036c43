package meta

import (
	"bytes"
	"fmt"
	"hash/fnv"

	"github.com/rdma-gauntlet/gauntlet/conformance/meta/degrade"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/merge"
	"github.com/rdma-gauntlet/gauntlet/harness/recording"
	"github.com/rdma-gauntlet/gauntlet/harness/splitmix"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Way is one way to lose evidence: to see a run from a place, to have what was recorded there harmed, and, unless Told, to know of the
// connections what the frames tell alone.
type Way struct {
	View degrade.View
	Harm degrade.Harm
	Told bool // the attributes of the QPs are known, and where the tap stands
}

// String names the way.
func (w Way) String() string {
	if w.Told {
		return w.View.Name + ", " + w.Harm.Name + ", told"
	}
	return w.View.Name + ", " + w.Harm.Name
}

// Ways returns all of them. What is told comes with complete captures only: of others a bench that tells it says so, and what rests on
// them is INVALID.
func Ways() (list []Way) {
	for _, v := range degrade.Views {
		for _, h := range degrade.Harms {
			list = append(list, Way{v, h, false})
			if h.Whole && !v.OneWay {
				list = append(list, Way{v, h, true})
			}
		}
	}
	return list
}

// Less judges each recording with less evidence, in the ways that are given for it: no rule may fail that holds with all of it
// (META-LESS-001). Recordings without bytes are passed over, those of which a packet was
// forged on the way, because a tap takes it for that of an endpoint, and those of a path with a box in it, which stands in for both ends
// in ways that only its rules know.
func Less(by Judge, rules []rule.Rule, over []*Recording, ways func(i int) []Way) (rule.Verdict, error) {
	var a account
	for i, r := range over {
		whole, err := r.judge(by, rules)
		if err != nil {
			return rule.Verdict{}, err
		}
		wires, err := degrade.Wires(r.Header, r.Play)
		if err != nil {
			return rule.Verdict{}, err
		}
		for _, wire := range wires {
			if wire.Forged || r.Header.Divided() {
				continue
			}
			for _, w := range ways(i) {
				name := fmt.Sprintf("%s, %v", r.Name, w)
				degraded, err := r.less(by, rules, wire, w, draws(name))
				if err != nil {
					return rule.Verdict{}, fmt.Errorf("meta: %s: %w", name, err)
				}
				a.added(name, whole, degraded)
			}
		}
	}
	return a.verdict(LessEvidence), nil
}

// draws are the random numbers of one way and recording, whatever was judged before.
func draws(name string) splitmix.Stream {
	h := fnv.New64a()
	h.Write([]byte(name))
	return splitmix.Stream(h.Sum64())
}

// added notes the rules that fail with less evidence alone.
func (a *account) added(name string, whole, degraded []rule.Verdict) {
	for k, v := range degraded {
		if v.Met > 0 {
			a.met++
		}
		switch {
		case v.Status == rule.Error:
			a.failf("%s: %s: %s", name, v.Rule, v.Reason)
		case v.Status == rule.Fail && whole[k].Status != rule.Fail:
			a.failf("%s: %s is %v, and FAIL with less: %s", name, v.Rule, whole[k].Status, v.Findings[0].Text)
		}
	}
}

// less judges what is left of a wire; it returns no verdicts where nothing is left to judge.
func (r *Recording) less(by Judge, rules []rule.Rule, wire *degrade.Wire, w Way, random splitmix.Stream) ([]rule.Verdict, error) {
	left := w.Harm.To(w.View.Of(wire), random)
	file := left.File()
	o := r.Options
	if w.Told {
		h := wire.Header
		h.Taps, h.Between = left.Place, left.Between
		return by(h, rules, o, func(s trace.Sink) error { return told(&h, file, s) })
	}
	o.Orders = nil
	in, err := recording.ReadFrom("degraded", bytes.NewReader(file), int64(len(file)), recording.Tap{})
	if err != nil {
		return nil, nil // too little to know what it is of
	}
	verdicts, err := by(in.Header, rules, o, in.Play)
	for _, d := range in.Capture.Doubts() {
		rule.Doubt(verdicts, d.Property, d.Why)
	}
	return verdicts, err
}

// told plays a file of which the header is known.
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
