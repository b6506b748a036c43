package station

import (
	"bytes"
	"encoding/binary"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// Commands and numbers of linux/ethtool.h.
const (
	getPause    = 0x12 // ETHTOOL_GPAUSEPARAM
	getStrings  = 0x1B // ETHTOOL_GSTRINGS
	getStats    = 0x1D // ETHTOOL_GSTATS
	getSetInfo  = 0x37 // ETHTOOL_GSSET_INFO
	statStrings = 1    // ETH_SS_STATS
	stringSize  = 32   // ETH_GSTRING_LEN

	// mostStats bounds the counters of a driver, which has some dozens for each of its queues.
	mostStats = 1 << 15

	// spareStats is room for counters that a driver adds between two questions: the kernel writes what it has.
	spareStats = 4096
)

// ethtool gives a structure of linux/ethtool.h to a network device of the calling thread's namespace, which fills it.
func ethtool(network string, data unsafe.Pointer) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var request struct { // struct ifreq with the pointer that SIOCETHTOOL needs
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}
	request.data = data
	copy(request.name[:unix.IFNAMSIZ-1], network)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
	runtime.KeepAlive(data)
	if errno != 0 {
		return errno
	}
	return nil
}

// ReadCounters reads all counters of a port: those of /sys, and those of the driver of its network device that are
// evidence of loss, or that rules read.
func ReadCounters(device string, port int, network string) Counters {
	c := CountersOf(os.DirFS("/sys"), device, port, network)
	for name, n := range driverCounters(network) {
		c[name] = n
	}
	return c
}

// driverCounters asks the driver of a network device for its counters; nil when it has none, or too many.
func driverCounters(network string) Counters {
	order := binary.NativeEndian
	info := make([]byte, 4+4+8+4) // struct ethtool_sset_info with one set
	order.PutUint32(info, getSetInfo)
	order.PutUint64(info[8:], 1<<statStrings)
	if ethtool(network, unsafe.Pointer(&info[0])) != nil {
		return nil
	}
	n := order.Uint32(info[16:])
	if n == 0 || n > mostStats {
		return nil
	}
	const headStrings, headStats = 12, 8 // struct ethtool_gstrings, struct ethtool_stats
	texts := make([]byte, headStrings+(n+spareStats)*stringSize)
	order.PutUint32(texts, getStrings)
	order.PutUint32(texts[4:], statStrings)
	order.PutUint32(texts[8:], n)
	values := make([]byte, headStats+(n+spareStats)*8)
	order.PutUint32(values, getStats)
	order.PutUint32(values[4:], n)
	if ethtool(network, unsafe.Pointer(&texts[0])) != nil || ethtool(network, unsafe.Pointer(&values[0])) != nil ||
		order.Uint32(texts[8:]) != n || order.Uint32(values[4:]) != n {
		return nil // the queues have changed in between
	}
	return parseStats(texts[headStrings:], values[headStats:], int(n))
}

// parseStats pairs n names, of stringSize bytes each, with n numbers, and keeps those that are evidence. It stops where
// either ends.
func parseStats(texts, values []byte, n int) Counters {
	c := Counters{}
	for range n {
		if len(texts) < stringSize || len(values) < 8 {
			break
		}
		name, _, _ := bytes.Cut(texts[:stringSize], []byte{0})
		full := "ethtool/" + quote.Line(string(name), quote.Name)
		if told[full] || isLost(full) {
			c[full] = binary.NativeEndian.Uint64(values)
		}
		texts, values = texts[stringSize:], values[8:]
	}
	return c
}
