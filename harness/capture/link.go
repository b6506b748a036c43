package capture

import (
	"encoding/binary"
	"fmt"

	"github.com/gopacket/gopacket/layers"
)

// Link types that the layers package does not name, or names with a number other than in files.
const (
	linkSLL2  layers.LinkType = 276
	linkIPv4  layers.LinkType = 228
	linkIPv6  layers.LinkType = 229
	linkRaw12 layers.LinkType = 12 // raw IP as DLT_RAW of most systems
	linkRaw14 layers.LinkType = 14 // and of OpenBSD
	linkMPLS  layers.LinkType = 219
)

// knownLink returns an error for a link type whose frames cannot be read.
func knownLink(l layers.LinkType) error {
	switch l {
	case layers.LinkTypeEthernet, layers.LinkTypeLinuxSLL, linkSLL2, layers.LinkTypeRaw, linkRaw12, linkRaw14,
		linkIPv4, linkIPv6,
		layers.LinkTypeNull, layers.LinkTypeLoop, linkMPLS:
		return nil
	}
	return fmt.Errorf("capture: link type %d; want Ethernet, Linux cooked, raw IP, BSD loopback or MPLS", int(l))
}

// ethernet returns a frame with an Ethernet header, which it adds to frames of other links, so that one decoder serves
// all.
func (c *Reader) ethernet(data []byte, f *Frame) ([]byte, bool) {
	skip, kind := 0, uint16(etherIPv4)
	switch c.link {
	case layers.LinkTypeEthernet:
		return c.untagged(data), true
	case layers.LinkTypeLinuxSLL:
		if skip = 16; len(data) < skip {
			return nil, false
		}
		kind = binary.BigEndian.Uint16(data[14:])
		f.cooked(data[1])
	case linkSLL2:
		if skip = 20; len(data) < skip {
			return nil, false
		}
		kind = binary.BigEndian.Uint16(data)
		f.cooked(data[10])
	case linkMPLS:
		kind = etherMPLS
	case layers.LinkTypeNull, layers.LinkTypeLoop:
		skip = 4 // the address family, whose numbers and byte order are those of the capturing system
		fallthrough
	case layers.LinkTypeRaw, linkRaw12, linkRaw14, linkIPv4, linkIPv6:
		if len(data) <= skip {
			return nil, false
		}
		if data[skip]>>4 == 6 {
			kind = etherIPv6
		}
	default:
		return nil, false
	}
	return c.untagged(c.underEthernet(kind, data[skip:])), true
}

// underEthernet returns a packet below an Ethernet header without addresses.
func (c *Reader) underEthernet(kind uint16, packet []byte) []byte {
	var header [etherLen]byte
	binary.BigEndian.PutUint16(header[etherLen-2:], kind)
	c.buf = append(append(c.buf[:0], header[:]...), packet...)
	return c.buf
}

// untagged removes all VLAN tags except the last one, and that one too when it is a service tag: networks add and
// remove such tags in transit.
func (c *Reader) untagged(data []byte) []byte {
	const addresses, tag = etherLen - 2, 4
	skip := 0
	for len(data)-skip >= etherLen+tag {
		kind := binary.BigEndian.Uint16(data[addresses+skip:])
		if !isServiceTag(kind) && (kind != etherVLAN || !isTag(binary.BigEndian.Uint16(data[etherLen+tag-2+skip:]))) {
			break
		}
		skip += tag
	}
	if skip == 0 {
		return data
	}
	c.spare = append(append(c.spare[:0], data[:addresses]...), data[addresses+skip:]...)
	return c.spare
}

func isServiceTag(kind uint16) bool { return kind == 0x88A8 || kind == 0x9100 || kind == 0x9200 }

func isTag(kind uint16) bool { return kind == etherVLAN || isServiceTag(kind) }

// The packet types of Linux cooked captures that give the direction of a frame. Type 3, to other hosts, does not.
const (
	cookedToUs, cookedMulticast = 0, 2
	cookedFromUs                = 4
)

// cooked sets the direction from the packet type of a cooked capture.
func (f *Frame) cooked(kind byte) {
	switch {
	case f.Way != AnyWay:
	case kind == cookedFromUs:
		f.Way = Outward
	case kind >= cookedToUs && kind <= cookedMulticast:
		f.Way = Inward
	}
}
