package roce

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

func TestCMRoundTrip(t *testing.T) {
	ids := CommIDs{Local: 0x01020304, Remote: 0x05060708}
	for _, want := range []CMMessage{
		&REQ{LocalCommID: 1, ServiceID: 2, LocalCAGUID: 3, QKey: 4, QPN: 0xABCDEF, ResponderResources: 5,
			InitiatorDepth: 6,
			LocalEECN:      7, RemoteEECN: 8, RemoteCMTimeout: 31, Service: 2, FlowControl: true, StartingPSN: 0xFEDCBA,
			LocalCMTimeout: 20, RetryCount: 7, PKey: 0xFFFF, PathMTU: 5, RDC: true, RNRRetryCount: 6,
			MaxCMRetries: 15, SRQ: true,
			ExtendedType: 1, LocalLID: 9, RemoteLID: 10, LocalGID: [16]byte{0xFE, 0x80, 15: 1},
			RemoteGID: [16]byte{10: 0xFF, 15: 2},
			FlowLabel: 0xFFFFF, PacketRate: 63, TrafficClass: 11, HopLimit: 64, SL: 15,
			SubnetLocal: true, ACKTimeout: 31,
			PrivateData: [92]byte{1, 91: 2}},
		&REP{CommIDs: ids, QKey: 1, QPN: 0xFFFFFF, EECN: 2, StartingPSN: 0x123456, ResponderResources: 3,
			InitiatorDepth: 4,
			TargetACKDelay: 31, Failover: 3, FlowControl: true, RNRRetryCount: 7, SRQ: true, LocalCAGUID: 5,
			PrivateData: [196]byte{1, 195: 2}},
		&RTU{CommIDs: ids, PrivateData: [224]byte{1, 223: 2}},
		&DREQ{CommIDs: ids, RemoteQPN: 0xABCDEF, PrivateData: [220]byte{1, 219: 2}},
		&DREP{CommIDs: ids, PrivateData: [224]byte{1, 223: 2}},
		&REJ{CommIDs: ids, Rejected: 2, InfoLen: 72, Reason: 28, Info: [72]byte{1, 71: 2},
			PrivateData: [148]byte{1, 147: 2}},
		&MRA{CommIDs: ids, Received: 1, ServiceTimeout: 31, PrivateData: [222]byte{1, 221: 2}},
	} {
		mad := AppendCM(nil, 0x1122334455667788, want)
		h, got, err := DecodeCM(mad)
		if err != nil || len(mad) != CMLen {
			t.Fatalf("%T: %d bytes, %v", want, len(mad), err)
		}
		wantHeader := MADHeader{BaseVersion: 1, Class: 7, ClassVersion: 2, Method: 3, TID: 0x1122334455667788,
			Attribute: want.Attribute()}
		if diff := cmp.Diff(wantHeader, h); diff != "" {
			t.Errorf("%T header (-want +got):\n%s", want, diff)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%T (-want +got):\n%s", want, diff)
		}
	}
}

// TestCMOffsets checks the positions of the fields that a middlebox reads (IBTA 12.6.5 and 12.6.8).
func TestCMOffsets(t *testing.T) {
	req := AppendCM(nil, 0, &REQ{LocalCommID: 1, ServiceID: 2, QKey: 3, QPN: 4, StartingPSN: 5, RetryCount: 6,
		PKey: 7, PathMTU: 3,
		LocalGID: [16]byte{8}, RemoteGID: [16]byte{9}, ACKTimeout: 14, PrivateData: [92]byte{10}})
	rep := AppendCM(nil, 0, &REP{CommIDs: CommIDs{1, 2}, QKey: 3, QPN: 4, StartingPSN: 5})
	be := binary.BigEndian
	for _, tt := range []struct {
		what      string
		got, want uint32
	}{
		{"REQ attribute", uint32(be.Uint16(req[16:])), 0x10},
		{"REQ comm ID", be.Uint32(req[24:]), 1},
		{"REQ service", uint32(be.Uint64(req[24+8:])), 2},
		{"REQ Q_Key", be.Uint32(req[24+28:]), 3},
		{"REQ QPN", be.Uint32(req[24+32:]) >> 8, 4},
		{"REQ starting PSN", be.Uint32(req[24+44:]) >> 8, 5},
		{"REQ retry count", uint32(req[24+47] & 7), 6},
		{"REQ P_Key", uint32(be.Uint16(req[24+48:])), 7},
		{"REQ path MTU", uint32(req[24+50] >> 4), 3},
		{"REQ local GID", uint32(req[24+56]), 8},
		{"REQ remote GID", uint32(req[24+72]), 9},
		{"REQ ACK timeout", uint32(req[24+95] >> 3), 14},
		{"REQ private data", uint32(req[24+140]), 10},
		{"REP attribute", uint32(be.Uint16(rep[16:])), 0x13},
		{"REP comm IDs", be.Uint32(rep[24:])<<8 | be.Uint32(rep[28:]), 0x102},
		{"REP Q_Key", be.Uint32(rep[24+8:]), 3},
		{"REP QPN", be.Uint32(rep[24+12:]) >> 8, 4},
		{"REP starting PSN", be.Uint32(rep[24+20:]) >> 8, 5},
	} {
		if tt.got != tt.want {
			t.Errorf("%s = %#x, want %#x", tt.what, tt.got, tt.want)
		}
	}
}

// TestCMWidths: a value too large for its field does not change the fields beside it.
func TestCMWidths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &REQ{QPN: rapid.Uint32().Draw(t, "qpn"), StartingPSN: psn.PSN(rapid.Uint32().Draw(t, "psn")),
			RetryCount: rapid.Byte().Draw(t, "retry")}
		_, got, err := DecodeCM(AppendCM(nil, 0, m))
		if err != nil {
			t.Fatal(err)
		}
		want := &REQ{QPN: m.QPN & psn.Mask, StartingPSN: m.StartingPSN & psn.Mask, RetryCount: m.RetryCount & 7}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestCMErrors(t *testing.T) {
	good := AppendCM(nil, 0, &RTU{})
	edit := func(off int, v byte) []byte {
		b := append([]byte(nil), good...)
		b[off] = v
		return b
	}
	for _, tt := range []struct {
		mad  []byte
		want string
	}{
		{good[:255], "255 bytes"},
		{append(good, 0), "257 bytes"},
		{edit(0, 2), "version 2"},
		{edit(1, 4), "class 0x4"},
		{edit(2, 1), "version 1, want"},
		{edit(17, 0x19), "unknown attribute 0x19"},
	} {
		if _, m, err := DecodeCM(tt.mad); m != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("err = %v, want %s", err, tt.want)
		}
	}
}

func TestREQMTU(t *testing.T) {
	for code, want := range []int{0, 256, 512, 1024, 2048, 4096, 0} {
		if got := (&REQ{PathMTU: uint8(code)}).MTU(); got != want {
			t.Errorf("code %d: %d bytes, want %d", code, got, want)
		}
	}
}
