package datasheet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// readTransport lists the transports of the device's packets, the most frequent first.
func readTransport(f *Findings) (r Row) {
	var names []string
	for name, n := range f.Transports {
		names = append(names, name)
		r.Seen += n
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := f.Transports[b] - f.Transports[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	r.Value = strings.Join(names, ", ")
	if f.Remote {
		r.Value += "; not tapped at its own port: times hold the way to it and back"
	}
	return r
}

// readRecovery infers the recovery scheme of the device: from the number of packets that it retransmits after an
// indication of loss, and from the indications that it sends itself.
func readRecovery(f *Findings) (r Row) {
	by, repaired := f.ResentOnNAK.seen, f.Repaired
	if f.Repairs == 0 {
		repaired = 0 // without repair packets: a forged packet has caused the gap
	}
	r.Seen = by + repaired
	switch {
	case by == 0 && f.ResentOnTimeout.seen > 0:
		r.Value, r.Seen = "by timeout", f.ResentOnTimeout.seen+repaired
	case by == 0:
		r.Value = ""
	case 2*f.WholeOnNAK > by:
		r.Value = "go-back-N"
	default:
		r.Value = "selective"
	}
	if told := f.tells(); told != "" && by > 0 {
		r.Value += ", told by " + told
	}
	if repaired > 0 {
		r.Value = strings.TrimPrefix(r.Value+fmt.Sprintf(", after repair packets for %d of the losses", repaired), ", ")
	}
	return r
}

// tells names the responses of the device to a gap.
func (f *Findings) tells() string {
	names := [kinds]string{sequence: "NAKs", selective: "selective acknowledgements",
		duplicate: "repeated acknowledgements"}
	best := sequence
	for _, k := range []kind{selective, duplicate} {
		if f.NAKs[k] > f.NAKs[best] {
			best = k
		}
	}
	if f.NAKs[best] == 0 {
		return ""
	}
	return names[best]
}

// readNAKs reports the number of NAKs that the device sends for a gap.
func readNAKs(f *Findings) Row {
	least, median, most := f.NAKsPerGap.spread()
	r := Row{Seen: f.NAKsPerGap.seen}
	_, perEarly, _ := f.NAKsPerEarly.spread()
	switch {
	case r.Seen == 0 && f.Unanswered > 0:
		r.Value, r.Seen = "none: it is left to the timer", f.Unanswered
	case most == 1:
		r.Value = "one"
	case f.NAKsPerEarly.seen > 0 && perEarly >= 90 && perEarly <= 110:
		r.Value = "one for each early packet"
	case least == most:
		r.Value = fmt.Sprint(most)
	default:
		r.Value = fmt.Sprintf("%d, %d to %d", median, least, most)
	}
	return r
}

// times describes durations.
func times(s *sample) Row {
	least, median, most := s.spread()
	r := Row{Value: quantity.Duration(median), Seen: s.seen, Times: []int64{median}}
	if s.seen == 0 {
		r.Times = nil
	}
	if least != most {
		r.Value += fmt.Sprintf(", %s to %s", quantity.Duration(least), quantity.Duration(most))
		r.Spread = &[2]int64{least, most}
	}
	return r
}

// resent reports the number of packets in a round of retransmission.
func resent(s *sample, whole int) Row {
	_, median, _ := s.spread()
	r := Row{Seen: s.seen}
	switch {
	case 2*whole > s.seen:
		r.Value = "everything from there on"
	case median == 1:
		r.Value = "one packet"
	default:
		r.Value = fmt.Sprintf("%d packets", median)
	}
	return r
}

// readLadder prints the timeouts one after the other.
func readLadder(f *Findings) Row {
	var out []string
	for at := 0; at < len(f.Ladder); {
		text, n := quantity.Duration(f.Ladder[at]), 0
		for ; at < len(f.Ladder) && quantity.Duration(f.Ladder[at]) == text; at++ {
			n++
		}
		if n > 1 {
			text = fmt.Sprintf("%d × %s", n, text)
		}
		out = append(out, text)
	}
	return Row{Value: strings.Join(out, ", "), Seen: len(f.Ladder), Times: f.Ladder}
}

// readRetries reports the number of timeouts after which the device gives up.
func readRetries(f *Findings) Row {
	r := limit(&f.Retries, "timeout", "timeouts")
	if r.Seen == 0 && f.RetriesSurvived > 0 {
		return Row{Value: fmt.Sprintf("more than %d", f.RetriesSurvived), Seen: 1}
	}
	return r
}

// limit reports the number of failures after which a device gives up.
func limit(s *sample, one, many string) Row {
	least, _, most := s.spread()
	r := Row{Value: "gives up after " + quantity.Plural(most, one, many), Seen: s.seen}
	if least != most {
		r.Value = fmt.Sprintf("gives up after %d to %s", least, quantity.Plural(most, one, many))
	}
	return r
}

// codes prints RNR timer codes with their times.
func codes(s *sample) Row {
	least, _, most := s.spread()
	text := func(code int64) string {
		return fmt.Sprintf("%d (%s)", code, quantity.Duration(int64(roce.RNRTimer(code).Duration()/vtime.Nanosecond)))
	}
	r := Row{Value: text(least), Seen: s.seen}
	if least != most {
		r.Value += " to " + text(most)
	}
	return r
}

// readRNRWait compares the wait with the timer of the RNR NAK.
func readRNRWait(f *Findings) Row {
	r := times(&f.RNRWait)
	if r.Seen > 0 {
		r.Value += ", asked for code " + codes(&f.RNRCode).Value
	}
	return r
}

// readAckReq reports which packets ask for an acknowledgement.
func readAckReq(f *Findings) Row {
	_, _, most := f.AckReqEvery.spread()
	r := Row{Seen: f.Messages}
	switch {
	case f.AckReqEvery.seen == 0:
		r.Value = "never"
	case f.MessagesAsking == f.Messages:
		r.Value = "last packet of every message"
	default:
		r.Value = fmt.Sprintf("last packet of %s of the messages",
			quantity.ShareOf(int64(f.MessagesAsking), int64(f.Messages)))
	}
	if most > 0 {
		r.Value += fmt.Sprintf("; at most %s from one to the next", quantity.Plural(most, "packet", "packets"))
	}
	return r
}

// readCoalescing reports the number of requests with AckReq that one ACK answers.
func readCoalescing(f *Findings) Row {
	_, median, most := f.AskedPerAck.spread()
	_, packets, _ := f.PacketsPerAck.spread()
	r := Row{Value: fmt.Sprint(median), Seen: f.PacketsPerAck.seen}
	if f.AskedPerAck.seen == 0 {
		return Row{Value: "ACKs without being asked, " +
			quantity.Plural(packets, "packet", "packets") + " each", Seen: r.Seen}
	}
	if most != median {
		r.Value += fmt.Sprintf(", at most %d", most)
	}
	return r
}

// row reports the largest depth of the device, and whether a limit keeps it there.
func (d *Depth) row() Row {
	r := Row{Value: fmt.Sprint(d.Most), Seen: d.Most}
	if d.Held > 0 {
		r.Value += fmt.Sprintf(", where it waited %s", quantity.Plural(int64(d.Held), "time", "times"))
	} else {
		r.Value += ", and was not seen to wait there"
	}
	return r
}
