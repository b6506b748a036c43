package station

import (
	"io/fs"
	"path"
	"strconv"
)

// Counters are a host's counters for the port of a device, by source and name: "hw/out_of_sequence",
// "port/port_rcv_packets", "net/rx_packets".
type Counters map[string]uint64

// lifespan is the name of the file with the time, in milliseconds, for which the kernel caches the other counters.
const lifespan = "lifespan"

// CountersOf reads all counters in /sys, which sys is.
func CountersOf(sys fs.FS, device string, port int, network string) Counters {
	c := Counters{}
	at := path.Join(class, device, "ports", strconv.Itoa(port))
	for prefix, dir := range map[string]string{"hw/": path.Join(at, "hw_counters"), "port/": path.Join(at, "counters"),
		"net/": path.Join("class/net", network, "statistics")} {
		list, err := fs.ReadDir(sys, dir)
		if err != nil {
			continue // the device has none of this kind
		}
		for _, e := range list {
			if e.Name() == lifespan {
				continue
			}
			if n, err := strconv.ParseUint(line(sys, path.Join(dir, e.Name())), 10, 64); err == nil {
				c[prefix+e.Name()] = n
			}
		}
	}
	return c
}
