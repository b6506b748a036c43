package wire

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// Craft builds the frame of an injection as the peer of in.To would have sent it. Attributes that the packet's text
// leaves out are those of the connection: addresses, ports, DestQP, and the address and key of the target region. For a
// device, the key of a read-only region is that of its only region. PSNs written "+n" count from the start of the
// half-conversation. Checksums are right unless the injection wants them wrong.
//
// The changes come in this order: cut, edits, checksums, bad ICRC, chop.
func Craft(s *scenario.Spec, in scenario.Injection) ([]byte, error) {
	from := in.To.Other()
	p, err := craftPacket(s, in)
	if err != nil {
		return nil, fmt.Errorf("inject: %w", err)
	}
	var f roce.Frame
	drive.Frame(&f, from, in.QP, &p)
	b := f.AppendTo(nil)
	if in.Cut > 0 {
		if b, err = cut(b, in.Cut); err != nil {
			return nil, fmt.Errorf("inject: %w", err)
		}
	}
	if err := edit(b, in.Raw); err != nil {
		return nil, fmt.Errorf("inject: %w", err)
	}
	if in.BadCRC {
		b[len(b)-1] ^= 0xFF
	}
	if in.Chop > 0 {
		b = b[:min(len(b), ethernetLen+in.Chop)]
	}
	return b, nil
}

// craftPacket parses the text twice if necessary: only the packet shows from whose start a relative PSN counts.
func craftPacket(s *scenario.Spec, in scenario.Injection) (roce.Packet, error) {
	ends := s.Ends(in.QP)
	if word, _, _ := strings.Cut(strings.TrimSpace(in.Packet), " "); isSegment(word) {
		return craftSegment(in, ends[in.To.Other()].QPN)
	}
	p, err := roce.ParsePacketAt(in.Packet, ends[in.To.Other()].SendPSN)
	if err == nil && p.ToRequester() { // it belongs to the other half-conversation
		p, err = roce.ParsePacketAt(in.Packet, ends[in.To].SendPSN)
	}
	if err != nil {
		return p, err
	}
	if !says(in.Packet, "qp") {
		p.DestQP = ends[in.To].QPN
	}
	va, key := drive.Remote(s, in.To, in.QP)
	if !says(in.Packet, "va") {
		p.RETH.VA = va
	}
	if !says(in.Packet, "rkey") {
		p.RETH.RKey = key
	}
	if s.Devices[in.To].Present() && p.RETH.RKey == drive.ReadOnlyKey(in.To, in.QP) {
		p.RETH.VA, p.RETH.RKey = va, key // a device has one region: its tool decides for which operation
	}
	return p, nil
}

// isSegment reports whether a packet's text begins with an opcode of iWARP.
func isSegment(word string) bool {
	_, ok := iwarp.ParseOpcode(word)
	return ok
}

// craftSegment makes the datagram of an iWARP segment, from the port of the QP qpn. Its payload is zeros.
func craftSegment(in scenario.Injection, qpn uint32) (p roce.Packet, err error) {
	seg, err := iwarp.Parse(in.Packet)
	if err != nil {
		return p, err
	}
	if seg.Tagged && !says(in.Packet, "stag") {
		seg.STag = drive.Key(in.To, in.QP)
	}
	if seg.Tagged && !says(in.Packet, "to") {
		seg.TO = drive.Target(in.QP) + uint64(seg.Record.Off)
	}
	p.Opcode = roce.UDP
	p.Payload = iwarp.AppendDatagram(nil, iwarp.PortOf(qpn), iwarp.Port, &seg)
	p.Len = len(p.Payload)
	return p, nil
}

// says reports whether the text of a packet contains an attribute.
func says(packet, key string) bool {
	return slices.ContainsFunc(strings.Fields(packet), func(w string) bool { return strings.HasPrefix(w, key+"=") })
}

// Lengths of an IPv4 frame as package drive makes it.
const (
	ethernetLen = 14
	ipLen       = 20
	udpLen      = 8
	icrcLen     = 4
	belowBTH    = ethernetLen + ipLen + udpLen
)

// cut keeps n bytes of the transport packet followed by an ICRC, as if the sender had encoded no more: the lengths and
// checksums of IP and UDP agree with that. With fewer than 4 bytes no ICRC can be right.
func cut(b []byte, n int) ([]byte, error) {
	if whole := len(b) - belowBTH - icrcLen; n >= whole {
		return nil, fmt.Errorf("cut=%d: the packet has %d bytes; keep fewer", n, whole)
	}
	end := belowBTH + n + icrcLen
	binary.BigEndian.PutUint16(b[ethernetLen+2:], uint16(end-ethernetLen))
	binary.BigEndian.PutUint16(b[ethernetLen+ipLen+4:], uint16(end-ethernetLen-ipLen))
	roce.MendIPv4(b) // needs a frame of sufficient length, unlike the following steps
	b = b[:end]
	roce.Reseal(b)
	return b, nil
}

// edit overwrites fields of the encoded frame and updates its checksums.
func edit(b []byte, edits []scenario.Edit) error {
	for _, e := range edits {
		off, n, ok := roce.FieldSpan(b, e.Field)
		if !ok {
			return fmt.Errorf("set=%s: this packet has no such field, or it was cut off", e)
		}
		if n < 8 && e.Value>>(8*n) != 0 {
			return fmt.Errorf("set=%s: the field has %d bytes; use a smaller number", e, n)
		}
		for k := range n {
			b[off+n-1-k] = byte(e.Value >> (8 * k))
		}
	}
	if len(edits) > 0 {
		roce.Reseal(b)
	}
	return nil
}
