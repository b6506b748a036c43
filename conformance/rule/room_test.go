package rule

import "testing"

// The memory of all windows together is bounded, and the judge reports when the bound mattered.
func TestWindowsShareTheirRoom(t *testing.T) {
	j := NewJudge(testHeader(2), nil, Options{})
	j.room.left = 100
	for conn := range 2 {
		h := j.half(conn, 0)
		for i := range 1000 {
			h.conv.requester.window.add(&h.conv, h.conv.UNA.Add(i))
		}
	}
	if a, b := len(j.halves[0][0].conv.requester.window.slots), len(j.halves[1][0].conv.requester.window.slots); a !=
		128 || b != windowLeast {
		t.Errorf("windows of %d and %d, want 128 and %d", a, b, windowLeast)
	}
	if j.Limit() == "" || NewJudge(testHeader(1), nil, Options{}).Limit() != "" {
		t.Errorf("limit %q", j.Limit())
	}
}
