package station

import (
	"encoding/binary"
	"unsafe"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// pauseParameters is struct ethtool_pauseparam.
type pauseParameters struct{ command, auto, obeyed, sent uint32 }

// pauseOf reads whether a network device sends and obeys pause frames; nil when it has no such setting.
func pauseOf(network string) *Pause {
	p := &pauseParameters{command: getPause}
	if ethtool(network, unsafe.Pointer(p)) != nil {
		return nil
	}
	return &Pause{Sent: p.sent != 0, Obeyed: p.obeyed != 0}
}

// Names of linux/dcbnl.h.
const (
	dcbIEEEGet = 21 // DCB_CMD_IEEE_GET
	dcbIfName  = 1  // DCB_ATTR_IFNAME
	dcbIEEE    = 13 // DCB_ATTR_IEEE
	dcbPFC     = 2  // DCB_ATTR_IEEE_PFC
)

// dcbMessage is struct dcbmsg.
type dcbMessage struct{ family, command uint8 }

// Len implements nl.NetlinkRequestData.
func (dcbMessage) Len() int { return 4 }

// Serialize implements nl.NetlinkRequestData.
func (m dcbMessage) Serialize() []byte { return []byte{m.family, m.command, 0, 0} }

// pfcOf reads the priorities on which priority flow control is enabled on a network device; nil when unknown.
func pfcOf(network string) *uint8 {
	request := nl.NewNetlinkRequest(unix.RTM_GETDCB, 0)
	request.AddData(dcbMessage{command: dcbIEEEGet})
	request.AddData(nl.NewRtAttr(dcbIfName, nl.ZeroTerminated(network)))
	answers, err := request.Execute(unix.NETLINK_ROUTE, 0)
	if err != nil || len(answers) == 0 {
		return nil
	}
	return parsePFC(answers[0])
}

// parsePFC finds the mask in an answer: struct ieee_pfc is nested twice, and its second byte is the mask.
func parsePFC(answer []byte) *uint8 {
	if len(answer) < 4 {
		return nil
	}
	pfc := attribute(attribute(answer[4:], dcbIEEE), dcbPFC)
	if len(pfc) < 2 {
		return nil
	}
	return &pfc[1]
}

// attribute returns the value of a netlink attribute; nil when it is not there.
func attribute(b []byte, kind uint16) []byte {
	const head, flags = 4, 0xC000
	for len(b) >= head {
		n := int(binary.NativeEndian.Uint16(b))
		if n < head || n > len(b) {
			return nil
		}
		if binary.NativeEndian.Uint16(b[2:])&^flags == kind {
			return b[head:n]
		}
		b = b[min(len(b), (n+3)&^3):]
	}
	return nil
}
