package lab

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/u-root/u-root/pkg/cpio"
	"github.com/u-root/u-root/pkg/ldd"
)

// initramfs collects the file system that a guest begins with. Its bytes depend on the contents of the files and
// nothing else: no times, no owners, in the order of the names.
type initramfs struct {
	records map[string]cpio.Record // by name, without the leading slash
}

func newInitramfs() *initramfs { return &initramfs{records: map[string]cpio.Record{}} }

// add puts a file at an absolute path, with the folders above it.
func (r *initramfs) add(path string, content []byte, mode fs.FileMode) {
	r.folder(filepath.Dir(path))
	name := strings.TrimPrefix(path, "/")
	r.records[name] = cpio.StaticFile(name, string(content), uint64(mode.Perm()))
}

// folder adds a folder and its parents.
func (r *initramfs) folder(path string) {
	for ; path != "/" && path != "."; path = filepath.Dir(path) {
		name := strings.TrimPrefix(path, "/")
		r.records[name] = cpio.Directory(name, 0o755)
	}
}

// program adds an executable at a path, and the libraries that it is linked with at their paths on the host.
func (r *initramfs) program(at, path string) error {
	libraries, err := ldd.List(path)
	if err != nil {
		return fmt.Errorf("lab: libraries of %s: %w", path, err)
	}
	for _, l := range libraries {
		if err := r.copy(l, l); err != nil {
			return err
		}
	}
	return r.copy(at, path)
}

// script adds the interpreter of an executable script, if this machine has it.
func (r *initramfs) script(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&0o111 == 0 || !info.Mode().IsRegular() {
		return nil //nolint:nilerr // missing files are reported by copy; others are no programs
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	defer f.Close()
	head := make([]byte, maxShebang)
	n, _ := io.ReadFull(f, head) // most files are shorter, or no scripts
	first, _, _ := strings.Cut(string(head[:n]), "\n")
	words := strings.Fields(strings.TrimPrefix(first, "#!"))
	if !strings.HasPrefix(first, "#!") || len(words) == 0 {
		return nil
	}
	if _, err := os.Stat(words[0]); err != nil {
		return nil //nolint:nilerr // the script does not run on the host either
	}
	return r.bring(words[0])
}

// maxShebang is the length of the part of a script's first line that the kernel reads.
const maxShebang = 256

// copy adds the content of a file of the host. A symbolic link is replaced by its target.
func (r *initramfs) copy(at, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	r.add(at, content, info.Mode())
	return nil
}

// bring adds an item that the user named: a program by name, or a file or folder by path, at its path on the host. It
// also adds the libraries of programs and libraries, and the interpreters of scripts.
func (r *initramfs) bring(what string) error {
	root := what
	if !strings.Contains(what, "/") {
		var err error
		if root, err = exec.LookPath(what); err != nil {
			return fmt.Errorf("lab: program %s: not found; install it, or give a path", what)
		}
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return fmt.Errorf("lab: %s: %w", what, err)
	}
	if resolved, err := filepath.EvalSymlinks(root); err == nil && root != resolved {
		if err := r.bring(resolved); err != nil { // WalkDir does not follow a link
			return err
		}
		if info, err := os.Stat(root); err == nil && info.IsDir() {
			return nil
		}
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("lab: %w", err)
		case d.IsDir():
			r.folder(path)
			return nil
		}
		if err := r.script(path); err != nil {
			return err
		}
		return r.program(path, path)
	})
}

// modules adds modules in the order in which they are to be loaded, and returns their paths.
func (r *initramfs) modules(list []module) []string {
	var paths []string
	for _, m := range list {
		path := filepath.Join(modulesDir, m.name+".ko")
		r.add(path, m.file, 0o644)
		paths = append(paths, path)
	}
	return paths
}

// order adds the Order.
func (r *initramfs) order(o *Order) error {
	raw, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	r.add(orderPath, raw, 0o644)
	return nil
}

// write writes the archive, uncompressed: emulated processors take longer to inflate than to copy.
func (r *initramfs) write(w io.Writer) error {
	for _, dir := range []string{"/dev", "/proc", "/sys", "/tmp", "/run"} {
		r.folder(dir)
	}
	r.records["dev/console"] = cpio.CharDev("dev/console", 0o600, 5, 1) // otherwise the first process has no output
	records := make([]cpio.Record, 0, len(r.records))
	for _, rec := range r.records {
		records = append(records, rec)
	}
	// folders before their files
	slices.SortFunc(records, func(a, b cpio.Record) int { return cmp.Compare(a.Name, b.Name) })
	out := cpio.Newc.Writer(w)
	err := cpio.WriteRecords(out, records)
	if err == nil {
		err = cpio.WriteTrailer(out)
	}
	if err != nil {
		return fmt.Errorf("lab: initramfs: %w", err)
	}
	return nil
}
