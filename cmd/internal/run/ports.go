package run

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/recording"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
)

// ports reads the counters of the switch; nil without a file of them.
func (o *JudgeOptions) ports() ([]recording.PortCount, error) {
	if o.Ports == "" {
		return nil, nil
	}
	f, err := os.Open(o.Ports)
	if err != nil {
		return nil, &Unreadable{o.Ports, bare(err)}
	}
	defer f.Close()
	list, err := recording.ParsePortCounts(f)
	if err != nil {
		return nil, &Unreadable{o.Ports, err}
	}
	return list, nil
}

// certified appends a certificate that compares the frames in the captures with the counters of the switch's ports.
func certified(c *recording.Capture, ports []recording.PortCount,
	list []certify.Certificate) ([]certify.Certificate, error) {
	if len(ports) == 0 {
		return list, nil
	}
	if c == nil {
		return nil, errors.New("counters are for captures of others; a run of this program has its own certificate")
	}
	all, err := c.Mirror(ports)
	if err != nil {
		return nil, err
	}
	var items []certify.Item
	for _, m := range all {
		how := "complete"
		switch {
		case m.Held < m.Counted:
			how = fmt.Sprintf("%d frames are missing", m.Counted-m.Held)
		case m.Held > m.Counted:
			how = fmt.Sprintf("%d frames are too many, so the counters are of another time, or "+
				"frames are mirrored twice", m.Held-m.Counted)
		}
		items = append(items, certify.Item{Name: "frames in " + m.File, Want: fmt.Sprint(m.Counted),
			Got: fmt.Sprint(m.Held), OK: m.Held == m.Counted,
			Bound:    "exact, by " + strings.Join(m.Ports, " and ") + " of the switch; " + how,
			Property: validity.Capture})
	}
	return append(list, certify.Issue("during", items)), nil
}
