package lab

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// module is a kernel module in the form in which it is loaded: its name, and its uncompressed file.
type module struct {
	name string
	file []byte
}

// moduleTree finds the modules of one kernel. It reads their dependencies from the modules themselves: depmod writes
// modules.dep when a kernel is installed, and this kernel is not installed.
type moduleTree struct {
	release string
	paths   map[string]string // by name
	builtin map[string]bool   // modules in the image, which need not be loaded
	order   []module
	placed  map[string]bool
}

// loadOrder returns the modules of that name, and those they depend on, in an order in which they can be loaded.
func loadOrder(k *Kernel, names []string) ([]module, error) {
	t := &moduleTree{release: k.Release, paths: map[string]string{}, builtin: map[string]bool{},
		placed: map[string]bool{}}
	if err := t.scan(k.Modules); err != nil {
		return nil, fmt.Errorf("lab: modules of %s: %w", k, err)
	}
	for _, name := range names {
		if err := t.place(canonical(name)); err != nil {
			return nil, err
		}
	}
	return t.order, nil
}

// canonical returns the kernel's spelling of a module's name; the name of the file may have either.
func canonical(name string) string { return strings.ReplaceAll(name, "-", "_") }

// scan lists the module files below the folder, and the modules that are built into the image.
func (t *moduleTree) scan(dir string) error {
	list, err := os.ReadFile(filepath.Join(dir, "modules.builtin"))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(list)) {
		name, _, _ := strings.Cut(filepath.Base(strings.TrimSpace(line)), ".ko")
		t.builtin[canonical(name)] = true
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if name, _, ok := strings.Cut(filepath.Base(path), ".ko"); ok {
			t.paths[canonical(name)] = path
		}
		return err
	})
}

// place appends a module to the order, after those that it needs.
func (t *moduleTree) place(name string) error {
	if t.placed[name] || t.builtin[name] {
		return nil
	}
	t.placed[name] = true // now, so that a circle ends
	path, ok := t.paths[name]
	if !ok {
		return fmt.Errorf("lab: kernel %s has no module %s; take another kernel", t.release, name)
	}
	file, err := readModule(path)
	if err != nil {
		return fmt.Errorf("lab: module %s: %w", name, err)
	}
	needs, err := dependencies(file)
	if err != nil {
		return fmt.Errorf("lab: module %s: %w", path, err)
	}
	for _, n := range needs {
		if err := t.place(n); err != nil {
			return err
		}
	}
	t.order = append(t.order, module{name, file})
	return nil
}

// readModule returns the file of a module. Some distributions compress them, with tools that they therefore have.
func readModule(path string) ([]byte, error) {
	tool, ok := map[string]string{".xz": "xz", ".zst": "zstd", ".gz": "gzip"}[filepath.Ext(path)]
	if !ok {
		return os.ReadFile(path)
	}
	out, err := exec.Command(tool, "-dc", path).Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w; install %s", path, err, tool)
	}
	return out, nil
}

// dependencies reads the names that a module gives in its section .modinfo, "depends=a,b".
func dependencies(file []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	section := f.Section(".modinfo")
	if section == nil {
		return nil, fmt.Errorf("no section .modinfo, so it is no kernel module")
	}
	info, err := section.Data()
	if err != nil {
		return nil, err
	}
	var names []string
	for field := range strings.SplitSeq(string(info), "\x00") {
		if list, ok := strings.CutPrefix(field, "depends="); ok && list != "" {
			names = append(names, strings.Split(canonical(list), ",")...)
		}
	}
	return names, nil
}
