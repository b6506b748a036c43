package datasheet

// Findings is the observed behaviour of one device, in both roles. Times are nanoseconds, all other numbers are counts.
type Findings struct {
	Transports map[string]int // packets sent, by transport
	Remote     bool           // the device's own port was not tapped: times include the round trip to it

	// As a requester.
	ResendLatency   sample // from the indication of a gap to the first retransmission
	ResentOnNAK     sample // packets retransmitted in a row,
	WholeOnNAK      int    // and how often these were all packets from there on
	ResentOnTimeout sample // the same, after a timeout
	WholeOnTimeout  int
	Timeouts        sample  // every timeout, from the latest transmission or progress to the retransmission
	Ladder          []int64 // the longest series of timeouts without progress
	Retries         sample  // timeouts after which the device gave up
	RetriesSurvived int     // the largest number of timeouts after which it had not given up
	RNRWait         sample  // from an RNR NAK to the next attempt
	RNRCode         sample  // the codes of those NAKs
	RNRRetries      sample  // attempts after which the device gave up
	ReadGap         sample  // from a READ response after a missing one to the READ that asks again
	AckReqEvery     sample  // packets from one AckReq to the next
	Messages        int
	MessagesAsking  int // those whose last packet requests an acknowledgement
	Packets         Depth
	Outstanding     Depth // messages

	// As a responder.
	NAKs          [kinds]int // sent, by kind
	NAKLatency    sample     // from the packet that shows a gap to the first answer that names it
	NAKsPerGap    sample
	NAKsPerEarly  sample // per hundred out-of-order packets, for gaps with several of them
	Unanswered    int    // gaps that no answer named
	Repairs       int    // repair packets that arrived
	Repaired      int    // gaps that the device filled without receiving the missing packet
	PacketsPerAck sample
	AskedPerAck   sample // packets with AckReq
	AckDelay      sample // from the packet that an ACK names to the ACK
	RNRSent       sample // codes

	Counters []Counter // counters of the device, in the order of their first readings
}

// ladderRungs bounds the timeouts that are recorded. No retry count is higher except TCP's.
const ladderRungs = 16

// Depth is the amount that a requester has in flight.
type Depth struct {
	Most int `json:"most"`
	Held int `json:"held"` // times that it waited for an acknowledgement with Most in flight
}

// inFlight records the amount in flight.
func (f *Findings) inFlight(packets, messages int) {
	f.Packets.reach(packets)
	f.Outstanding.reach(messages)
}

// held records that the device waited for an acknowledgement with n in flight.
func (f *Findings) held(n [2]int) {
	f.Packets.hold(n[0])
	f.Outstanding.hold(n[1])
}

func (d *Depth) reach(n int) {
	if n > d.Most {
		*d = Depth{Most: n}
	}
}

func (d *Depth) hold(n int) {
	if n == d.Most {
		d.Held++
	}
}

// climbed records a series of timeouts, after which the device gave up or did not.
func (f *Findings) climbed(ladder []int64, gaveUp bool) {
	if len(ladder) > len(f.Ladder) {
		f.Ladder = ladder
	}
	switch {
	case len(ladder) == 0:
	case gaveUp:
		f.Retries.add(int64(len(ladder)))
	default:
		f.RetriesSurvived = max(f.RetriesSurvived, len(ladder))
	}
}

// gap counts a gap that is filled.
func (f *Findings) gap(g *gap) {
	if g.naks == 0 {
		if g.alone && g.early > 0 {
			f.Unanswered++
		}
		return
	}
	f.NAKsPerGap.add(int64(g.naks))
	if g.opened != 0 && g.early > 1 {
		f.NAKsPerEarly.add(int64(100 * g.naks / g.early))
	}
}

// samples lists every sample, so that adding two findings covers all of them.
func (f *Findings) samples() []*sample {
	return []*sample{&f.ResendLatency, &f.ResentOnNAK, &f.ResentOnTimeout, &f.Timeouts, &f.Retries, &f.RNRWait,
		&f.RNRCode, &f.RNRRetries, &f.ReadGap,
		&f.AckReqEvery, &f.NAKLatency, &f.NAKsPerGap, &f.NAKsPerEarly, &f.PacketsPerAck, &f.AskedPerAck,
		&f.AckDelay, &f.RNRSent}
}

// Add adds the findings of another trace, or of the device at the other end of the same trace.
func (f *Findings) Add(o *Findings) {
	if f.Transports == nil {
		f.Transports = map[string]int{}
	}
	for name, n := range o.Transports {
		f.Transports[name] += n
	}
	f.Remote = f.Remote || o.Remote
	theirs := o.samples()
	for i, s := range f.samples() {
		s.merge(theirs[i])
	}
	f.WholeOnNAK += o.WholeOnNAK
	f.WholeOnTimeout += o.WholeOnTimeout
	f.Messages += o.Messages
	f.MessagesAsking += o.MessagesAsking
	f.Unanswered += o.Unanswered
	f.Repaired += o.Repaired
	f.Repairs += o.Repairs
	if len(o.Ladder) > len(f.Ladder) {
		f.Ladder = o.Ladder
	}
	f.RetriesSurvived = max(f.RetriesSurvived, o.RetriesSurvived)
	for k := range f.NAKs {
		f.NAKs[k] += o.NAKs[k]
	}
	for _, c := range o.Counters {
		f.Count(c)
	}
	f.Packets.add(o.Packets)
	f.Outstanding.add(o.Outstanding)
}

func (d *Depth) add(o Depth) {
	d.reach(o.Most)
	if o.Most == d.Most {
		d.Held += o.Held
	}
}
