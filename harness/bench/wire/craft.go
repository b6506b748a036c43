package wire

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// Craft builds the frame of an injection as the peer of in.To would have sent it: addresses, ports and, unless the text
// says otherwise, the DestQP of the connection; PSNs written "+n" count from the start of the half-conversation; a bad
// R_Key is any that the text gives. Checksums are right unless the injection wants them wrong.
func Craft(s *scenario.Spec, in scenario.Injection) ([]byte, error) {
	from := in.To.Other()
	ends := s.Ends(in.QP)
	probe, err := roce.ParsePacketAt(in.Packet, 0)
	if err != nil {
		return nil, fmt.Errorf("inject: %w", err)
	}
	base := psn.PSN(ends[from].SendPSN)
	if probe.Opcode.IsResponse() {
		base = ends[in.To].SendPSN
	}
	p, err := roce.ParsePacketAt(in.Packet, base)
	if err != nil {
		return nil, fmt.Errorf("inject: %w", err)
	}
	if p.DestQP == 0 {
		p.DestQP = ends[in.To].QPN
	}
	if p.RETH.VA == 0 && p.RETH.RKey == 0 {
		p.RETH.VA, p.RETH.RKey = drive.Target(in.QP), drive.Key(in.To, in.QP)
	}
	var f roce.Frame
	drive.Frame(&f, from, in.QP, &p)
	return edit(f.AppendTo(nil), in)
}

// edit applies the changes of the encoded frame that an injection asks for.
func edit(b []byte, in scenario.Injection) ([]byte, error) {
	for _, e := range in.Raw {
		off, n, ok := roce.FieldSpan(b, e.Field)
		if !ok {
			return nil, fmt.Errorf("inject: set=%s: a %s has no such field", e.Field, in.Packet)
		}
		for k := range n {
			b[off+n-1-k] = byte(e.Value >> (8 * k))
		}
	}
	if len(in.Raw) > 0 {
		roce.Reseal(b)
	}
	if in.BadCRC {
		b[len(b)-1] ^= 0xFF
	}
	const ethernet = 14
	if in.Cut > 0 && ethernet+in.Cut < len(b) {
		b = b[:ethernet+in.Cut]
	}
	return b, nil
}
