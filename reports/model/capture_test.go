package model

import (
	"encoding/json"
	"strings"
	"testing"
)

// In JSON a value that the taps do not show is null, and a measured zero is zero.
func TestUnknownIsNull(t *testing.T) {
	const unfated = " spurious_packets lost_packets recoveries single_losses recovery_ns"
	for _, c := range []struct {
		result Result
		null   string
	}{
		{Result{}, ""}, {Result{SingleTap: true}, unfated}, {Result{Capture: &Capture{}}, "timeouts"},
		{Result{Capture: &Capture{OneTap: true}}, "timeouts" + unfated},
	} {
		b, err := json.Marshal(c.result)
		var fields map[string]json.RawMessage
		if err != nil || json.Unmarshal(b, &fields) != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"timeouts", "spurious_packets", "lost_packets", "recoveries", "single_losses",
			"recovery_ns", "nak_packets"} {
			if got := string(fields[name]); (got == "null") != strings.Contains(c.null, name) {
				t.Errorf("%+v: %s is %s", c.result.Capture, name, got)
			}
		}
	}
}

// The lines of a capture count all repairs, and the kinds of skipped frames, the most frequent first.
func TestCaptureLines(t *testing.T) {
	c := Capture{Tap: "between", Why: "why", Connections: 2, Frames: 10, Skipped: 9, Kinds: map[string]uint64{"ARP": 1,
		"TCP": 6, "UDP": 1, "LLDP": 1, "a": 1, "b": 1},
		Tunnels: map[string]uint64{"VXLAN": 4}, Repeated: 3, Late: 2, ClockNs: -1_500_000, Headless: 1,
		Complete: "incomplete", Dropped: new(uint64), Missing: 1, Limit: "too many flows",
		Doubts: []string{"a QPN was used again", "a clock was set"}}
	text := strings.Join(c.Lines(), "\n")
	for _, want := range []string{"9 of other protocols skipped (6 TCP, 1 ARP, 1 LLDP, 1 UDP, 1 a, others)",
		"1 cut within their headers", "3 seen once more by a mirror",
		"2 out of time order, which was put right", "4 in VXLAN", "MTU unknown",
		"complete: incomplete (0 frames lost by its own count, 1 missing as others show)", "0 with a wrong ICRC",
		"in doubt: a QPN was used again; a clock was set: rules that rest", "limit: too many flows",
		"clocks: that of the second tap is -1.50 ms ahead"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
