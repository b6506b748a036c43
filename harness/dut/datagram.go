package dut

import (
	"fmt"
	"strconv"
	"strings"
)

// udPingpong is the server of ibv_ud_pingpong of libibverbs: it answers each datagram that it receives by one. Its
// exchange is that of ibv_rc_pingpong.
type udPingpong struct{ pingpong }

// datagramKey is the Q_Key of the tool's QP, and datagramLen the length of its answers in bytes, which fits the
// smallest MTU of soft-RoCE.
const (
	datagramKey = 0x11111111
	datagramLen = 256
)

// args implements kind.
func (udPingpong) args(t *Tool, at Setting) []string {
	return []string{"-e", "-d", at.Device, "-g", strconv.Itoa(at.GID), "-p", strconv.Itoa(at.Port),
		"-s", strconv.FormatInt(int64(t.Message), 10), "-n", strconv.Itoa(t.Count)}
}

// Datagrams reports whether the tool has a QP for datagrams instead of a connection.
func (t *Tool) Datagrams() bool {
	_, ok := t.kind.(udPingpong)
	return ok
}

// InfoProgram is the stock program that prints the counters of a device's port.
const InfoProgram = "ibv_devinfo"

// InfoArgs returns the arguments with which InfoProgram prints all properties of a device.
func InfoArgs(device string) []string { return []string{"-v", "-d", device} }

// QKeyViolations returns the port's count of datagrams with a wrong Q_Key, read from the output of InfoProgram.
func QKeyViolations(info string) (n int64, err error) {
	const name = "qkey_viol_cntr:"
	_, rest, found := strings.Cut(info, name)
	if _, err := fmt.Sscan(rest, &n); !found || err != nil {
		return 0, fmt.Errorf("dut: %s tells no %q", InfoProgram, name)
	}
	return n, nil
}
