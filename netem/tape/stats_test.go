package tape_test

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/tape"
)

func TestStats(t *testing.T) {
	for _, tt := range []struct {
		tape tape.Tape
		want tape.Stats
	}{
		{tape.Tape{Key: tape.ByIndex, Length: 100, Seed: 7, Model: "burst",
			Spans: []tape.Span{{From: 3, To: 10}, {From: 20, To: 20}}}, tape.Stats{Key: tape.ByIndex, Seed: 7,
			Model: "burst", Length: 100, Lost: 9, Rate: 0.09, Bursts: 2, Mean: 4.5, Longest: 8}},
		{tape.Tape{Key: tape.ByTime, Slot: 10 * vtime.Microsecond, Length: 5}, tape.Stats{Key: tape.ByTime,
			Slot: "10us", Length: 5}},
		{tape.Tape{Key: tape.ByIdentity, IDs: []tape.ID{{QP: 0, Tx: 1}, {QP: 0, Tx: 2}, {QP: 3, Tx: 3}}},
			tape.Stats{Key: tape.ByIdentity, Lost: 3, QPs: 2, Again: 2}},
		{tape.Tape{Key: tape.ByIndex}, tape.Stats{Key: tape.ByIndex}},
	} {
		if err := tt.tape.Validate(); err != nil {
			t.Fatal(err)
		}
		if got := tt.tape.Stats(); got != tt.want {
			t.Errorf("%+v, want %+v", got, tt.want)
		}
	}
}
