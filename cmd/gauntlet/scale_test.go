package main

import "testing"

// One flag sets the number of QPs.
func TestManyQPs(t *testing.T) {
	r := gauntlet(t, t.TempDir(), "run", "--impl", "fasr", "--qps", "200", "--loss", "1%", "--msg", "4KiB", "--count",
		"2", "--qd", "2", "--rate", "1G", "--json").result(t)
	if r.Status != "PASS" || r.Messages != 400 || r.Lost == 0 || len(r.Shared) == 0 {
		t.Errorf("%s %s, %d messages, %d lost, shared %v", r.Status, r.Reason, r.Messages, r.Lost, r.Shared)
	}
}
