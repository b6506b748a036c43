package supervise

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
)

// journals is the folder of journals.
var journals = station.Journals

// journal is the file of the changes on a network device that are to be undone. Its lock gives exclusive use of the
// device.
type journal struct{ file *os.File }

// entry is one change.
type entry struct {
	Boot    string `json:"boot"` // boot in which the change was made: no change survives a restart
	Kind    string `json:"kind"` // "address" or "neighbour"
	Address string `json:"address"`
	Before  string `json:"before,omitempty"` // previous address of a neighbour; "" when it had none
}

// openJournal opens and locks the journal of a network device.
func openJournal(network string) (*journal, error) {
	f, err := station.Exclusive(filepath.Join(journals, "gauntlet-"+network+".journal"))
	if err != nil {
		return nil, fmt.Errorf("supervise: %s: %w", network, err)
	}
	return &journal{f}, nil
}

// note appends a change and syncs the file, before the change is made.
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

// entries returns the changes since the kernel started, in order. An incomplete line belongs to a change that was not
// made.
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

// clear removes all changes from the journal.
func (j *journal) clear() error {
	_, err := j.file.Seek(0, io.SeekStart)
	return errors.Join(err, j.file.Truncate(0))
}

// close removes an empty journal, and releases its lock.
func (j *journal) close() error {
	info, err := j.file.Stat()
	if err == nil && info.Size() == 0 {
		err = os.Remove(j.file.Name())
	}
	return errors.Join(err, j.file.Close())
}
