package drive

import (
	"math/rand/v2"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

const (
	fuzzFrames = 1 << 20
	fuzzLife   = 64 // frames for one victim: the QPs of most fail at the first fatal frame
)

// seeds are the packets that are mutated.
var seeds = [...]string{
	"SEND_FIRST len=256", "SEND_MIDDLE len=256", "SEND_LAST len=4 A", "SEND_ONLY len=8 A",
	"SEND_ONLY_IMM len=4 imm=1 A",
	"WRITE_FIRST dmalen=512 len=256", "WRITE_LAST len=256 A", "WRITE_ONLY dmalen=8 len=8 A",
	"READ_REQUEST dmalen=300 A",
	"CMP_SWAP A", "FETCH_ADD A", "ACK msn=1", "NAK PSN_SEQ_ERR", "NAK REM_ACCESS", "RNR timer=1", "ATOMIC_ACK",
	"READ_RESP_FIRST len=256", "READ_RESP_LAST len=44", "READ_RESP_ONLY len=256", "UD_SEND_ONLY len=4", "SACK sack=9",
}

// fuzzer feeds mutated frames to endpoints of its own, its victims, and counts violations: a panic, bytes stored
// outside the regions that are open to the peer, and a READ that completes before its data are placed.
type fuzzer struct {
	impl       engine.Implementation
	spec       *scenario.Spec
	side       trace.Side
	rng        *rand.Rand
	seeds      []roce.Packet
	victim     *Endpoint
	frame      []byte
	stored     uint64 // bytes of READ data placed
	completed  uint64 // bytes of READs completed
	violations int64
}

func newFuzzer(impl engine.Implementation, side trace.Side, seed uint64) *fuzzer {
	s := scenario.Default()
	s.Receives, s.ReceiveLen, s.Reads.Detail = 4, 1024, true
	for i := range s.QP {
		s.QP[i].MTU, s.QP[i].QueueDepth = 256, 4
	}
	s.Loads = []scenario.Load{{From: side, Op: engine.OpRead, Msg: 300, Count: 4}}
	f := &fuzzer{impl: impl, spec: s, side: side, rng: rand.New(rand.NewPCG(seed, 0xF022))}
	for _, text := range seeds {
		if p, err := roce.ParsePacket(text); err == nil {
			f.seed(p)
		}
	}
	f.extend()
	return f
}

// seed adds a packet, addressed to the victim.
func (f *fuzzer) seed(p roce.Packet) {
	p.DestQP = f.spec.Ends(0)[f.side].QPN
	p.RETH.VA, p.RETH.RKey = Target(0), Key(f.side, 0)
	f.seeds = append(f.seeds, p)
}

// extend adds a packet for each opcode beyond the RC class that the scheme accepts. A packet with payload is full, and
// a packet that ends its message announces its own length as that of the message.
func (f *fuzzer) extend() {
	for code := range 256 {
		op := roce.Opcode(code)
		if !op.Known() || f.impl.Accepts == nil || !f.impl.Accepts(op) {
			continue
		}
		p := roce.Packet{BTH: roce.BTH{Opcode: op, PKey: roce.DefaultPKey, AckReq: op.EndsMessage()}}
		p.RETH.DMALen, p.DETH.QKey = 512, f.impl.QKey
		if op.Layout()&roce.LayoutPayload != 0 {
			p.Len = f.spec.QP[f.side].MTU
		}
		if op.EndsMessage() {
			p.RETH.DMALen = uint32(p.Len)
		}
		f.seed(p)
	}
}

// Event implements Observer for the victim.
func (f *fuzzer) Event(e *trace.Event) {
	l := &f.victim.layout
	switch {
	case e.Kind == trace.CQE && e.Body.Op == engine.OpRead && e.Body.Status == engine.StatusSuccess:
		if f.completed += 300; f.completed > f.stored {
			f.violations++
		}
	case e.Kind != trace.Store:
	case e.VA-l.land(0) < l.slot*l.slots:
		f.stored += uint64(e.Len)
	case e.VA-Target(0) >= l.slot*l.slots && e.VA-l.inbox(0) >= l.inSlot*l.inSlots:
		f.violations++
	}
}

// run feeds n frames.
func (f *fuzzer) run(n int) error {
	for i := range n {
		if i%fuzzLife == 0 {
			if err := f.renew(); err != nil {
				return err
			}
		}
		f.mutate()
		f.feed(vtime.Time(i) * vtime.Time(vtime.Microsecond))
	}
	return nil
}

// renew builds a new victim, whose READs are outstanding.
func (f *fuzzer) renew() (err error) {
	f.stored, f.completed = 0, 0
	spec := *f.spec
	spec.Reads.Detail = false // detail would start a self-test within the self-test
	if f.victim, err = New(&spec, f.side, f.impl, Options{Observer: f}); err != nil {
		return err
	}
	f.victim.memory.memory.Watch = f.victim.out.store
	f.victim.Start(0)
	var p roce.Packet
	for range 8 {
		f.victim.Transmit(0, &p)
	}
	return nil
}

// mutate makes the next frame: a valid packet with a PSN near the start, of which up to three bytes are replaced. Most
// frames get a valid ICRC again, so that they are not all dropped by its check.
func (f *fuzzer) mutate() {
	p := f.seeds[f.rng.IntN(len(f.seeds))]
	p.PSN = psn.New(uint32(f.rng.IntN(8)))
	p.SACK = roce.SACKETH{PSN: psn.New(uint32(f.rng.IntN(8))), LostCnt: uint8(f.rng.IntN(8))}
	p.SO = roce.SOETH{SN: uint32(f.rng.IntN(4)), Offset: uint32(f.rng.IntN(4)) * uint32(f.spec.QP[f.side].MTU)}
	var frame roce.Frame
	Frame(&frame, f.side.Other(), 0, &p)
	f.frame = frame.AppendTo(f.frame[:0])
	const ip = 14
	for range f.rng.IntN(4) {
		f.frame[ip+f.rng.IntN(min(len(f.frame)-ip, 72))] = byte(f.rng.Uint32())
	}
	if f.rng.IntN(8) > 0 {
		roce.Reseal(f.frame)
	}
}

// feed passes the frame to the victim and lets it answer; a panic is a violation, after which the victim is replaced.
func (f *fuzzer) feed(now vtime.Time) {
	defer func() {
		if recover() != nil {
			f.violations++
			_ = f.renew() // cannot fail: it succeeded before with the same Spec
		}
	}()
	f.victim.ReceiveFrame(now, f.frame)
	if f.victim.Deadline() <= now {
		f.victim.Wake(now)
	}
	var p roce.Packet
	for range 4 {
		if _, ok := f.victim.Transmit(now, &p); !ok {
			return
		}
	}
}
