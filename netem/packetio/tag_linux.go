package packetio

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel removes the VLAN tag from a frame that it receives and passes it separately. It is inserted again, because
// a frame is the bytes that were on the device.
const (
	tagLen = 4
	tagAt  = 12 // after the addresses
)

// tagged inserts the VLAN tag of a frame, if the control messages hold one. The buffer has room for it after the frame.
func tagged(frame, control []byte) []byte {
	data, ok := find(control, unix.SOL_PACKET, unix.PACKET_AUXDATA)
	if !ok || len(data) < int(unsafe.Sizeof(unix.TpacketAuxdata{})) || len(frame) < tagAt {
		return frame
	}
	aux := (*unix.TpacketAuxdata)(unsafe.Pointer(&data[0]))
	if aux.Status&unix.TP_STATUS_VLAN_VALID == 0 {
		return frame
	}
	kind := uint16(unix.ETH_P_8021Q)
	if aux.Status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
		kind = aux.Vlan_tpid
	}
	n := len(frame)
	frame = frame[:n+tagLen]
	copy(frame[tagAt+tagLen:], frame[tagAt:n])
	binary.BigEndian.PutUint16(frame[tagAt:], kind)
	binary.BigEndian.PutUint16(frame[tagAt+2:], aux.Vlan_tci)
	return frame
}

// find returns the data of the first control message of a kind.
func find(control []byte, level, kind int32) ([]byte, bool) {
	const header = unix.SizeofCmsghdr
	for len(control) >= header {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
		size := int(h.Len)
		if size < header || size > len(control) {
			return nil, false
		}
		if h.Level == level && h.Type == kind {
			return control[header:size], true
		}
		control = control[min(unix.CmsgSpace(size-header), len(control)):]
	}
	return nil, false
}
