package certify

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// Certify compares the measurements with the Spec of the link. When is "before", "during" or "after". A certificate
// without items is invalid.
func Certify(when string, b Bounds, directions ...Measured) Certificate {
	var items []Item
	for i := range directions {
		m := &directions[i]
		for _, part := range parts {
			for _, item := range part.judge(m, b) {
				item.Name = strings.TrimSpace(m.Direction + " " + item.Name)
				item.Property = cmp.Or(item.Property, part.property)
				items = append(items, item)
			}
		}
	}
	return Issue(when, items)
}

// parts are the judging functions for a direction, with the property of their items unless an item sets another.
var parts = []struct {
	property validity.Property
	judge    func(*Measured, Bounds) []Item
}{
	{validity.Delay, delay}, {validity.Rate, rate}, {validity.Loss, losses}, {validity.Order, changes},
	{validity.Accounts, tallies},
	{validity.Capture, capture}, {validity.Lateness, schedule},
}

// Issue returns a certificate with the given items, which may include items of other sources, such as settings read
// back from the kernel.
func Issue(when string, items []Item) Certificate {
	c := Certificate{When: when, Items: items, Valid: len(items) > 0}
	if !c.Valid {
		c.Reason = "nothing was measured"
	}
	for _, item := range items {
		if !item.OK {
			c.Valid = false
			c.Reason = item.String()
			break
		}
	}
	return c
}

// delay checks the median, which a single stall does not move, and the spread.
func delay(m *Measured, b Bounds) []Item {
	if m.Probes == nil {
		return nil
	}
	n := len(m.Probes.Delays)
	enough := Item{
		Name: "probes", Want: fmt.Sprintf("%d or more", b.Probes), Got: fmt.Sprintf("%d of %d", n, m.Probes.Sent),
		Bound: "fewer say nothing about a median", OK: n >= b.Probes,
	}
	if n == 0 {
		return []Item{enough}
	}
	sorted := slices.Sorted(slices.Values(m.Probes.Delays))
	p50, p99 := sorted[(n-1)/2], sorted[(n-1)*99/100]
	want := m.Link.Delay + m.Link.Rate.Time(m.Probes.WireBytes)
	slack := delaySlack(m.Link, b)
	most := want + m.Link.Jitter + 4*slack
	why := fmt.Sprintf("the larger of %s and %s %% of the delay, which a wake-up of the kernel may cost",
		b.DelayLeast, percent(b.Delay))
	return []Item{
		enough,
		{
			Name: "delay p50", Want: show(want), Got: show(p50), Bound: "± " + show(slack) + ": " + why,
			OK: p50 >= want-slack && p50 <= want+slack,
		},
		{
			Name: "delay p99", Want: "at most " + show(most), Got: show(p99),
			Bound: "delay, jitter and four times the tolerance of the median: one probe in a hundred may meet a stall",
			OK:    p99 <= most,
		},
	}
}

// delaySlack is the tolerance of a time on this link.
func delaySlack(l spec.Link, b Bounds) vtime.Duration {
	return max(b.DelayLeast, vtime.Duration(float64(l.Delay)*float64(b.Delay)))
}

// rate checks the layer-1 rate at which a burst arrived. An unlimited link has none.
func rate(m *Measured, b Bounds) []Item {
	if m.Burst == nil || m.Link.Rate == 0 {
		return nil
	}
	item := Item{Name: "rate", Want: m.Link.Rate.String(), Got: "unknown",
		Bound: "a burst of two packets or more that takes time"}
	if m.Burst.Arrived < 2 || m.Burst.Span <= 0 {
		return []Item{item}
	}
	// The first packet's own time on the line lies before the span.
	got := float64(m.Burst.Arrived-1) * float64(m.Burst.WireBytes) * 8 / m.Burst.Span.Seconds()
	item.Got = unit.Rate(got).String()
	item.Bound = "± " + percent(b.Rate) + " %: the granularity of the kernel's timers over a burst"
	item.OK = math.Abs(got-float64(m.Link.Rate)) <= float64(b.Rate)*float64(m.Link.Rate)
	if !item.OK && got < float64(m.Link.Rate) {
		item.Bound += "; this host has no more, lower the rate"
	}
	return []Item{item}
}

// losses checks the count, the length of the runs and the link's own counters.
func losses(m *Measured, b Bounds) []Item {
	l := m.Losses
	if l == nil {
		return nil
	}
	var items []Item
	if l.Decided != nil {
		items = append(items, Item{
			Name: "losses seen", Want: fmt.Sprint(*l.Decided), Got: fmt.Sprint(l.Lost),
			Bound: "exact: the link counts its own losses", OK: l.Lost == *l.Decided, Property: validity.Accounts,
		})
	}
	if m.Link.Loss.Model == spec.Tape || l.Sent == 0 {
		return items // a tape has no law; its losses are exact or wrong
	}
	length := spread(m.Link.Loss, l)
	items = append(items, share("loss", m.Link.Loss.Mean(), l.Lost, l.Sent, length, b))
	if run, ok := runs(m.Link.Loss, l, length, b); ok {
		items = append(items, run)
	}
	return items
}

// spread returns the length of the groups in which losses come; losses of one bad period come together and inflate the
// variance of a count by 2·spread-1. For a Gilbert channel that is exact: the states are correlated by λ = 1-p-r from
// packet to packet, the factor is (1+λ)/(1-λ), and spread is 1/(p+r). For the others it is an upper bound, because no
// bad period is on average longer.
func spread(loss spec.Loss, l *Losses) float64 {
	length := max(1, loss.MeanBurst())
	switch loss.Model {
	case spec.Gilbert:
		length = max(length, 1/float64(loss.P+loss.R))
	case spec.Markov4:
		length = max(length, 1/float64(loss.P31))
	case spec.Sojourn:
		length = max(length, float64(loss.Length))
	}
	if loss.Slot > 0 && l.Over > 0 { // all packets of a slot share its fate
		length *= max(1, float64(l.Sent)*loss.Slot.Seconds()/l.Over.Seconds())
	}
	return min(length, float64(l.Sent))
}

// share judges a count of random events that come in groups of the given length: within sigma standard deviations,
// plus sigma groups, because a rare event's count is not normal (Bernstein's inequality has such a term).
func share(name string, want unit.Ratio, got, of uint64, length float64, b Bounds) Item {
	n, p := float64(of), float64(want)
	bound := 0.0
	if p > 0 && p < 1 {
		bound = b.Sigma*math.Sqrt(n*p*(1-p)*(2*length-1)) + b.Sigma*length
	}
	return Item{
		Name: name, Want: fmt.Sprintf("%s (%.6g of %d)", want, n*p, of), Got: fmt.Sprintf("%.4g (%d)",
			float64(got)/max(n, 1), got),
		Bound: fmt.Sprintf("± %.3g: %g standard deviations and as many groups, in groups of %.3g",
			bound, b.Sigma, length),
		OK: math.Abs(float64(got)-n*p) <= bound+1e-9*n, // the last term is rounding
	}
}

// runs checks the mean number of consecutive losses, when there are enough of them. The number of packets in a slot
// depends on the sender, so the runs of a process with slots follow no law.
func runs(loss spec.Loss, l *Losses, length float64, b Bounds) (Item, bool) {
	const few = 30
	want := loss.MeanBurst()
	if l.Runs < few || loss.Slot > 0 || math.IsInf(want, 0) {
		return Item{}, false
	}
	got := float64(l.Lost) / float64(l.Runs)
	bound := b.Sigma * length / math.Sqrt(float64(l.Runs))
	return Item{
		Name: "loss run", Want: fmt.Sprintf("%.4g packets", want), Got: fmt.Sprintf("%.4g packets", got),
		Bound: fmt.Sprintf("± %.3g: %g standard errors of %d runs", bound, b.Sigma, l.Runs),
		OK:    math.Abs(got-want) <= bound,
	}, true
}

// changes checks reordering, duplication and corruption. With jitter every order is valid.
func changes(m *Measured, b Bounds) []Item {
	c := m.Changes
	if c == nil || c.Delivered == 0 {
		return nil
	}
	items := []Item{
		share("duplication", m.Link.Duplicate, c.Duplicated, c.Delivered, 1, b),
		share("corruption", m.Link.Corrupt, c.Corrupted, c.Delivered, 1, b),
	}
	switch {
	case m.Link.Jitter > 0:
		return items
	case m.Link.Reorder > 0:
		// A packet that skips the delay overtakes all packets in flight, so the number of reordered packets is no fixed
		// share.
		return append(items, Item{
			Name: "reordering", Want: "some", Got: fmt.Sprint(c.Reordered), Bound: "it was asked for and must occur",
			OK: c.Reordered > 0 || float64(m.Link.Reorder)*float64(c.Delivered) < 4*b.Sigma,
		})
	}
	return append(items, Item{
		Name: "reordering", Want: "0", Got: fmt.Sprint(c.Reordered), Bound: "exact: nothing on this link overtakes",
		OK: c.Reordered == 0,
	})
}

// tallies checks the link's own counters other than losses.
func tallies(m *Measured, _ Bounds) (items []Item) {
	for _, t := range m.Tallies {
		items = append(items, Item{
			Name: t.What + " seen", Want: fmt.Sprint(t.Decided), Got: fmt.Sprint(t.Seen),
			Bound: "exact: the link counts its own " + t.What, OK: t.Seen == t.Decided,
		})
	}
	return items
}

// capture requires a complete capture, in the order in which the endpoint received: a packet that only the tap missed
// would be taken for a loss, and a swap that the tap does not show for an error of the endpoint.
func capture(m *Measured, _ Bounds) []Item {
	c := m.Capture
	if c == nil {
		return nil
	}
	return []Item{{
		Name: "capture drops", Want: "0", Got: fmt.Sprint(c.Drops),
		Bound: "exact: a packet of either direction that the tap misses looks lost; leave more processor time to the " +
			"run, raise --dilate, or lower the rate", OK: c.Drops == 0,
	}, {
		Name: "capture swaps", Want: "0", Got: fmt.Sprintf("%d of %d", c.Swapped, c.Frames),
		Bound: "exact: two processors passed frames of one device to its sockets at the same time, to the endpoint " +
			"in an unknown order; run as the machine's root, or on one processor", OK: c.Swapped == 0,
	}}
}

// schedule checks the link's punctuality.
func schedule(m *Measured, b Bounds) []Item {
	s := m.Schedule
	if s == nil {
		return nil
	}
	slack, stall := delaySlack(m.Link, b), max(b.StallLeast, m.Link.Delay)
	return []Item{
		{
			Name: "overflow", Want: "0", Got: fmt.Sprint(s.Overflow),
			Bound: "exact: a frame that the bench itself lost; lower the rate", OK: s.Overflow == 0,
			Property: validity.Accounts | validity.Loss,
		},
		{
			Name: "lateness p99", Want: "at most " + show(slack), Got: show(s.LateP99),
			Bound: "the tolerance of the delay; leave more processor time to the link", OK: s.LateP99 <= slack,
		},
		{
			Name: "longest stall", Want: "at most " + show(stall), Got: show(s.LateMax),
			Bound: "one delay: a longer stall can fire a retransmission timer", OK: s.LateMax <= stall,
		},
	}
}

// show prints a duration to the microsecond.
func show(d vtime.Duration) string {
	return fmt.Sprintf("%.3f ms", float64(d)/float64(vtime.Millisecond))
}

func percent(r unit.Ratio) string { return fmt.Sprintf("%g", float64(r)*100) }
