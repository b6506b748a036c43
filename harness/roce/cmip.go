package roce

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// RDMA CM connects by IP addresses and TCP ports: the port is in the service ID, the addresses are in the first bytes
// of a REQ's private data (IBTA annex A11).
const (
	ipServices = 0x0000_0000_0106_0000 // service IDs of TCP ports, which are the low 16 bits
	ipInfoLen  = 36
	ipVersions = 0x40 // byte 1 of the header: IPv4 in the upper half; byte 0 is the header's version, 0.0
)

// IPInfo is the addressing information in the REQ of RDMA CM.
type IPInfo struct {
	SourcePort   uint16
	Source, Dest netip.Addr // IPv4
}

// IPService returns the service ID under which RDMA CM listens on a TCP port.
func IPService(port uint16) uint64 { return ipServices | uint64(port) }

// SetIP puts the header of RDMA CM before the application's private data, which begins at byte 36.
func (m *REQ) SetIP(i IPInfo) {
	b := m.PrivateData[:ipInfoLen]
	clear(b)
	b[1] = ipVersions
	binary.BigEndian.PutUint16(b[2:], i.SourcePort)
	source, dest := i.Source.As4(), i.Dest.As4()
	copy(b[16:], source[:])
	copy(b[32:], dest[:])
}

// IP reads the header of RDMA CM. It returns an error when the REQ is not for a TCP port of RDMA CM, or not for IPv4.
func (m *REQ) IP() (IPInfo, error) {
	b := &m.PrivateData
	switch {
	case m.ServiceID&^0xFFFF != ipServices:
		return IPInfo{}, errors.New("cm: REQ is for a service that is no TCP port of RDMA CM")
	case b[0] != 0 || b[1]&0xF0 != ipVersions:
		return IPInfo{}, errors.New("cm: REQ without the header of RDMA CM for IPv4")
	}
	return IPInfo{SourcePort: binary.BigEndian.Uint16(b[2:]), Source: netip.AddrFrom4([4]byte(b[16:])),
		Dest: netip.AddrFrom4([4]byte(b[32:]))}, nil
}
