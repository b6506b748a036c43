package station

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// stamping is the setting of a network device by which its hardware gives stamps to frames, and the file that says what
// it was before.
type stamping struct {
	network string
	journal string
	get     func() (*unix.HwTstampConfig, error)
	set     func(*unix.HwTstampConfig) error
}

// noted is the content of the file.
type noted struct {
	Boot   string              `json:"boot"` // the boot in which it was written: a restart undoes the setting
	Before unix.HwTstampConfig `json:"before"`
}

// StampAll has the hardware of a network device of this machine stamp every frame that it receives. Release restores
// the setting; if this program is killed, the next StampAll on the device does it when it is released.
func StampAll(network string) (release func() error, err error) {
	with := func(f func(fd int) error) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return f(fd)
	}
	s := &stamping{network: network, journal: filepath.Join(Journals, "gauntlet-"+network+".stamps"),
		get: func() (c *unix.HwTstampConfig, err error) {
			err = with(func(fd int) error { c, err = unix.IoctlGetHwTstamp(fd, network); return err })
			return c, err
		},
		set: func(c *unix.HwTstampConfig) error {
			return with(func(fd int) error { return unix.IoctlSetHwTstamp(fd, network, c) })
		}}
	return s.all()
}

// all sets it, with the earlier setting in the journal before. The lock on the journal gives exclusive use.
func (s *stamping) all() (release func() error, err error) {
	f, err := Exclusive(s.journal)
	if err != nil {
		return nil, fmt.Errorf("station: time stamps of %s: %w", s.network, err)
	}
	before, err := s.before(f)
	if err == nil {
		err = s.set(&unix.HwTstampConfig{Tx_type: before.Tx_type, Rx_filter: unix.HWTSTAMP_FILTER_ALL})
	}
	release = func() error {
		err := s.set(before)
		if err == nil {
			err = os.Remove(s.journal)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("station: restore the time stamps of %s: %w", s.network, err)
		}
		return nil
	}
	switch {
	case err != nil && before == nil:
		return nil, errors.Join(fmt.Errorf("station: time stamps of %s by its hardware: %w", s.network, err), f.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("station: time stamps of %s by its hardware: %w", s.network, err), release())
	}
	return release, nil
}

// before returns the setting to restore: that of the journal if a program was killed, else the present one, which is
// then in the journal.
func (s *stamping) before(f *os.File) (*unix.HwTstampConfig, error) {
	var n noted
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(text, &n) == nil && n.Boot == Boot() {
		return &n.Before, nil
	}
	now, err := s.get()
	if err != nil {
		return nil, errors.Join(err, os.Remove(s.journal))
	}
	if text, err = json.Marshal(noted{Boot(), *now}); err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(append(text, '\n'), 0)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w; free some space in %s", err, filepath.Dir(s.journal))
	}
	return now, nil
}
