package station

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"time"
)

// class is the folder of the kernel's RDMA devices, below /sys.
const class = "class/infiniband"

// RoCEv2 is the kernel's name for the type of a GID whose packets are RoCEv2.
const RoCEv2 = "RoCE v2"

// GID is an entry of the table of a port that is in use.
type GID struct {
	Index   int        `json:"index"`
	Type    string     `json:"type"` // "RoCE v2", "IB/RoCE v1"
	Address netip.Addr `json:"address"`
	Network string     `json:"network"` // the network device that has the address
}

// GIDs lists the entries of a port that are in use, by index. Sys is /sys.
func GIDs(sys fs.FS, device string, port int) (list []GID, err error) {
	at := path.Join(class, device, "ports", strconv.Itoa(port))
	if _, err := fs.Stat(sys, at); err != nil {
		return nil, fmt.Errorf("station: no port %d of RDMA device %s", port, device)
	}
	all, err := fs.ReadDir(sys, path.Join(at, "gids"))
	if err != nil {
		return nil, fmt.Errorf("station: GIDs of %s: %w", device, err)
	}
	for i := range all {
		index := strconv.Itoa(i)
		a, ok := parseGID(line(sys, path.Join(at, "gids", index)))
		if !ok {
			continue
		}
		list = append(list, GID{Index: i, Address: a, Type: line(sys, path.Join(at, "gid_attrs/types", index)),
			Network: line(sys, path.Join(at, "gid_attrs/ndevs", index))})
	}
	return list, nil
}

// FindGID returns the index of the GID of RoCEv2 that has an address.
func FindGID(sys fs.FS, device string, port int, a netip.Addr) (int, error) {
	list, err := GIDs(sys, device, port)
	if err != nil {
		return 0, err
	}
	for _, g := range list {
		if g.Address == a && g.Type == RoCEv2 {
			return g.Index, nil
		}
	}
	return 0, fmt.Errorf("station: device %s has no GID of %s", device, a)
}

// AwaitGID is FindGID with a time limit: a GID appears a little after its address.
func AwaitGID(sys fs.FS, device string, port int, a netip.Addr, patience time.Duration) (int, error) {
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		gid, err := FindGID(sys, device, port, a)
		if err == nil || time.Now().After(deadline) {
			return gid, err
		}
	}
}

// parseGID parses the kernel's form, eight groups of four digits. A GID of zeros is not in use.
func parseGID(text string) (a netip.Addr, ok bool) {
	raw, err := hex.DecodeString(strings.ReplaceAll(text, ":", ""))
	if err != nil || len(raw) != 16 {
		return a, false
	}
	a = netip.AddrFrom16([16]byte(raw)).Unmap()
	return a, !a.IsUnspecified()
}
