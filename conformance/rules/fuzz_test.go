package rules

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/recording"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// schemes are the features of endpoints that a fuzzer chooses from.
var schemes = [][]string{{"rc", "gbn"}, {"rc", "gb1"}, {"rc", "irn"}, {"rc", "fasr"}, {"rc", "gbn", "lowar"}, {"iwarp"}}

// FuzzJudge judges arbitrary conversations: whatever packets two hosts exchange, no check panics, and two judgements
// are equal. Each packet is seven bytes: its sender and its defects, opcode, PSN relative to the latest, payload,
// syndrome, QP, and the time since the previous packet.
func FuzzJudge(f *testing.F) {
	f.Add(byte(0),
		[]byte("\x00\x06\x00\x40\x00\x00\x01\x00\x07\x01\x40\x00\x00\x01"+
			"\x00\x08\x01\x02\x00\x00\x01\x01\x11\x00\x00\x1f\x00\x09"))
	f.Add(byte(0),
		[]byte("\x00\x04\x00\x02\x00\x00\x01\x01\x11\x00\x00\x60\x00\x09"+
			"\x00\x04\x00\x02\x00\x00\xf0\x01\x11\x00\x00\x1f\x00\x09"))
	f.Add(byte(2),
		[]byte("\x00\x0c\x00\x00\x10\x00\x01\x01\x0d\x00\x40\x1f\x00\x09"+
			"\x01\x0e\x01\x40\x00\x00\x01\x02\x0f\x01\x02\x1f\x01\x01"))
	f.Add(byte(4),
		[]byte("\x00\x0a\x00\x04\x00\x00\x01\x00\xc5\x00\x04\x00\x00\x01"+
			"\x01\x81\x00\x00\x00\x00\x02\x00\x13\x01\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, scheme byte, b []byte) {
		file := conversation(b[:min(len(b), 7*512)])
		in, err := recording.ReadFrom("fuzz", bytes.NewReader(file), int64(len(file)), recording.Stated{})
		if err != nil {
			return
		}
		var first []rule.Verdict
		for range 2 {
			j := rule.NewJudge(in.Header, All(),
				rule.Options{Features: schemes[int(scheme)%len(schemes)], BlackBox: true})
			if err := in.Play(trace.NewTimeline(&in.Header, j)); err != nil {
				t.Fatal(err)
			}
			again := j.Verdicts()
			for i, v := range again {
				if v.Status == rule.Error || first != nil && (v.Status != first[i].Status ||
					v.Total != first[i].Total) {
					t.Errorf("%s: %v, %s", v.Rule, v.Status, v.Reason)
				}
			}
			first = again
		}
	})
}

// conversation returns a pcap file of the packets of two hosts.
func conversation(b []byte) []byte {
	file := []byte("\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00\x01\x00\x00\x00")
	hosts := [2]netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, 1}), netip.AddrFrom4([4]byte{10, 0, 0, 2})}
	at, latest := uint32(0), [2]psn.PSN{psn.New(1<<24 - 4), 7}
	for ; len(b) >= 7; b = b[7:] {
		from := b[0] & 1
		h := roce.Frame{Src: hosts[from], Dst: hosts[from^1], SrcPort: 50000, TTL: 64}
		p := &h.Packet
		p.Opcode, p.DestQP, p.PKey, p.AckReq = roce.Opcode(b[1]), 17+uint32(from^1)<<8+uint32(b[5]&3),
			roce.DefaultPKey, b[0]&2 != 0
		space := from ^ b[0]>>2&1 // PSNs of the sender's requests, or of the peer's
		latest[space] = latest[space].Add(int(int8(b[2])))
		p.PSN, p.Payload = latest[space], make([]byte, int(b[3])*16)
		p.Len = len(p.Payload)
		p.RETH = roce.RETH{VA: uint64(b[4]) << 8, RKey: 1, DMALen: uint32(b[4]) << 6}
		p.AETH = roce.AETH{Syndrome: roce.Syndrome(b[4]), MSN: psn.MSN(b[5])}
		raw := h.AppendTo(nil)
		if b[0]&8 != 0 {
			raw[len(raw)-1]++ // the ICRC
		}
		kept := raw
		if b[0]&16 != 0 {
			kept = raw[:min(len(raw), 64)]
		}
		at += uint32(b[6]) * uint32(b[6])
		for _, word := range []uint32{1_700_000_000 + at/1_000_000, at % 1_000_000, uint32(len(kept)),
			uint32(len(raw))} {
			file = binary.LittleEndian.AppendUint32(file, word)
		}
		file = append(file, kept...)
	}
	return file
}
