package drive

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// vectors are two frames captured from hardware and published with their ICRC, which is left out here: a UC SEND_ONLY
// whose two ends were one host, and a congestion notification of a ConnectX-4 Lx.
var vectors = [...]struct{ probe, frame string }{
	{"icrc_vector_a", "0000000000000000000000000800" + "450100400478400040" + "11b4d5c0a80007c0a80007" + "c00012b7002caca2" +
		"2460ffff000000d300cf1710" + "4630818be28935d90e9a95505401be885e500000" + "00000000"},
	{"icrc_vector_b", "e41d2dab2bc27cfe90643b320800" + "45c2003c718c4000401191610a0011010a001201" + "000012b700280000" +
		"8100ffff4000011800000000" + "00000000000000000000000000000000" + "00000000"},
}

// samples are the packets that the decoder is given piece by piece: each has other headers.
var samples = [...]string{
	"ACK psn=1 msn=1", "WRITE_ONLY psn=1 va=0x1000 rkey=0x7 dmalen=5 len=5", "SEND_ONLY_IMM psn=1 len=4 imm=9",
	"READ_REQUEST psn=1 va=0x1000 rkey=0x7 dmalen=8", "FETCH_ADD psn=1 va=0x1000 rkey=0x7 swapadd=1",
}

// reportCodec runs the endpoint's own way of sealing and opening frames over cases whose results are known, and reports
// what came of it: the ICRC of each vector, and how many truncated packets were taken for whole ones.
func (e *Endpoint) reportCodec() {
	for _, v := range vectors {
		b, err := hex.DecodeString(v.frame)
		if err != nil || !roce.Reseal(b) {
			continue // cannot be: the text above is fixed
		}
		b = e.Emit(b)
		e.probe(0, v.probe, int64(binary.LittleEndian.Uint32(b[len(b)-4:])))
	}
	accepted := int64(0)
	for _, text := range samples {
		if p, err := roce.ParsePacket(text); err == nil {
			accepted += e.truncations(&p)
		}
	}
	e.probe(0, "truncations_accepted", accepted)
}

// truncations returns how many of the beginnings of a packet's frame pass for a packet.
func (e *Endpoint) truncations(p *roce.Packet) (accepted int64) {
	var f roce.Frame
	Frame(&f, e.side.Other(), 0, p)
	whole := f.AppendTo(nil)
	for n := range whole {
		b := append([]byte(nil), whole[:n]...)
		if e.frameIn != nil {
			b = e.frameIn(b)
		}
		if f.Decode(b) == nil && f.ICRCOK(b) {
			accepted++
		}
	}
	return accepted
}
