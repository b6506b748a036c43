package waivers

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// limit bounds the waivers of a file; no device that is worth testing needs more.
const limit = 1000

// parse reads waivers, one a line, with comments after #:
//
//	waive RC-READ-002 impl=rxe kernel=5.15..6.12 owner=lab expires=2027-05-31 : READ gaps wait for the timer
//
// The words before the colon come in any order. Three may be omitted: kernel, which then means every version; in, the
// scenarios that the waiver covers, with run for runs of no scenario; and sure, the scenarios in which the deviation is
// sure to show. Errors begin with the number of the line.
func parse(r io.Reader) ([]Waiver, error) {
	var all []Waiver
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := quote.Line(lines.Text(), bufio.MaxScanTokenSize)
		if line == "" || line[0] == '#' {
			continue
		}
		w, err := parseLine(line)
		if err == nil && len(all) == limit {
			err = fmt.Errorf("more than %d waivers; narrow what the device is judged by instead", limit)
		}
		if err != nil {
			return nil, fmt.Errorf("%d: %w", n, err)
		}
		all = append(all, w)
	}
	return all, lines.Err()
}

// parseLine reads one line.
func parseLine(line string) (w Waiver, err error) {
	head, reason, _ := strings.Cut(line, " : ")
	words := strings.Fields(head)
	if len(words) < 2 || words[0] != "waive" {
		return w, fmt.Errorf("%.60q: want waive RULE impl=… owner=… expires=… : REASON", line)
	}
	w.Rule, w.Reason = words[1], strings.TrimSpace(reason)
	fields := map[string]*string{"impl": &w.Impl, "kernel": &w.Kernel, "in": &w.In, "sure": &w.Sure, "owner": &w.Owner,
		"expires": &w.Expires}
	for _, word := range words[2:] {
		key, value, _ := strings.Cut(word, "=")
		field := fields[key]
		if field == nil || *field != "" || value == "" {
			return w, fmt.Errorf(
				"%.60q: want impl=, kernel=, in=, sure=, owner= and expires=, each once and with a value", word)
		}
		*field = value
	}
	return w, w.Validate()
}

// Expired returns the waivers that no longer hold on a day.
func Expired(waivers []Waiver, today string) (out []Waiver) {
	for _, w := range waivers {
		if w.Expires < today {
			out = append(out, w)
		}
	}
	return out
}
