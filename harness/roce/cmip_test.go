package roce

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"
)

// TestCMIPBytes compares the header of RDMA CM with bytes made by hand from IBTA A11: version 0, IPv4, source port,
// addresses.
func TestCMIPBytes(t *testing.T) {
	want, err := hex.DecodeString(
		"0040" + "c35a" + strings.Repeat("00", 12) + "0a4d0001" + strings.Repeat("00", 12) + "0a4d0002")
	if err != nil {
		t.Fatal(err)
	}
	info := IPInfo{SourcePort: 0xC35A, Source: netip.MustParseAddr("10.77.0.1"), Dest: netip.MustParseAddr("10.77.0.2")}
	m := &REQ{ServiceID: IPService(7174), PrivateData: [92]byte{5: 1, 36: 7}}
	m.SetIP(info)
	if !bytes.Equal(m.PrivateData[:36], want) || m.PrivateData[36] != 7 {
		t.Errorf("private data %x, want %x and then 07", m.PrivateData[:37], want)
	}
	if m.ServiceID != 0x0000000001061C06 {
		t.Errorf("service ID %#x", m.ServiceID)
	}
	if got, err := m.IP(); err != nil || got != info {
		t.Errorf("%+v, %v; want %+v", got, err, info)
	}
}

func TestCMIPErrors(t *testing.T) {
	for want, edit := range map[string]func(*REQ){
		"no TCP port":        func(m *REQ) { m.ServiceID |= 1 << 40 },
		"without the header": func(m *REQ) { m.PrivateData[1] = 0x60 },
		"header of RDMA CM":  func(m *REQ) { m.PrivateData[0] = 1 },
	} {
		m := &REQ{ServiceID: IPService(1)}
		m.SetIP(IPInfo{Source: netip.IPv4Unspecified(), Dest: netip.IPv4Unspecified()})
		edit(m)
		if _, err := m.IP(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
