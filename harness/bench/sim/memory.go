package sim

import (
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
)

// The memory of a run, measured (memory_test.go) and rounded up: a connection has two engines, their rings and two
// trace ends; a packet in flight is a record that waits for its fate, with the frame and its decoded copies when there
// are bytes.
const (
	baseMemory = 16 * unit.MiB
	perQP      = 12 * unit.KiB
	perPacket  = 800
	perFrame   = 8 * unit.KiB
)

// Memory returns an upper estimate of the memory of a run of the Spec, with frames or without.
func Memory(s *scenario.Spec, impls [2]engine.Implementation, bytes bool) unit.Size {
	perMessage := s.QP[0].Packets(uint32(s.LongestMessage()))
	flight := unit.Size(s.QPs * s.QP[0].QueueDepth * perMessage)
	if s.Link.AB.Rate > 0 { // the line bounds the packets in flight
		flight = min(flight, unit.Size(s.Link.AB.BDPPackets(s.RTT(), s.QP[0].MTU)))
	}
	need := baseMemory + unit.Size(s.QPs)*perQP + flight*perPacket
	if bytes {
		need += flight * perFrame
	}
	if bytes || impls[0].NeedsBytes || impls[1].NeedsBytes {
		need += drive.Memory(s)
	}
	return need
}
