package topology

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Commands of linux/ethtool.h.
const (
	ethtoolGetLink       = 0x0A // ETHTOOL_GLINK
	ethtoolSetTxChecksum = 0x17 // ETHTOOL_STXCSUM
)

// ethtoolValue is struct ethtool_value.
type ethtoolValue struct{ command, data uint32 }

// ethtoolRequest is struct ifreq with the pointer that SIOCETHTOOL needs, padded to the size of the union.
type ethtoolRequest struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [16]byte
}

// ethtool sets or gets one number of a device in the calling thread's namespace.
func ethtool(device string, command, data uint32) (uint32, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	value := &ethtoolValue{command: command, data: data}
	request := &ethtoolRequest{data: unsafe.Pointer(value)}
	copy(request.name[:unix.IFNAMSIZ-1], device)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(request)))
	runtime.KeepAlive(value)
	if errno != 0 {
		return 0, errno
	}
	return value.data, nil
}

// checksumInSoftware makes a device send complete checksums. By default a veth passes only the sum of the pseudo-header
// to its peer; a relay that copies such a frame would send a wrong checksum.
func checksumInSoftware(device string) error {
	if _, err := ethtool(device, ethtoolSetTxChecksum, 0); err != nil {
		return fmt.Errorf("netns: switch checksum offload of %s off: %w", device, err)
	}
	return nil
}

// settle makes the kernel react at once to a carrier that has just appeared. It would otherwise take up to a second, in
// which a bridge port is disabled and the device drops frames; a request for the link state forces the reaction.
func settle(device string) error {
	up, err := ethtool(device, ethtoolGetLink, 0)
	if err == nil && up == 0 {
		err = unix.ENETDOWN
	}
	if err != nil {
		return fmt.Errorf("netns: carrier of %s: %w", device, err)
	}
	return nil
}
