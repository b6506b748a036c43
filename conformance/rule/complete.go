package rule

import "fmt"

// Complete returns an error that names what the definition of a rule lacks.
func Complete(r *Rule) error {
	for _, f := range []struct{ name, value string }{
		{"level", string(r.Level)}, {"title", r.Title}, {"source", r.Source.Ref}, {"quotation of the source", r.Source.Quote},
		{"stimulus", r.Stimulus}, {"list of black boxes", r.BlackBox},
	} {
		if f.value == "" {
			return fmt.Errorf("rule %s: no %s", r.ID, f.name)
		}
	}
	if (r.New == nil) != (r.Unbuilt != "") {
		return fmt.Errorf("rule %s: give either New or the reason why it is unbuilt", r.ID)
	}
	if r.New == nil {
		return nil
	}
	check := r.New(&Context{Conversation: &Conversation{}, rule: r, here: &place{}})
	if check.Event == nil && (check.Sight == nil || r.Sees == 0) {
		return fmt.Errorf("rule %s: sees neither packets nor events", r.ID)
	}
	if check.Sight == nil && r.Sees != 0 {
		return fmt.Errorf("rule %s: names packets to see but has no check of them", r.ID)
	}
	return nil
}
