package lab

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// pack writes the files and folders at the paths as a tar archive under their absolute names. A missing path is left
// out: a command that failed early has not made all its files.
func pack(w io.Writer, paths []string) error {
	out := tar.NewWriter(w)
	for _, root := range paths {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) && path == root {
				return nil
			}
			if err != nil || !d.IsDir() && !d.Type().IsRegular() {
				return err
			}
			return packOne(out, path, d)
		})
		if err != nil {
			return fmt.Errorf("lab: pack results: %w", err)
		}
	}
	return out.Close()
}

func packOne(out *tar.Writer, path string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	head, err := tar.FileInfoHeader(info, "")
	if err != nil {
		return err
	}
	head.Name = path
	if err := out.WriteHeader(head); err != nil || d.IsDir() {
		return err
	}
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(out, in)
	return err
}

// unpack writes the files of an archive to the same absolute paths on this side. A file that is not at or below one of
// the paths was not requested and is rejected: the guest may have run any program.
func unpack(r io.Reader, paths []string) error {
	in := tar.NewReader(r)
	for {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, r) // the padding of the archive, so that its writer does not block
			return err
		}
		if err != nil {
			return fmt.Errorf("lab: unpack results: %w", err)
		}
		path := filepath.Clean(head.Name)
		if !below(path, paths) {
			return fmt.Errorf("lab: the guest sent %s, which is not an output; outputs are %s", path,
				strings.Join(paths, ", "))
		}
		if err := unpackOne(in, head, path); err != nil {
			return fmt.Errorf("lab: unpack results: %w", err)
		}
	}
}

func unpackOne(in io.Reader, head *tar.Header, path string) error {
	if head.Typeflag == tar.TypeDir {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, head.FileInfo().Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// below reports whether a cleaned path is one of the roots or inside one.
func below(path string, roots []string) bool {
	for _, root := range roots {
		if path == root || strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/") {
			return true
		}
	}
	return false
}
