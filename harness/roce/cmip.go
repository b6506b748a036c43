package roce

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// RDMA CM connects by IP addresses and TCP ports: the port is in the service ID, the addresses are in the first bytes
// of a REQ's private data (IBTA annex A11).
const (
	ipServices = 0x0000_0000_0106_0000 // service IDs of TCP ports
	ipInfoLen  = 36
	ipVersions = 0x40 // version 0.0 of the header is in the byte before, IPv4 in the upper half of this
)

// IPInfo is what a REQ of RDMA CM says of its ends.
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

// IP reads the header. It is an error when the REQ is not one of RDMA CM for a TCP port, or not of IPv4.
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
