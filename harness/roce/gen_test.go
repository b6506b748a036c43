package roce

import (
	"math/rand/v2"
	"net/netip"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// canonical returns p as decoded: only the fields of its opcode, each within its width, and the padding on the wire.
func canonical(p Packet) Packet {
	var out Packet
	b := p.AppendTransport(nil)
	if err := out.DecodeTransport(b); err != nil {
		panic(err)
	}
	return out
}

// packets draws packets of every registered opcode with random fields.
func packets() *rapid.Generator[Packet] {
	return rapid.Custom(func(t *rapid.T) Packet {
		op := rapid.SampledFrom(knownOpcodes()).Draw(t, "opcode")
		n := rapid.IntRange(0, 70).Draw(t, "len")
		return randomPacket(op, n, rapid.Uint64().Draw(t, "seed"))
	})
}

// randomPacket fills every field of a packet, also those that its opcode lacks.
func randomPacket(op Opcode, n int, seed uint64) Packet {
	r := rand.New(rand.NewPCG(seed, 0))
	u32, u64, yes := r.Uint32, r.Uint64, func() bool { return r.Uint32()&1 == 0 }
	p := Packet{
		BTH: BTH{Opcode: op, SE: yes(), Mig: yes(), AckReq: yes(), FECN: yes(), BECN: yes(), TVer: uint8(u32()) & 15,
			Resv6: uint8(u32()) & 0x3F, Resv7: uint8(u32()) & 0x7F, PKey: uint16(u32()), DestQP: u32(),
			PSN: psn.PSN(u32())},
		RETH:   RETH{VA: u64(), RKey: u32(), DMALen: u32()},
		AETH:   AETH{Syndrome: Syndrome(u32()), MSN: psn.MSN(u32())},
		Atomic: AtomicETH{SwapAdd: u64(), Compare: u64()},
		Result: u64(), Imm: u32(), InvKey: u32(), Flush: u32(),
		DETH: DETH{QKey: u32(), SrcQP: u32()},
		SACK: SACKETH{PSN: psn.PSN(u32()), LostCnt: uint8(u32())},
		SO:   SOETH{SN: u32(), Offset: u32()},
		Repair: Repair{Type: RepairType(u32() % 5), Version: uint8(u32()) & 15, HasFirst: yes(), HasLast: yes(),
			Responses: yes(), ISN: uint8(u32()),
			C: uint8(u32()), R: uint16(u32()), N: uint16(u32()), Epoch: uint8(u32()), Base: psn.PSN(u32()),
			LastLen: uint16(u32()), Check: u32(),
			Lost: u32(), Recovered: u32(), Unrecoverable: u32()},
		Len: n,
	}
	if n > 0 {
		p.Payload = make([]byte, n)
		for i := range p.Payload {
			p.Payload[i] = byte(u32())
		}
	}
	return p
}

// frames draws frames of both IP versions, tagged or not, around a random packet.
func frames() *rapid.Generator[Frame] {
	return rapid.Custom(func(t *rapid.T) Frame {
		f := Frame{
			DstMAC: [6]byte(rapid.SliceOfN(rapid.Byte(), 6, 6).Draw(t, "dst mac")), SrcMAC: [6]byte{2, 0, 0, 0, 0, 1},
			Src: netip.AddrFrom4([4]byte{10, 0, 0, 1}), Dst: netip.AddrFrom4([4]byte{10, 0, 0, 2}),
			TOS: rapid.Byte().Draw(t, "tos"), TTL: rapid.Byte().Draw(t, "ttl"),
			SrcPort: rapid.Uint16().Draw(t, "sport"), DstPort: Port,
			Packet: packets().Draw(t, "packet"),
		}
		if f.HasVLAN = rapid.Bool().Draw(t, "tagged"); f.HasVLAN {
			f.VLAN = rapid.Uint16().Draw(t, "vlan")
		}
		if rapid.Bool().Draw(t, "ipv6") {
			overIPv6(&f)
			f.FlowLabel = rapid.Uint32Max(0xFFFFF).Draw(t, "flow label")
		} else {
			f.ID, f.DF = rapid.Uint16().Draw(t, "id"), rapid.Bool().Draw(t, "df")
		}
		return f
	})
}
