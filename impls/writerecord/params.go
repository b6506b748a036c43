package writerecord

import (
	"fmt"
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// config is the parsed parameters of the scheme.
type config struct {
	segment    int // payload bytes of a segment
	linkMTU    int
	log        int // limit of the messages of a host
	reassembly vtime.Duration
	record     vtime.Duration
	aggregate  bool
}

func params() []engine.Param {
	return []engine.Param{
		{Name: "link_mtu", Default: "1500",
			Meaning: "longest IP packet of the link in bytes, 576 to 9000; longer datagrams are sent in fragments"},
		{Name: "log", Default: "65536",
			Meaning: "messages that an endpoint remembers at most, received and recorded ones together, 16 to 1048576"},
		{Name: "map", Default: "chunks",
			Meaning: "how a Write-Record is declared: chunks is one completion for each chunk, aggregate " +
				"one with a map of all"},
		{Name: "segment", Default: "65000",
			Meaning: "payload bytes of a segment, 64 to 65473"},
		{Name: "t_reasm", Default: "100ms",
			Meaning: "how long a SEND may take to arrive, from its first segment"},
		{Name: "t_rec", Default: "100ms",
			Meaning: "how long the log of a Write-Record is kept, from its first segment"},
	}
}

// longestSegment is the payload of a segment that fills a datagram; longestTime bounds the timers.
const (
	longestSegment = iwarp.MaxDatagram - iwarp.TaggedLen - iwarp.RecordLen - iwarp.CRCLen
	longestTime    = 100 * vtime.Second
)

// parse reads the parameters over their defaults.
func parse(given engine.Params) (config, error) {
	var cfg config
	if err := given.Read("writerecord", params(), cfg.set); err != nil {
		return config{}, err
	}
	return cfg, nil
}

// set gives one parameter its value.
func (c *config) set(name, value string) (err error) {
	switch name {
	case "link_mtu":
		c.linkMTU, err = whole(value, 576, 9000)
	case "log":
		c.log, err = whole(value, 16, 1<<20)
	case "segment":
		c.segment, err = whole(value, 64, longestSegment)
	case "t_reasm":
		c.reassembly, err = duration(value)
	case "t_rec":
		c.record, err = duration(value)
	case "map":
		c.aggregate = value == "aggregate"
		if !c.aggregate && value != "chunks" {
			err = fmt.Errorf("%q: want chunks or aggregate", value)
		}
	}
	return err
}

// whole reads a number within bounds.
func whole(value string, least, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q: want a number from %d to %d", value, least, most)
	}
	return n, nil
}

// duration reads a positive time up to longestTime.
func duration(value string) (vtime.Duration, error) {
	d, err := vtime.ParseDuration(value)
	if err != nil || d <= 0 || d > longestTime {
		return 0, fmt.Errorf("%q: want a time such as 100ms, up to 100s", value)
	}
	return d, nil
}
