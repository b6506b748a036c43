package store

import (
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// A disk that is full, here a limit on the size of files, leaves nothing half and nothing changed.
func TestFullDisk(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	dir := t.TempDir()
	_, err := Add(dir, sample(1, "a", 3))
	must(t, err)
	before := files(t, dir)
	var old syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4096, Max: old.Max}))
	_, err = Add(dir, sample(2, "a", 300))
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old))
	if err == nil || !strings.Contains(err.Error(), "file too large; nothing was changed") {
		t.Error(err)
	}
	if after := files(t, dir); len(after) != len(before) {
		t.Errorf("%v, then %v", before, after)
	}
}
