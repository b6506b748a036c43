package trace

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// coded finds the packets that a repair packet of a fixture protects: the first transmissions of the same direction.
type coded map[codedPlace]*Record

type codedPlace struct {
	conn int
	from Side
	psn  psn.PSN
}

// coded indexes the data packets of the fixture by PSN.
func (p *fixtureParser) coded() coded {
	all := coded{}
	for i := range p.f.Records {
		r := &p.f.Records[i]
		o, at := r.Packet.Opcode, codedPlace{r.Conn, r.From, r.Packet.PSN}
		if all[at] == nil && r.Fate != Injected && (o.IsSend() || o.IsWrite() || o.IsReadResponse()) {
			all[at] = r
		}
	}
	return all
}

// repair fills in what the line of a repair packet leaves out: the XOR of the packets of its unit, with the byte of the BTH
// that the code leaves out taken for zero, and the length of the last packet of its block. With fill= the payload is made
// up like any other, so that a fixture can have a wrong one.
func (all coded) repair(r *Record, t *packetText) {
	h := &r.Packet.Repair
	if h.Type != roce.RepairData {
		return
	}
	if last := all[codedPlace{r.Conn, r.From, h.Base.Add(int(h.N) - 1)}]; h.HasLast && last != nil && !t.has("lastlen") {
		h.LastLen = uint16(last.Packet.TransportLen())
	}
	if t.has("len") || slices.ContainsFunc(t.frame, func(w string) bool { return len(w) > 5 && w[:5] == "fill=" }) {
		return
	}
	var sum []byte
	check := uint32(0)
	for i := int(h.ISN); i < int(h.N); i += max(1, int(h.C)) {
		if d := all[codedPlace{r.Conn, r.From, h.Base.Add(i)}]; d != nil {
			b := d.Packet.AppendTransport(nil)
			b[reserved] = 0
			sum = xor(sum, b)
			check += roce.RepairDigest(b)
		}
	}
	r.Packet.Payload, r.Packet.Len = sum, len(sum)
	if !t.has("check") {
		h.Check = check
	}
}

// reserved is the byte of a BTH that routers may change, which is not coded.
const reserved = 4

// xor adds b to sum, byte by byte.
func xor(sum, b []byte) []byte {
	for len(sum) < len(b) {
		sum = append(sum, 0)
	}
	for i, x := range b {
		sum[i] ^= x
	}
	return sum
}
