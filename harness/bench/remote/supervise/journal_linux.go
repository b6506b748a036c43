package supervise

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
)

// journals is where journals are: gone with the settings themselves when the host starts anew.
var journals = "/run"

// journal is the file of what was changed on a network device and is to be undone. Who has it locked has the device.
type journal struct{ file *os.File }

// entry is one change.
type entry struct {
	Boot    string `json:"boot"` // in which it was made: no setting outlives it
	Kind    string `json:"kind"` // "address" or "neighbour"
	Address string `json:"address"`
	Before  string `json:"before,omitempty"` // a neighbour's, where it had one
}

// openJournal opens and locks the journal of a network device.
func openJournal(network string) (*journal, error) {
	path := filepath.Join(journals, "gauntlet-"+network+".journal")
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, fmt.Errorf("supervise: journal: %w", err)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("supervise: %s is in use by another run (%s is locked: %w)", network, path, err)
		}
		// Whoever had it before may have removed it since it was opened here.
		mine, err := f.Stat()
		if there, statErr := os.Stat(path); err == nil && statErr == nil && os.SameFile(mine, there) {
			return &journal{f}, nil
		}
		_ = f.Close()
	}
}

// note adds a change, for good before it is made.
func (j *journal) note(e *entry) error {
	e.Boot = station.Boot()
	b, err := json.Marshal(e)
	if err == nil {
		_, err = j.file.Write(append(b, '\n'))
	}
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("supervise: journal: %w; free some space in %s", err, journals)
	}
	return nil
}

// entries are the changes since the kernel was started, in order. A line that was not finished is of a change that was
// not made.
func (j *journal) entries() (list []entry, err error) {
	if _, err = j.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	boot := station.Boot()
	for in := bufio.NewScanner(j.file); in.Scan(); {
		var e entry
		if json.Unmarshal(in.Bytes(), &e) == nil && e.Boot == boot {
			list = append(list, e)
		}
	}
	_, err = j.file.Seek(0, io.SeekEnd)
	return list, err
}

// clear forgets all changes.
func (j *journal) clear() error {
	_, err := j.file.Seek(0, io.SeekStart)
	return errors.Join(err, j.file.Truncate(0))
}

// close removes a journal in which nothing is left, and lets it go.
func (j *journal) close() error {
	info, err := j.file.Stat()
	if err == nil && info.Size() == 0 {
		err = os.Remove(j.file.Name())
	}
	return errors.Join(err, j.file.Close())
}
