package tape

// Stats describes the losses of a tape.
type Stats struct {
	Key     Key     `json:"key"`
	Slot    string  `json:"slot,omitempty"`
	Model   string  `json:"model,omitempty"`
	Seed    uint64  `json:"seed"`
	Length  uint64  `json:"length,omitempty"` // packets or slots
	Lost    uint64  `json:"lost"`
	Rate    float64 `json:"loss_rate,omitempty"`     // Lost over Length
	Bursts  uint64  `json:"bursts,omitempty"`        // runs of consecutive losses
	Mean    float64 `json:"mean_burst,omitempty"`    // packets or slots
	Longest uint64  `json:"longest_burst,omitempty"` // likewise
	QPs     int     `json:"qps,omitempty"`           // ByIdentity: connections that lose a packet
	Again   uint64  `json:"lost_again,omitempty"`    // ByIdentity: lost retransmissions
}

// Stats returns the statistics of a valid tape.
func (t *Tape) Stats() Stats {
	s := Stats{Key: t.Key, Model: t.Model, Seed: t.Seed, Length: t.Length, Lost: t.Lost()}
	if t.Key == ByTime {
		s.Slot = t.Slot.String()
	}
	if t.Length > 0 {
		s.Rate = float64(s.Lost) / float64(t.Length)
	}
	for _, span := range t.Spans {
		s.Bursts++
		s.Longest = max(s.Longest, span.To-span.From+1)
	}
	if s.Bursts > 0 {
		s.Mean = float64(s.Lost) / float64(s.Bursts)
	}
	for i, id := range t.IDs { // sorted, so the IDs of a QP are adjacent
		if i == 0 || t.IDs[i-1].QP != id.QP {
			s.QPs++
		}
		if id.Tx > 1 {
			s.Again++
		}
	}
	return s
}
