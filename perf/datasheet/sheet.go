package datasheet

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Sheet is the datasheet of a device.
type Sheet struct {
	Device string   `json:"device"`
	From   []string `json:"from"` // the traces that it was made from
	Rows   []Row    `json:"rows"`
}

// Row is one property.
type Row struct {
	Name  string  `json:"name"`
	Value string  `json:"value"`           // for people; Absent when no trace showed the property
	Seen  int     `json:"seen"`            // number of observations
	Times []int64 `json:"times,omitempty"` // nanoseconds: the middle of each time in Value

	// Spread is the least and the greatest of a time that was measured several times, in nanoseconds.
	Spread *[2]int64 `json:"spread,omitempty"`
}

// Absent is the value of a property that no trace showed.
const Absent = "not seen"

// property computes a row from the findings. The row is used when the property was observed.
type property struct {
	name string
	read func(f *Findings) Row
}

// properties is the whole sheet, in the order in which it prints.
var properties = []property{
	{"transport", readTransport},
	{"recovery", readRecovery},
	{"NAKs per gap", readNAKs},
	{"NAK latency", func(f *Findings) Row { return times(&f.NAKLatency) }},
	{"retransmission latency", func(f *Findings) Row { return times(&f.ResendLatency) }},
	{"resent on NAK", func(f *Findings) Row { return resent(&f.ResentOnNAK, f.WholeOnNAK) }},
	{"resent on timeout", func(f *Findings) Row { return resent(&f.ResentOnTimeout, f.WholeOnTimeout) }},
	{"timeouts", readLadder},
	{"retry limit", readRetries},
	{"RNR code sent", func(f *Findings) Row { return codes(&f.RNRSent) }},
	{"RNR wait", readRNRWait},
	{"RNR retry limit", func(f *Findings) Row { return limit(&f.RNRRetries, "RNR NAK", "RNR NAKs") }},
	{"READ gap to request", func(f *Findings) Row { return times(&f.ReadGap) }},
	{"AckReq", readAckReq},
	{"requests per ACK", readCoalescing},
	{"ACK delay", func(f *Findings) Row { return times(&f.AckDelay) }},
	{"packets in flight", func(f *Findings) Row { return f.Packets.row() }},
	{"messages in flight", func(f *Findings) Row { return f.Outstanding.row() }},
}

// New writes the sheet of a device.
func New(device string, from []string, f *Findings) *Sheet {
	s := &Sheet{Device: device, From: from}
	for _, p := range properties {
		row := p.read(f)
		row.Name = p.name
		if row.Seen == 0 {
			row.Value = Absent
		}
		s.Rows = append(s.Rows, row)
	}
	for i := range f.Counters {
		s.Rows = append(s.Rows, f.Counters[i].row())
	}
	return s
}

// Find returns the row of a name, nil when there is none.
func (s *Sheet) Find(name string) *Row {
	for i := range s.Rows {
		if s.Rows[i].Name == name {
			return &s.Rows[i]
		}
	}
	return nil
}

// Write prints the sheet, and the names of the properties that no trace showed.
func (s *Sheet) Write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s\t\tSEEN\n", s.Device)
	var absent []string
	for _, r := range s.Rows {
		if r.Seen == 0 {
			absent = append(absent, r.Name)
			continue
		}
		fmt.Fprintf(w, "  %s\t%s\t%d\n", r.Name, r.Value, r.Seen)
	}
	if err := w.Flush(); err != nil || len(absent) == 0 {
		return err
	}
	_, err := fmt.Fprintf(out, "  %s: %s\n", Absent, strings.Join(absent, ", "))
	return err
}
