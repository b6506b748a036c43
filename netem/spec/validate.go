package spec

import (
	"fmt"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// The limits of a Spec. They bound memory and work, and are far beyond any link that a bench can emulate.
const (
	MaxQueue  = 1 << 24 // packets
	MaxLength = 1 << 20 // packets in a bad period
	MaxDelay  = 3600 * vtime.Second
)

// Validate returns an error for the first invalid field of the link, or of its loss, with the remedy.
func (l Link) Validate() error {
	switch {
	case l.Rate < 0:
		return fmt.Errorf("link: rate=%s is negative; use 0 for an unlimited rate", l.Rate)
	case l.Delay < 0:
		return fmt.Errorf("link: delay=%s is negative; use 0 or more", l.Delay)
	case l.Delay > MaxDelay:
		return fmt.Errorf("link: delay=%s; use %s at most", l.Delay, MaxDelay)
	case l.Jitter < 0:
		return fmt.Errorf("link: jitter=%s is negative; use 0 or more", l.Jitter)
	case l.Jitter > l.Delay:
		return fmt.Errorf("link: jitter=%s exceeds delay=%s, so packets would arrive before they "+
			"leave; lower the jitter", l.Jitter, l.Delay)
	case l.Queue < 0 || l.Queue > MaxQueue:
		return fmt.Errorf("link: queue=%d; use 1 to %d packets", l.Queue, MaxQueue)
	case l.Port < 0 || l.Port > 0 && (l.Rate == 0 || l.Port < l.Rate):
		return fmt.Errorf("link: port=%s; use a rate above rate=%s, or leave it out", l.Port, l.Rate)
	case l.Mark.Min < 0 || l.Mark.Max < l.Mark.Min || l.Mark.Max > l.Queue || l.Mark.Min == 0 && l.Mark != (Mark{}):
		return fmt.Errorf("link: ecn-min=%d ecn-max=%d; use 1 to queue=%d packets, the smaller first", l.Mark.Min,
			l.Mark.Max, l.Queue)
	case l.Queue == 0 && l.Rate > 0:
		return fmt.Errorf("link: rate=%s needs a queue; use queue=1 or more", l.Rate)
	}
	if err := ratios("link", []named{{"reorder", l.Reorder}, {"duplicate", l.Duplicate}, {"corrupt", l.Corrupt},
		{"ecn-p", l.Mark.P}}); err != nil {
		return err
	}
	return l.Loss.Validate()
}

// Validate returns an error for the first invalid parameter of the process, with the remedy.
func (l Loss) Validate() error {
	m, err := findModel(string(l.Model))
	if err != nil {
		return err
	}
	if err := ratios(m.name(), m.ratios(&l)); err != nil {
		return err
	}
	switch {
	case l.Slot < 0:
		return fmt.Errorf("%s: slot=%s is negative; use 0 to advance per packet", m.name(), l.Slot)
	case l.Model == Tape && l.Slot != 0:
		return fmt.Errorf("loss tape: slot=%s; leave it out, the tape says what it is keyed by", l.Slot)
	case l.Model == Tape && (l.File == "" || strings.ContainsAny(l.File, " \t\r\n")):
		return fmt.Errorf("loss tape: file=%q; name a file without blanks", l.File)
	case l.Model == Sojourn && (l.Length < 1 || l.Length > MaxLength):
		return fmt.Errorf("loss burst: len=%d; use 1 to %d packets", l.Length, MaxLength)
	case l.Model == Markov4 && l.P13+l.P14 > 1:
		return fmt.Errorf(
			"loss state: p13=%s and p14=%s leave the same state; lower them to a sum of 1 at most", l.P13, l.P14)
	case l.Model == Markov4 && l.P31+l.P32 > 1:
		return fmt.Errorf(
			"loss state: p31=%s and p32=%s leave the same state; lower them to a sum of 1 at most", l.P31, l.P32)
	}
	return nil
}

// Validate checks both directions.
func (d Duplex) Validate() error {
	if err := d.AB.Validate(); err != nil {
		return fmt.Errorf("A to B: %w", err)
	}
	if err := d.BA.Validate(); err != nil {
		return fmt.Errorf("B to A: %w", err)
	}
	return nil
}

type named struct {
	key   string
	value unit.Ratio
}

// ratios checks that each value is a share; the negated condition rejects NaN too.
func ratios(of string, values []named) error {
	for _, v := range values {
		if !(v.value >= 0 && v.value <= 1) {
			return fmt.Errorf("%s: %s=%s is outside 0 to 1; write a share such as 1e-3, or a percentage",
				of, v.key, v.value)
		}
	}
	return nil
}
