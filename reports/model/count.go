package model

import (
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
)

// Count is an integer result of a run, by which builds are compared.
type Count struct {
	Name   string
	Value  int64
	Unit   string // "" for a count
	Better history.Better
}

// Counts returns the counts of a run. In virtual time any difference is a change of the program.
func Counts(s *metrics.Summary) []Count {
	return []Count{
		{Name: "elapsed ns", Value: s.ElapsedNs, Unit: "ns", Better: history.Down},
		{Name: "packets", Value: s.Packets, Better: history.Down},
		{Name: "data packets", Value: s.DataPackets, Better: history.Down},
		{Name: "retransmitted", Value: s.Retransmitted, Better: history.Down},
		{Name: "lost", Value: s.Lost},
		{Name: "NAKs", Value: s.NAKs},
		{Name: "RNR NAKs", Value: s.RNRs},
		{Name: "timeouts", Value: s.Timeouts, Better: history.Down},
		{Name: "messages", Value: s.Messages, Better: history.Up},
	}
}
