package relay

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// Fate is the treatment of a frame by the relay.
type Fate byte

// The fates.
const (
	Delivered Fate = 'D'
	Lost      Fate = 'L'
	Overflow  Fate = 'O' // dropped for lack of memory in the relay: an error of the bench, not of the link
	Injected  Fate = 'I' // crafted frame, sent by the relay
)

// Record is one line of the fate log. A frame is logged when its fate is known, so that the records are not sorted by
// At: a frame held back by a reorder fault is logged at its release.
type Record struct {
	At     vtime.Time     // time at which the kernel received the frame; due time of an injected frame
	From   fault.Side     // side that sent the frame
	QP     int            // number of the connection, from fault.Identity
	PSN    uint32         // PSN of the packet
	Offset int            // distance of PSN from the first PSN of its connection
	Type   string         // opcode name
	Fate   Fate           // treatment of the frame
	Sent   vtime.Time     // time at which the last bit left the line of the link; Never for an injected frame
	Arrive vtime.Time     // planned departure towards the receiver; Never if there is none
	Copies int            // extra copies
	Gap    vtime.Duration // interval between copies
	In     uint64         // fingerprint of the frame as received; 0 for an injected frame
	// Out is the fingerprint of the frame and its copies as sent; 0 if the frame is not sent, or is sent unchanged.
	Out   uint64
	Cause string // as channel.Cause prints it; empty if the link did nothing to the frame
}

// append adds the record as one line: times in picoseconds, "-" for none.
func (r *Record) append(b []byte) []byte {
	b = appendTime(b, r.At)
	b = append(b, ' ')
	b = append(b, r.From...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(r.QP), 10)
	b = append(b, ' ')
	b = strconv.AppendUint(b, uint64(r.PSN), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(r.Offset), 10)
	b = append(b, ' ')
	b = appendWord(b, r.Type)
	b = append(b, ' ', byte(r.Fate), ' ')
	b = appendTime(b, r.Sent)
	b = append(b, ' ')
	b = appendTime(b, r.Arrive)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(r.Copies), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(r.Gap), 10)
	b = append(b, ' ')
	b = strconv.AppendUint(b, r.In, 16)
	b = append(b, ' ')
	b = strconv.AppendUint(b, r.Out, 16)
	b = append(b, ' ')
	b = appendWord(b, r.Cause)
	return append(b, '\n')
}

// appendTime appends t in picoseconds, or "-" for Never. Like all functions that run once per packet, it allocates
// nothing.
func appendTime(b []byte, t vtime.Time) []byte {
	if t == vtime.Never {
		return append(b, '-')
	}
	return strconv.AppendInt(b, int64(t), 10)
}

// appendWord appends s, or "-" for an empty s, so that every line has the same number of fields.
func appendWord(b []byte, s string) []byte {
	if s == "" {
		return append(b, '-')
	}
	return append(b, s...)
}

// String prints the record as its line of the log.
func (r Record) String() string { return strings.TrimSuffix(string(r.append(nil)), "\n") }

// ParseRecord reads one line of the fate log.
func ParseRecord(line string) (Record, error) {
	f := strings.Fields(line)
	if len(f) != 14 || len(f[6]) != 1 || !strings.Contains("DLOI", f[6]) {
		return Record{}, fmt.Errorf("relay: fate %q: want 14 fields, the seventh D, L, O or I", line)
	}
	p := parser{}
	r := Record{
		At: p.time(f[0]), From: fault.Side(f[1]), QP: int(p.number(f[2], 32)), PSN: uint32(p.number(f[3], 25)),
		Offset: int(p.number(f[4], 64)), Type: word(f[5]), Fate: Fate(f[6][0]), Sent: p.time(f[7]),
		Arrive: p.time(f[8]),
		Copies: int(p.number(f[9], 32)), Gap: vtime.Duration(p.number(f[10], 64)), In: p.hex(f[11]), Out: p.hex(f[12]),
		Cause: word(f[13]),
	}
	if p.err != nil || r.From != fault.A && r.From != fault.B || r.PSN > 1<<24-1 {
		return Record{}, fmt.Errorf("relay: fate %q: a field is out of its range", line)
	}
	return r, nil
}

// parser keeps the first error of a line.
type parser struct{ err error }

// number parses a signed integer of at most bits bits.
func (p *parser) number(s string, bits int) int64 {
	x, err := strconv.ParseInt(s, 10, bits)
	if err != nil && p.err == nil {
		p.err = err
	}
	return x
}

// hex reads a fingerprint.
func (p *parser) hex(s string) uint64 {
	x, err := strconv.ParseUint(s, 16, 64)
	if err != nil && p.err == nil {
		p.err = err
	}
	return x
}

// time is the inverse of appendTime.
func (p *parser) time(s string) vtime.Time {
	if s == "-" {
		return vtime.Never
	}
	return vtime.Time(p.number(s, 64))
}

// word is the inverse of appendWord.
func word(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

// ReadLog calls f for every record of a fate log, in its order, until f returns an error.
func ReadLog(r io.Reader, f func(Record) error) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		rec, err := ParseRecord(lines.Text())
		if err != nil {
			return err
		}
		if err := f(rec); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("relay: read the fate log: %w", err)
	}
	return nil
}
