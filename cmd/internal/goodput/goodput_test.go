package goodput

import (
	"strings"
	"testing"
)

// Every delay is combined with every loss, and a run for completion times has one outstanding message.
func TestNew(t *testing.T) {
	o := Options{Impl: "gbn", Rate: "50M", Port: "100M", Message: "128KiB", RTTs: []string{"1ms", "10ms"},
		Losses: []string{"0", "1e-2"}, Seed: 1, Count: 9, Singles: 3, Depth: 2}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	rows := c.contrast.Rows
	if len(rows) != 4 || rows[3].RTTNs != 10e6 || rows[3].Loss != 0.01 || !strings.Contains(c.contrast.Conditions,
		"2 outstanding (one for FCT), time-out 67.1 ms") {
		t.Errorf("%+v, %s", rows, c.contrast.Conditions)
	}
	for kind, want := range map[string][2]int{streamed: {9, 2}, alone: {3, 1}} {
		s, err := c.spec(one{row: &rows[3], kind: kind})
		if err != nil || s.Loads[0].Count != want[0] || s.QP[0].QueueDepth != want[1] || s.Link.AB.Loss.Mean() != 0.01 {
			t.Errorf("%s: %v, %v", kind, s, err)
		}
	}
	if got := c.name(one{row: &rows[3], side: 1, kind: alone}); got != "rtt-10ms-loss-0.01/gbn-single" {
		t.Errorf("folder %s", got)
	}
	for want, change := range map[string]func(*Options){
		"--port":      func(o *Options) { o.Port = "10M" },
		"--loss":      func(o *Options) { o.Losses = []string{"2"} },
		"one of each": func(o *Options) { o.RTTs = nil },
		"--depth 0":   func(o *Options) { o.Depth = 0 },
		"known: ":     func(o *Options) { o.Impl = "nobody" },
	} {
		wrong := o
		change(&wrong)
		if _, err := New(wrong); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
