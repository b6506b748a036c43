package recording

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// PortCount is the counter of a switch port for one direction whose frames the switch mirrored into a capture.
type PortCount struct {
	File          string // the capture file as named on the command line, or its base name
	Port          string
	Way           string // "rx" or "tx"
	Before, After uint64 // values of the counter before and after the capture
}

// Frames returns the number of frames counted during the capture.
func (p *PortCount) Frames() uint64 { return p.After - p.Before }

// portsMagic begins the first line of a file of counters, before the version.
const portsMagic = "gauntlet-counters"

// Version and limit of a file of counters.
const (
	portsVersion = 1
	portsLimit   = 1 << 12 // lines
)

// ParsePortCounts reads a file of counters: the line "gauntlet-counters 1", and for each port and direction that was
// mirrored a line
//
//	FILE PORT rx|tx BEFORE AFTER
//
// # begins a comment. Errors name the line.
func ParsePortCounts(r io.Reader) (list []PortCount, err error) {
	in, version := bufio.NewScanner(r), false
	for n := 1; in.Scan(); n++ {
		text, _, _ := strings.Cut(in.Text(), "#")
		words := strings.Fields(text)
		switch {
		case len(words) == 0:
			continue
		case !version:
			err = portsHeader(words)
			version = true
		case len(list) == portsLimit:
			err = fmt.Errorf("more than %d ports", portsLimit)
		default:
			var p PortCount
			if p, err = portCount(words); err == nil && slices.ContainsFunc(list, p.same) {
				err = fmt.Errorf("%s %s of %s is there twice", p.Port, p.Way, p.File)
			}
			list = append(list, p)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	switch {
	case in.Err() != nil:
		return nil, fmt.Errorf("read counters: %w", in.Err())
	case len(list) == 0:
		return nil, fmt.Errorf("no counters: want the line %q, and lines such as %q", fmt.Sprint(portsMagic, " ",
			portsVersion), "left.pcap swp1 rx 1000 2500")
	}
	return list, nil
}

// portsHeader checks the first line.
func portsHeader(words []string) error {
	switch {
	case words[0] != portsMagic || len(words) != 2:
		return fmt.Errorf("want %s %d first", portsMagic, portsVersion)
	case words[1] != strconv.Itoa(portsVersion):
		return fmt.Errorf("version %s; this program reads version %d", quote.Line(words[1], quote.Name), portsVersion)
	}
	return nil
}

// portCount reads a line.
func portCount(words []string) (p PortCount, err error) {
	if len(words) != 5 {
		return p, errors.New("want FILE PORT rx|tx BEFORE AFTER, such as: left.pcap swp1 rx 1000 2500")
	}
	p = PortCount{File: quote.Line(words[0], quote.Sentence), Port: quote.Line(words[1], quote.Name),
		Way: quote.Line(words[2], quote.Name)}
	if p.Way != "rx" && p.Way != "tx" {
		return p, fmt.Errorf("%s: want rx, for what the port received, or tx", p.Way)
	}
	for i, into := range []*uint64{&p.Before, &p.After} {
		if *into, err = strconv.ParseUint(words[3+i], 10, 64); err != nil {
			return p, fmt.Errorf("%s: want a number of frames", quote.Line(words[3+i], quote.Name))
		}
	}
	if p.After < p.Before {
		return p, fmt.Errorf("%s %s goes down from %d to %d; take the counters again, without a reset, or add "+
			"4294967296 where one of 32 bits has wrapped",
			p.Port, p.Way, p.Before, p.After)
	}
	return p, nil
}

// same reports whether o has the same port, direction and file.
func (p *PortCount) same(o PortCount) bool {
	return p.File == o.File && p.Port == o.Port && p.Way == o.Way
}

// Mirrored compares the number of frames in a capture with the counters of the ports that were mirrored into it.
type Mirrored struct {
	File    string
	Held    uint64   // frames of all protocols in the capture, repetitions by the mirror included
	Counted uint64   // frames counted by the ports
	Ports   []string // "swp1 rx"
}

// Mirror compares counters with the captures, and sets Counted if every capture has as many frames as its ports
// counted. Every capture must have counters, and every counter a capture.
func (c *Capture) Mirror(list []PortCount) (all []Mirrored, err error) {
	used := map[int]bool{} // lines
	for _, f := range c.Files {
		m := Mirrored{File: f.Name, Held: f.Frames}
		for i := range list {
			if p := &list[i]; p.File == f.Name || p.File == filepath.Base(f.Name) {
				m.Counted += p.Frames()
				m.Ports = append(m.Ports, p.Port+" "+p.Way)
				used[i] = true
			}
		}
		if len(m.Ports) == 0 {
			return nil, fmt.Errorf("no counters of %s; give those of each port that was mirrored into it", f.Name)
		}
		all = append(all, m)
	}
	if !slices.ContainsFunc(all, func(m Mirrored) bool { return m.Held != m.Counted }) {
		c.Counted = true
	}
	if unused := len(list) - len(used); unused > 0 {
		return nil, fmt.Errorf("%d of the %d lines are of captures that are not judged; name them as they are named "+
			"to judge", unused, len(list))
	}
	return all, nil
}
