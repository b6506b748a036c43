package rciwarp

import (
	"fmt"
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/tcplite"
)

// config is the parsed parameters of the scheme.
type config struct {
	markers, crc bool // this end asks for markers, or for CRCs, when the connection is set up
	mss          int
	congestion   string
	window       int
	retries      int
	minRTO       vtime.Duration
}

// params documents the parameters, sorted by name, with the defaults that parse starts from.
func params() []engine.Param {
	return []engine.Param{
		{Name: "congestion", Default: "reno", Meaning: "congestion control of the kernel's TCP, by its name (reno, " +
			"cubic, bbr); empty is the host's default, reno is what TCP-lite has and every kernel too"},
		{Name: "crc", Default: "on",
			Meaning: "on asks for a CRC32c in every FPDU, off does without; one end that asks is enough"},
		{Name: "markers", Default: "on",
			Meaning: "on asks the peer for a marker in every 512 bytes of the stream, off does without"},
		{Name: "min_rto", Default: "200ms", Meaning: "least retransmission timeout of TCP-lite"},
		{Name: "mss", Default: "1460", Meaning: "bytes of data in a TCP segment at most, with the kernel's TCP less " +
			"its options; an FPDU is no longer"},
		{Name: "retries", Default: "15",
			Meaning: "timeouts of TCP-lite without progress before the connection fails, as Linux counts them"},
		{Name: "rwnd", Default: "4194304", Meaning: "bytes of TCP-lite's receive window, which never shrinks"},
		{Name: engine.TCPParam, Default: engine.AnyTCP, Meaning: "kernel is the TCP of the endpoint's host, lite the " +
			"one of this implementation; auto takes the kernel's where the bench has a kernel"},
	}
}

// parse reads the parameters over their defaults.
func parse(given engine.Params) (config, error) {
	var cfg config
	if err := given.Read("rciwarp", params(), cfg.set); err != nil {
		return config{}, err
	}
	return cfg, nil
}

// leastMSS is large enough for a READ request in one segment, with markers.
const leastMSS = 128

// set gives one parameter its value.
func (c *config) set(name, value string) (err error) {
	switch name {
	case "congestion":
		c.congestion = value
	case "crc":
		c.crc, err = onOff(value)
	case "markers":
		c.markers, err = onOff(value)
	case "min_rto":
		if c.minRTO, err = vtime.ParseDuration(value); err == nil && c.minRTO <= 0 {
			err = fmt.Errorf("%q: want a positive time", value)
		}
	case "mss":
		c.mss, err = within(value, leastMSS, tcplite.MaxMSS)
	case "retries":
		c.retries, err = within(value, 0, tcplite.MaxTries)
	case "rwnd":
		c.window, err = within(value, tcplite.MinWindow, tcplite.MaxWindow)
	case engine.TCPParam:
		if value != engine.AnyTCP && value != engine.KernelTCP && value != engine.LiteTCP {
			err = fmt.Errorf("%q: want auto, kernel or lite", value)
		}
	}
	return err
}

// liteOnly rejects the parameters of TCP-lite, which a run over the kernel's TCP would ignore.
func liteOnly(given engine.Params) error {
	for _, name := range []string{"min_rto", "retries", "rwnd"} {
		if _, ok := given[name]; ok {
			return fmt.Errorf(
				"rciwarp: parameter %s: the kernel's TCP has its own; leave it out, or use tcp=lite", name)
		}
	}
	return nil
}

func onOff(value string) (bool, error) {
	if value != "on" && value != "off" {
		return false, fmt.Errorf("%q: want on or off", value)
	}
	return value == "on", nil
}

func within(value string, low, high int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%q: want %d to %d", value, low, high)
	}
	return n, nil
}
