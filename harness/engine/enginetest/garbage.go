package enginetest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// maxOutput bounds the packets that one end may send in answer to one input of a garbage run. Its workload has fewer
// packets; a READ of the largest length that the regions permit has a few hundred responses.
const maxOutput = 8192

// victims is the number of work requests on a QP that receives garbage.
const victims = 16

// checkGarbage feeds random packets and timers to engines with work: no panic, no endless output, and no byte placed
// outside the regions that the peer may write.
func checkGarbage(impl engine.Implementation, opts Options) error {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		script := make([]byte, 4096)
		for i := range script {
			script[i] = byte(rng.Uint32())
		}
		if err := abuse(impl, opts, script); err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	return nil
}

// Fuzz is the target of a fuzz test: the bytes are a script of packets, timers and posts.
func Fuzz(f *testing.F, impl engine.Implementation, opts Options) {
	f.Add([]byte{})
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 1))
		script := make([]byte, 512)
		for i := range script {
			script[i] = byte(rng.Uint32())
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		if err := abuse(impl, opts, script); err != nil {
			t.Error(err)
		}
	})
}

// abuse runs one script. A panic is returned as an error, so that the caller can name the seed.
func abuse(impl engine.Implementation, opts Options, script []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	in := &reader{b: script}
	for len(in.b) > 0 && err == nil {
		err = victim(impl, opts, in)
	}
	return err
}

// victim runs a script on a new pair until the QP fails or the script ends.
func victim(impl engine.Implementation, opts Options, in *reader) error {
	d, err := newPair(impl, opts, starts[2])
	if err != nil {
		return err
	}
	if err := d.load(mixed(opts.ops(), d.ends[0].qp.MTU, victims)); err != nil {
		return err
	}
	d.guard()
	for len(in.b) > 0 && d.err == nil && !d.ends[0].failed && !d.ends[1].failed {
		d.post()
		d.now = d.now.Add(vtime.Duration(in.byte()) * gap)
		d.disturb(in)
		d.drainAll()
		d.exhaust()
		d.log = d.log[:0]
	}
	return d.err
}

// guard rejects every placement at end 1 outside the regions that are open to the peer or to receives.
func (d *pair) guard() {
	size := uint64(victims * d.slot())
	d.ends[1].mem.Watch = func(va uint64, _ []byte, n int) {
		last := va + uint64(n) - 1
		for _, r := range [...]uint64{remoteBase, receiveBase} {
			if va >= r && last < r+size {
				return
			}
		}
		if va != cellBase || n != 8 {
			d.breach("%d bytes are placed at %#x, outside every open region", n, va)
		}
	}
}

// disturb applies one step of a script to one end.
func (d *pair) disturb(in *reader) {
	e := d.ends[in.byte()&1]
	switch in.byte() % 4 {
	case 0:
		d.fire()
	default:
		p := in.packet(d.base, e.qp.MTU)
		d.translate(in, &p)
		if p.ToRequester() {
			e.req.HandlePacket(d.now, &p)
		} else {
			e.resp.HandlePacket(d.now, &p)
		}
	}
}

// translate gives every other packet the opcode of an extension class that the scheme accepts.
func (d *pair) translate(in *reader, p *roce.Packet) {
	if d.accepts == nil {
		return
	}
	class := in.byte()
	for _, o := range [...]roce.Opcode{p.Opcode | 0xC0, p.Opcode | 0xE0} {
		if class&1 != 0 && d.accepts(o) {
			p.Opcode = o
		}
		class >>= 1
	}
}

// exhaust polls all packets of both ends and delivers every third, so that the state advances.
func (d *pair) exhaust() {
	var p roce.Packet
	for i, e := range d.ends {
		for n := 0; e.resp.PollTransmit(d.now, &p) || e.req.PollTransmit(d.now, &p); n++ {
			if n == maxOutput {
				d.breach("end %d answers one input with more than %d packets", i, maxOutput)
				return
			}
			if d.sent++; d.sent%3 != 0 {
				continue
			}
			if to := d.ends[1-i]; p.ToRequester() {
				to.req.HandlePacket(d.now, &p)
			} else {
				to.resp.HandlePacket(d.now, &p)
			}
		}
	}
	d.drainAll()
}

// reader reads a script from bytes; after their end it reads zeros.
type reader struct{ b []byte }

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *reader) uint32() uint32 {
	var w [4]byte
	for i := range w {
		w[i] = r.byte()
	}
	return binary.LittleEndian.Uint32(w[:])
}

// packet reads a slightly wrong packet: most fields are close to valid values, so that the packet passes the first
// checks.
func (r *reader) packet(base psn.PSN, mtu int) roce.Packet {
	size := lengths(mtu)[r.byte()%7]
	p := roce.Packet{
		BTH: roce.BTH{
			Opcode: roce.Opcode(r.byte() & 0x1F), PSN: base.Add(int(r.byte())),
			AckReq: r.byte()&1 != 0, PKey: roce.DefaultPKey,
		},
		RETH:   roce.RETH{VA: remoteBase + uint64(r.byte())*8, RKey: uint32(r.byte() % 6), DMALen: uint32(size)},
		AETH:   roce.AETH{Syndrome: roce.Syndrome(r.byte()), MSN: psn.MSN(r.byte())},
		Result: uint64(r.byte()), Imm: 1, InvKey: windowKey + uint32(r.byte()),
		SACK: roce.SACKETH{PSN: base.Add(int(r.byte())), LostCnt: r.byte() & 7},
		SO:   roce.SOETH{SN: uint32(r.byte()), Offset: uint32(r.byte()) * 256},
		Len:  min(size, mtu),
	}
	switch r.byte() % 8 {
	case 0:
		p.PSN = psn.New(r.uint32())
	case 1:
		p.RETH.VA, p.RETH.DMALen = uint64(r.uint32())<<32|uint64(r.uint32()), r.uint32()
	case 2:
		p.Opcode = roce.Opcode(r.byte())
	case 3:
		p.Payload = make([]byte, r.byte())
	case 4:
		p.Len, p.Pad = int(int32(r.uint32())), r.byte()&3
	}
	if p.Opcode == roce.LoWAR {
		p.Repair = r.repair(base)
		p.Payload = bytes.Repeat([]byte{r.byte()}, max(0, min(p.Len, roce.MaxPayload)))
		p.Len = len(p.Payload)
	}
	return p
}

// repair reads a repair header, which is plausible in more than half of all cases.
func (r *reader) repair(base psn.PSN) roce.Repair {
	flags := r.byte()
	h := roce.Repair{Type: roce.RepairType(r.byte() % 5), Version: roce.RepairVersion, HasFirst: flags&1 != 0,
		HasLast:   flags&2 != 0,
		Responses: flags&4 != 0, ISN: r.byte() & 3, C: 1, R: 32, N: uint16(r.byte() & 63),
		Base:    base.Add(int(r.byte())),
		LastLen: uint16(r.byte()) * 8, Epoch: r.byte() & 3, Check: r.uint32()}
	if flags&8 != 0 {
		h.C, h.R, h.Version = r.byte(), uint16(r.uint32()), r.byte()&15
	}
	return h
}
