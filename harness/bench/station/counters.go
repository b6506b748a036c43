package station

import (
	"io/fs"
	"path"
	"strconv"
)

// Counters are what a host counts at the port of a device, by who counts and the name: "hw/out_of_sequence",
// "port/port_rcv_packets", "net/rx_packets".
type Counters map[string]uint64

// lifespan is how long the kernel believes what it has read of the others, in milliseconds.
const lifespan = "lifespan"

// CountersOf reads all that /sys tells. Sys is /sys.
func CountersOf(sys fs.FS, device string, port int, network string) Counters {
	c := Counters{}
	at := path.Join(class, device, "ports", strconv.Itoa(port))
	for prefix, dir := range map[string]string{"hw/": path.Join(at, "hw_counters"), "port/": path.Join(at, "counters"),
		"net/": path.Join("class/net", network, "statistics")} {
		list, err := fs.ReadDir(sys, dir)
		if err != nil {
			continue // it has none of that kind
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
