package datasheet

// Reasons is the set of observations of a requester that explain its goodput on a lossy link.
type Reasons struct {
	Window      Depth `json:"window_packets"`             // sent and not acknowledged
	AckReqEvery Range `json:"packets_per_ack_req"`        // packets from one AckReq to the next
	Answered    Range `json:"nak_to_resend_ns"`           // from a NAK to the first retransmission
	GoneBack    Range `json:"packets_resent_per_nak"`     // one after the other
	Timeouts    Range `json:"timeouts_ns"`                // idle times that the transport timer ended
	AfterTimer  Range `json:"packets_resent_per_timeout"` // likewise
}

// Range summarises values: their number, least, median and greatest.
type Range struct {
	Seen     int   `json:"seen"`
	Least    int64 `json:"least"`
	Median   int64 `json:"median"`
	Greatest int64 `json:"greatest"`
	Sum      int64 `json:"sum"`
}

// Reasons returns them.
func (f *Findings) Reasons() Reasons {
	return Reasons{Window: f.Packets, AckReqEvery: f.AckReqEvery.summed(), Answered: f.ResendLatency.summed(),
		GoneBack: f.ResentOnNAK.summed(),
		Timeouts: f.Timeouts.summed(), AfterTimer: f.ResentOnTimeout.summed()}
}

// summed sums the sample up.
func (s *sample) summed() Range {
	r := Range{Seen: s.seen}
	r.Least, r.Median, r.Greatest = s.spread()
	for _, v := range s.values {
		r.Sum += v
	}
	return r
}
