package roce

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

func TestText(t *testing.T) {
	bth := func(op Opcode, n psn.PSN, qp uint32) BTH {
		return BTH{Opcode: op, PKey: DefaultPKey, PSN: n, DestQP: qp}
	}
	withFlags := bth(WriteFirst, 7, 18)
	withFlags.AckReq = true
	odd := BTH{Opcode: SendLastInv, PSN: 1, PKey: 0x7FFF, TVer: 1, Resv6: 3, Resv7: 4, Pad: 1, SE: true, Mig: true,
		FECN: true, BECN: true}
	for _, tt := range []struct {
		text string
		p    Packet
	}{
		{"WRITE_FIRST psn=7 qp=18 va=0x1000 rkey=0x5 dmalen=5120 len=1024 A",
			Packet{BTH: withFlags, RETH: RETH{VA: 0x1000, RKey: 5, DMALen: 5120}, Len: 1024}},
		{"WRITE_MIDDLE psn=0 len=1023", Packet{BTH: bth(WriteMiddle, 0, 0), Len: 1023}},
		{"SEND_LAST_INV psn=1 len=4 ikey=0x9 pkey=0x7fff pad=1 tver=1 resv6=0x3 resv7=0x4 SE MIG FECN BECN",
			Packet{BTH: odd, InvKey: 9, Len: 4}},
		{"ACK psn=4 qp=17 msn=1", Packet{BTH: bth(Acknowledge, 4, 17), AETH: AETH{SyndromeACK, 1}}},
		{"ACK psn=4 qp=17 msn=1 credit=0", Packet{BTH: bth(Acknowledge, 4, 17), AETH: AETH{0, 1}}},
		{"NAK psn=2 qp=17 msn=0 PSN_SEQ_ERR", Packet{BTH: bth(Acknowledge, 2, 17), AETH: AETH{SyndromePSNSeqErr, 0}}},
		{"NAK psn=2 msn=0 INVALID_REQ", Packet{BTH: bth(Acknowledge, 2, 0), AETH: AETH{SyndromeInvalidReq, 0}}},
		{"NAK psn=2 msn=0 REM_ACCESS", Packet{BTH: bth(Acknowledge, 2, 0), AETH: AETH{SyndromeRemoteAccess, 0}}},
		{"NAK psn=2 msn=0 REM_OP", Packet{BTH: bth(Acknowledge, 2, 0), AETH: AETH{SyndromeRemoteOp, 0}}},
		{"NAK psn=2 msn=0 INVALID_RD", Packet{BTH: bth(Acknowledge, 2, 0), AETH: AETH{SyndromeInvalidRD, 0}}},
		{"NAK psn=2 msn=0 code=31", Packet{BTH: bth(Acknowledge, 2, 0), AETH: AETH{0x7F, 0}}},
		{"RNR psn=2 qp=17 msn=0 timer=12", Packet{BTH: bth(Acknowledge, 2, 17), AETH: AETH{SyndromeRNR + 12, 0}}},
		{"ACKNOWLEDGE psn=2 msn=0 syndrome=64", Packet{BTH: bth(Acknowledge, 2, 0), AETH: AETH{0x40, 0}}},
		{"RACK psn=4 qp=17 msn=1 sack=9 PSN_SEQ_ERR",
			Packet{BTH: bth(RACK, 4, 17), AETH: AETH{SyndromePSNSeqErr, 1}, SACK: SACKETH{PSN: 9}}},
		{"SACK_OVERFLOW psn=4 msn=0 sack=9 lost=7",
			Packet{BTH: bth(FaSRSackOverflow, 4, 0), AETH: AETH{SyndromeACK, 0}, SACK: SACKETH{9, 7}}},
		{"READ_RESP_ONLY psn=3 len=8 msn=1", Packet{BTH: bth(ReadRespOnly, 3, 0), AETH: AETH{SyndromeACK, 1}, Len: 8}},
		{"CMP_SWAP psn=1 va=0x8 rkey=0x1 swapadd=0x2 compare=0x3",
			Packet{BTH: bth(CompareSwap, 1, 0), RETH: RETH{VA: 8, RKey: 1}, Atomic: AtomicETH{2, 3}}},
		{"ATOMIC_ACK psn=1 msn=1 result=0x2a",
			Packet{BTH: bth(AtomicAck, 1, 0), AETH: AETH{SyndromeACK, 1}, Result: 42}},
		{"F_SEND_ONLY_IMM psn=1 len=1 imm=0xff sn=3 off=4096",
			Packet{BTH: bth(FSendFirst+SendOnlyImm, 1, 0), Imm: 255, SO: SOETH{3, 4096}, Len: 1}},
		{"UD_SEND_ONLY psn=0 qp=1 qkey=0x80010000 srcqp=5 len=256",
			Packet{BTH: bth(UDSendOnly, 0, 1), DETH: DETH{CMQKey, 5}, Len: 256}},
		{"FLUSH psn=0 dmalen=64 flush=0x12", Packet{BTH: bth(Flush, 0, 0), RETH: RETH{DMALen: 64}, Flush: 0x12}},
		{"LOWAR qp=18 len=16 type=9",
			Packet{BTH: BTH{Opcode: LoWAR, DestQP: 18}, Repair: Repair{Type: 9, Version: 1}, Len: 16}},
		{"REPAIR qp=18 len=1044 bpsn=7 isn=1 n=8 r=8 c=2 epoch=3 lastlen=16 check=0x5 FIRST LAST K",
			Packet{BTH: BTH{Opcode: LoWAR, DestQP: 18}, Len: 1044, Repair: Repair{Type: RepairData, Version: 1, Base: 7,
				ISN: 1, N: 8, R: 8, C: 2,
				Epoch: 3, LastLen: 16, Check: 5, HasFirst: true, HasLast: true, Responses: true}}},
		{"ANNOUNCE qp=18 bpsn=7 r=64 c=8 ver=2", Packet{BTH: BTH{Opcode: LoWAR, DestQP: 18},
			Repair: Repair{Type: RepairAnnounce, Version: 2, Base: 7, R: 64, C: 8}}},
		{"FEEDBACK qp=18 r=64 c=8 missed=5 recovered=3 unrecoverable=2", Packet{BTH: BTH{Opcode: LoWAR, DestQP: 18},
			Repair: Repair{Type: RepairFeedback, Version: 1, R: 64, C: 8, Lost: 5, Recovered: 3, Unrecoverable: 2}}},
		{"OP_0x15 psn=1 qp=2", Packet{BTH: bth(0x15, 1, 2)}},
	} {
		if got := tt.p.String(); got != tt.text {
			t.Errorf("String:\n got %s\nwant %s", got, tt.text)
		}
		got, err := ParsePacket(tt.text)
		if err != nil {
			t.Errorf("ParsePacket: %v", err)
		}
		if diff := cmp.Diff(tt.p, got); diff != "" {
			t.Errorf("ParsePacket(%q) (-want +got):\n%s", tt.text, diff)
		}
	}
}

// TestTextRoundTrip: the text has every field of a packet except its bytes, whatever the base of relative PSNs.
func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := canonical(packets().Draw(t, "packet"))
		text := p.String()
		got, err := ParsePacket(text)
		if err != nil {
			t.Fatal(err)
		}
		if again := got.String(); again != text {
			t.Fatalf("parsed and printed:\n got %s\nwant %s", again, text)
		}
		base := psn.New(rapid.Uint32().Draw(t, "base"))
		relative := string(p.AppendText(nil, TextOptions{Relative: true, Base: base}))
		at, err := ParsePacketAt(relative, base)
		if err != nil {
			t.Fatal(err)
		}
		p.Payload, p.Pad = nil, 0
		for _, q := range []Packet{got, at} {
			if diff := cmp.Diff(p, q); diff != "" {
				t.Fatalf("%s or %s (-want +got):\n%s", text, relative, diff)
			}
		}
	})
}

func TestRelativeText(t *testing.T) {
	const base = psn.Mask // the largest PSN, so that +2 is psn 1
	opt := TextOptions{Relative: true, Base: base, Omit: OmitForLadder}
	for _, tt := range []struct{ absolute, ladder string }{
		{"WRITE_FIRST psn=1 qp=18 va=0x1000 rkey=0x5 dmalen=5120 len=1024 A", "WRITE_FIRST psn=+2 len=1024 A"},
		{"NAK psn=16777215 qp=17 msn=0 PSN_SEQ_ERR", "NAK psn=+0 msn=0 PSN_SEQ_ERR"},
		{"IRN_NACK psn=16777214 msn=3 sack=5", "IRN_NACK psn=-1 msn=3 sack=+6"},
		{"REPAIR qp=3 len=8 bpsn=1 n=2 r=8 c=1 lastlen=20 LAST", "REPAIR len=8 bpsn=+2 n=2 r=8 c=1 LAST"},
	} {
		p, err := ParsePacket(tt.absolute)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(p.AppendText(nil, opt)); got != tt.ladder {
			t.Errorf("ladder %q, want %q", got, tt.ladder)
		}
		q, err := ParsePacketAt(tt.ladder, base)
		if err != nil || q.PSN != p.PSN || q.SACK != p.SACK || q.Repair.Base != p.Repair.Base {
			t.Errorf("ParsePacketAt(%q) = %v, %v", tt.ladder, &q, err)
		}
	}
}

func TestParsePacketErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", "empty"},
		{"   ", "empty"},
		{"WRITE psn=1", "unknown opcode WRITE"},
		{"WRITE_FIRST psn=1 psn=2", "psn given twice"},
		{"WRITE_FIRST psn=16777216", "want a number of 24 bits"},
		{"WRITE_FIRST psn=-1", "relative, and no start"},
		{"WRITE_FIRST psn=", "want a number"},
		{"WRITE_FIRST qp=+1", "want a number"},
		{"WRITE_FIRST len=65401", "more than 65400"},
		{"WRITE_FIRST colour=1", "unknown key colour"},
		{"WRITE_FIRST LOUD", "unknown word LOUD"},
		{"WRITE_FIRST msn=1", "WRITE_FIRST has no msn"},
		{"WRITE_MIDDLE va=1", "WRITE_MIDDLE has no va"},
		{"WRITE_MIDDLE PSN_SEQ_ERR", "WRITE_MIDDLE has no PSN_SEQ_ERR"},
		{"READ_REQUEST len=4", "READ_REQUEST has no len"},
		{"LOWAR psn=1", "LOWAR has no psn"},
		{"LOWAR A", "unknown word A"},
		{"LOWAR bpsn=1", "LOWAR has no bpsn"},
		{"REPAIR type=2", "type given twice"},
		{"ANNOUNCE len=4", "ANNOUNCE has no len"},
		{"WRITE_ONLY FIRST", "unknown word FIRST"},
		{"REPAIR c=256", "want a number of 8 bits"},
		{"ACK psn=1 timer=3", "ACK cannot"},
		{"RNR psn=1 REM_OP", "RNR cannot"},
		{"NAK psn=1", "NAK needs a code"},
		{"NAK REM_OP REM_OP", "given twice"},
		{"ACK credit=32", "want a number of 5 bits"},
	} {
		_, err := ParsePacket(tt.text)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParsePacket(%q): err = %v, want %s", tt.text, err, tt.want)
		}
	}
	for _, text := range []string{"SEND_ONLY psn=+8388609", "SEND_ONLY psn=-8388609", "SEND_ONLY psn=+x",
		"SEND_ONLY psn=+"} {
		if _, err := ParsePacketAt(text, 0); err == nil {
			t.Errorf("ParsePacketAt(%q) has no error", text)
		}
	}
}
