package drive

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// vectors are two frames captured from hardware and published with their ICRC, which is left out here: a UC SEND_ONLY
// from a host to itself, and a congestion notification of a ConnectX-4 Lx.
var vectors = [...]struct{ probe, frame string }{
	{"icrc_vector_a", "0000000000000000000000000800" + "450100400478400040" + "11b4d5c0a80007c0a80007" +
		"c00012b7002caca22460ffff000000d300cf1710" + "4630818be28935d90e9a95505401be885e500000" + "00000000"},
	{"icrc_vector_b", "e41d2dab2bc27cfe90643b320800" + "45c2003c718c4000401191610a0011010a001201" + "000012b700280000" +
		"8100ffff4000011800000000" + "00000000000000000000000000000000" + "00000000"},
}

// samples are the packets whose truncated frames the decoder is tested with: each has other headers.
var samples = [...]string{
	"ACK psn=1 msn=1", "WRITE_ONLY psn=1 va=0x1000 rkey=0x7 dmalen=5 len=5", "SEND_ONLY_IMM psn=1 len=4 imm=9",
	"READ_REQUEST psn=1 va=0x1000 rkey=0x7 dmalen=8", "FETCH_ADD psn=1 va=0x1000 rkey=0x7 swapadd=1",
}

// introduce reports what a rule needs and cannot see on the wire: the memory that the peer may access, the ICRCs and
// truncated frames of the codec's self-test, and the result of fuzzing.
func (e *Endpoint) introduce() {
	for i := range e.engines.qps {
		e.out.region(i, Key(e.side, i), Target(i), e.layout.size(), engine.AllAccess)
		e.out.region(i, ReadOnlyKey(e.side, i), readOnly(i), readOnlyLen, engine.RemoteRead)
		if e.checks.qkey != 0 {
			e.out.probe(i, "qkey", int64(e.checks.qkey))
		}
	}
	testCodec(&e.out, &e.port)
	if e.spec.Reads.Fuzz {
		testEngine(&e.out, e.impl, e.spec)
	}
}

// testCodec reports the ICRC that a port gives each vector, and how many truncated frames it accepts.
func testCodec(out *reports, port *port) {
	for _, v := range vectors {
		b, err := hex.DecodeString(v.frame)
		if err != nil || !roce.Reseal(b) {
			continue // cannot happen: the text above is fixed
		}
		b = port.emit(b)
		out.probe(0, v.probe, int64(binary.LittleEndian.Uint32(b[len(b)-4:])))
	}
	accepted := int64(0)
	for _, text := range samples {
		if p, err := roce.ParsePacket(text); err == nil {
			accepted += truncations(port, out.side.Other(), &p)
		}
	}
	out.probe(0, "truncations_accepted", accepted)
}

// truncations returns how many truncations of the frame of p, sent by from, the port accepts as a packet.
func truncations(port *port, from trace.Side, p *roce.Packet) (accepted int64) {
	var f roce.Frame
	Frame(&f, from, 0, p)
	whole := f.AppendTo(nil)
	for n := range whole {
		b := port.enter(append([]byte(nil), whole[:n]...))
		if f.Decode(b) == nil && f.ICRCOK(b) {
			accepted++
		}
	}
	return accepted
}

// testEngine runs the fuzzer against a side's engines and reports its result; once when both sides have the same
// implementation.
func testEngine(out *reports, impl engine.Implementation, s *scenario.Spec) {
	if out.side == trace.B && s.Impl[trace.A] == s.Impl[trace.B] {
		return
	}
	f := newFuzzer(impl, out.side, s.Seed)
	if f.run(fuzzFrames) != nil {
		return // the implementation rejects the fuzzer's attributes; the rule then stays inconclusive
	}
	out.probe(0, "fuzz_packets", fuzzFrames)
	out.probe(0, "fuzz_violations", f.violations)
}
