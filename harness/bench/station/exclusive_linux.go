package station

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Journals is the folder of files that tell how a setting of a port was, which a restart of the machine empties. It
// undoes the settings as well.
const Journals = "/run"

// Exclusive opens a file of Journals, made if it does not exist, and locks it until it is closed: whoever has the lock
// may change the port that the file is about. An error names the file.
func Exclusive(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, fmt.Errorf("journal: %w", err)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("another run uses it (%s is locked: %w)", path, err)
		}
		// Its previous owner may have removed the file after it was opened here.
		mine, err := f.Stat()
		if there, statErr := os.Stat(path); err == nil && statErr == nil && os.SameFile(mine, there) {
			return f, nil
		}
		_ = f.Close()
	}
}
