package recording

import (
	"fmt"
	"strings"
	"testing"
)

func TestParsePortCounts(t *testing.T) {
	list, err := ParsePortCounts(strings.NewReader("# a switch\ngauntlet-counters 1\n\nleft.pcap swp1 rx 10 25 # " +
		"ingress\nleft.pcap swp1 tx 7 7\n"))
	if err != nil || len(list) != 2 || list[0].Frames() != 15 ||
		list[1] != (PortCount{"left.pcap", "swp1", "tx", 7, 7}) {
		t.Errorf("%v, %v", list, err)
	}
	const head = "gauntlet-counters 1\n"
	for text, want := range map[string]string{
		"":                         "no counters",
		head:                       "no counters",
		"a swp1 rx 1 2\n":          "line 1: want gauntlet-counters 1 first",
		"gauntlet-counters 2\n":    "line 1: version 2; this program reads version 1",
		head + "a swp1 rx 1\n":     "line 2: want FILE PORT rx|tx BEFORE AFTER",
		head + "a swp1 in 1 2\n":   "line 2: in: want rx",
		head + "a swp1 rx -1 2\n":  "line 2: -1: want a number of frames",
		head + "a swp1 rx 1 1e3\n": "line 2: 1e3: want a number of frames",
		head + "a swp1 rx 1 99999999999999999999\n": "want a number of frames",
		head + "a swp1 rx 5 2\n": "line 2: swp1 rx goes down from 5 to 2; " +
			"take the counters again",
		head + "a swp1 rx 1 2\na swp1 rx 1 2\n":             "line 3: swp1 rx of a is there twice",
		head + "a swp1 r\x1b[31mx 1 2\n":                    "want rx",
		head + strings.Repeat("a", 70<<10) + "\n":           "read counters",
		head + strings.Join(lines(portsLimit+1), "") + "\n": "line 4098: more than 4096 ports",
	} {
		list, err := ParsePortCounts(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%.40q: %v, %v; want %q", text, list, err, want)
		}
	}
}

// lines returns n different lines.
func lines(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("a swp%d rx 1 2\n", i))
	}
	return all
}

func TestMirror(t *testing.T) {
	c := &Capture{Files: []File{{"/captures/left.pcap", 20}, {"right.pcap", 5}}}
	left, right := PortCount{"left.pcap", "swp1", "rx", 0, 15}, PortCount{"right.pcap", "swp2", "rx", 0, 5}
	all, err := c.Mirror([]PortCount{left, {"left.pcap", "swp1", "tx", 1, 6}, right})
	if err != nil || len(all) != 2 || all[0].Counted != 20 || all[0].Held != 20 || len(all[0].Ports) != 2 ||
		all[1].Counted != 5 {
		t.Errorf("%+v, %v", all, err)
	}
	for want, list := range map[string][]PortCount{
		"no counters of right.pcap":                            {left},
		"1 of the 3 lines are of captures that are not judged": {left, right, {"other.pcap", "swp3", "rx", 0, 1}},
	} {
		if _, err := c.Mirror(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
