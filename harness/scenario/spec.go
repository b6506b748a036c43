// Package scenario is the text that describes a run, and the Spec that it parses to: the same text in a file for
// "gauntlet run", in a ladder beside an implementation, and in a conformance scenario. A Spec is plain data, built
// without touching the machine; String and Parse are inverse. One statement is one line; Language explains each of
// these verbs:
//
//	# prose                                            seed 7
//	impl gbn                                           param cap=500
//	link rate=10G delay=20ms queue=100000              loss A>B random p=1e-4
//	drop A psn=+2 tx=1                                 dup A psn=+2 copies=2
//	delay A psn=+3 by=100us                            reorder A psn=+2 behind=3
//	corrupt A psn=+2 field=payload                     rewrite A psn=+1 field=ttl value=3
//	mark A psn=+2 count=*                              inject B at=10us : WRITE_ONLY psn=+3 len=8
//	qp mtu=1024 timeout=14 qd=128                      load write msg=64KiB count=100
//	post-write at=5us len=4096                         post-send qp=1 len=4096 imm=7
//	post-read wr=3 len=4096                            post-atomic op=swap compare=1 value=2
//	post-receive from=B len=4096                       report detail
//	run for=10s limit=60s                              lan rate=100G delay=1us
//	lan drop A psn=+2                                  cm on
//	device B qpn=0x11 key=0x1f buffer=0x7f00           turns write msg=64 count=100
package scenario

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// Default is the Spec before any line: perftest's attributes on an unimpaired, unlimited link.
func Default() *Spec {
	q := engine.QP{
		PKey: roce.DefaultPKey, MTU: 1024, Timeout: 14, RetryCount: 7, RNRRetry: 7, MinRNRTimer: 12,
		QueueDepth: 128, ReceiveDepth: minReceiveDepth, AckReqEvery: 64, MaxRdAtomic: 16, MaxDestRd: 16,
		Access: engine.AllAccess,
	}
	link := spec.Link{Queue: 1000}
	return &Spec{
		Seed: 1, Impl: [2]string{"gbn", "gbn"}, QP: [2]engine.QP{q, q}, QPs: 1, Receives: minReceiveDepth,
		Replenish: true,
		Link:      spec.Duplex{AB: link, BA: link}, LAN: defaultLAN(), Limit: 3600 * vtime.Second,
	}
}

// Spec is a whole run: the implementations at both ends, the link, the QPs, the workload, the time limits and the seed.
type Spec struct {
	Title      []string      // the prose at the top of the text
	Seed       uint64        // every random stream of the run derives from it
	Impl       [2]string     // implementation at A and at B
	Params     engine.Params // parameters of the schemes
	Link       spec.Duplex
	LAN        LAN        // the link between A and a middlebox near A; unused without a middlebox
	CM         Management // of connections
	Faults     []fault.Fault
	Injections []Injection
	Reads      Readings
	Devices    [2]Device    // foreign implementations at A and B
	QP         [2]engine.QP // attributes at A and at B; numbers and start PSNs belong to connection 0
	QPs        int          // connections, 1 to MaxQPs
	Receives   int          // buffers posted at the start on each QP; kept at that number when Replenish is set
	Replenish  bool
	ReceiveLen unit.Size // size of a posted receive; 0 takes the largest message
	Loads      []Load
	Posts      []Post
	Turns      Turns
	// the run stops after this time even with work outstanding; 0 runs until the work is done
	For vtime.Duration
	// an end whose work is not done by then is to blame, and the run is a FAIL; an ERROR where the harness is to blame
	Limit vtime.Duration
}

// MaxQPs bounds the connections of one run.
const MaxQPs = 10000

// Readings selects the reports of the endpoints beside the packets on the wire.
type Readings struct {
	Detail bool // every placement, timer setting and counter; for scenarios, not for 10^7-packet runs
	Fuzz   bool // a million mutated frames before the run, on an endpoint of their own; implies Detail
}

// Hash identifies the Spec: the SHA-256 of its canonical text, in hex.
func (s *Spec) Hash() string {
	sum := sha256.Sum256([]byte(s.String()))
	return hex.EncodeToString(sum[:])
}

// Ends returns the attributes of connection i: numbers and start PSNs derived from those of connection 0, so that a
// packet can be attributed by its DestQP alone.
func (s *Spec) Ends(i int) [2]engine.QP {
	ends := s.QP
	for side := range ends {
		ends[side].ReceiveDepth = s.receiveDepth()
		ends[side].QPN = s.firstQPN(side) + uint32(i)
		ends[side].DestQPN = s.firstQPN(1-side) + uint32(i)
		ends[side].PD = 1
		ends[side].Params = s.Params
	}
	message := uint32(min(s.LongestMessage(), maxMessage))
	ends[trace.A].Path = engine.Path{RTT: s.RTT(), Rate: s.Link.AB.Rate, Message: message}
	ends[trace.B].Path = engine.Path{RTT: s.RTT(), Rate: s.Link.BA.Rate, Message: message}
	return ends
}

// receiveDepth is room for the receives that are kept posted and for all scripted ones.
func (s *Spec) receiveDepth() int {
	n := s.Receives
	for _, p := range s.Posts {
		if p.Receive {
			n++
		}
	}
	return max(n, minReceiveDepth)
}

// minReceiveDepth is perftest's default depth of a receive queue.
const minReceiveDepth = 512

// firstQPN is the number of a side's first queue pair. Those of endpoints are apart, so that one capture cannot confuse
// the sides.
func (s *Spec) firstQPN(side int) uint32 {
	if d := s.Devices[side]; d.Present() {
		return d.QPN
	}
	return [2]uint32{0x11, 0x10011}[side]
}

// Start sets the first request PSN of both directions.
func (s *Spec) Start(p psn.PSN) {
	for side := range s.QP {
		s.QP[side].SendPSN, s.QP[side].RecvPSN = p, p
	}
}

// RTT returns the propagation delay of both directions together.
func (s *Spec) RTT() vtime.Duration { return s.Link.AB.Delay + s.Link.BA.Delay }

// Seeds returns the seeds of the link's random streams, by sender.
func (s *Spec) Seeds() [2]uint64 { return [2]uint64{s.Seed * 2, s.Seed*2 + 1} }

// LANSeeds returns those of the LAN's: complements, so that no small seed has one stream twice.
func (s *Spec) LANSeeds() [2]uint64 { return [2]uint64{^(s.Seed * 2), ^(s.Seed*2 + 1)} }

// LongestMessage returns the size of the largest message that the Spec posts.
func (s *Spec) LongestMessage() unit.Size {
	most := s.Turns.Msg
	for _, l := range s.Loads {
		most = max(most, l.Largest())
	}
	for _, p := range s.Posts {
		most = max(most, unit.Size(p.WR.Len))
	}
	return most
}
