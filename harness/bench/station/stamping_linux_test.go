package station

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// nic is the setting of a network card.
type nic struct {
	now  unix.HwTstampConfig
	fail error
}

func (n *nic) stamping(journal string) *stamping {
	return &stamping{network: "ens1", journal: journal,
		get: func() (*unix.HwTstampConfig, error) { c := n.now; return &c, n.fail },
		set: func(c *unix.HwTstampConfig) error {
			if n.fail == nil {
				n.now = *c
			}
			return n.fail
		}}
}

// The setting is restored, also that of a run which was killed, and no file is left. A restart of the machine has
// undone what an older file tells.
func TestStampAll(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "ens1.stamps")
	of := unix.HwTstampConfig{Tx_type: 1, Rx_filter: unix.HWTSTAMP_FILTER_PTP_V2_EVENT} // as ptp4l wants it
	n := &nic{now: of}
	for _, what := range []string{"at first", "after a run that was killed", "after a restart", "after half a line"} {
		switch what {
		case "after a run that was killed":
			text := `{"boot":"` + Boot() + `","before":{"Tx_type":1,"Rx_filter":12}}`
			if err := os.WriteFile(journal, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			n.now.Rx_filter = unix.HWTSTAMP_FILTER_ALL
		case "after a restart":
			if err := os.WriteFile(journal, []byte(`{"boot":"x","before":{"Tx_type":0,"Rx_filter":0}}`), 0o600); err != nil {
				t.Fatal(err)
			}
		case "after half a line":
			if err := os.WriteFile(journal, []byte(`{"boot":"`), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		release, err := n.stamping(journal).all()
		if err != nil || n.now.Rx_filter != unix.HWTSTAMP_FILTER_ALL || n.now.Tx_type != 1 {
			t.Fatalf("%s: %+v, %v", what, n.now, err)
		}
		if _, err := n.stamping(journal).all(); err == nil || !strings.Contains(err.Error(), "another run uses it") {
			t.Errorf("%s: twice at once: %v", what, err)
		}
		if err := release(); err != nil || n.now != of {
			t.Errorf("%s: %+v, %v; want %+v", what, n.now, err, of)
		}
		if _, err := os.Stat(journal); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the journal is left: %v", what, err)
		}
	}
}

// A device that refuses is told, and nothing of it is left.
func TestStampsRefused(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "ens1.stamps")
	if _, err := (&nic{fail: unix.EOPNOTSUPP}).stamping(journal).all(); !errors.Is(err, unix.EOPNOTSUPP) {
		t.Error(err)
	}
	if _, err := os.Stat(journal); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the journal is left: %v", err)
	}
}
