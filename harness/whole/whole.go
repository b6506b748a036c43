// Package whole writes files atomically.
package whole

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces the content of a file, or creates it, atomically: a reader sees the old content or the new one, also
// when the disk is full or the machine stops. The folder must exist. The error does not name the file, because the
// cause is another name in the same folder.
func Write(path string, content []byte, mode fs.FileMode) error {
	return write(path, content, mode, (*os.File).Sync)
}

// Replace is Write for files that can be made again: it waits for no disk, so a machine that stops may leave one empty.
func Replace(path string, content []byte, mode fs.FileMode) error {
	return write(path, content, mode, func(*os.File) error { return nil })
}

func write(path string, content []byte, mode fs.FileMode, sync func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return bare(err)
	}
	_, err = f.Write(content)
	err = cmp.Or(err, f.Chmod(mode), sync(f))
	if err = cmp.Or(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // a hidden file that remains does no harm
	}
	return bare(err)
}

// bare removes the names of files from an error.
func bare(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}
