package lab

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fetched returns the latest kernel that was downloaded to this machine.
func fetched(t *testing.T) *Kernel {
	t.Helper()
	k, err := Latest()
	if err != nil {
		t.Skip(err)
	}
	return k
}

func TestLoadOrder(t *testing.T) {
	list, err := loadOrder(fetched(t), []string{"rdma_rxe", "crc32-generic", "sch_netem", "sch_netem"})
	must(t, err)
	at := map[string]int{}
	for i, m := range list {
		if _, twice := at[m.name]; twice {
			t.Errorf("%s twice", m.name)
		}
		at[m.name] = i
		needs, err := dependencies(m.file)
		must(t, err)
		for _, n := range needs {
			if _, before := at[n]; !before {
				t.Errorf("%s comes before %s, which it needs", m.name, n)
			}
		}
	}
	for _, n := range []string{"rdma_rxe", "ib_core", "sch_netem", "crc32_generic"} {
		if _, ok := at[n]; !ok {
			t.Errorf("no %s in %v", n, at)
		}
	}
}

func TestUnknownModule(t *testing.T) {
	if _, err := loadOrder(fetched(t), []string{"no_such"}); err == nil || !strings.Contains(err.Error(),
		"has no module no_such") {
		t.Error(err)
	}
}

// A kernel of the user is an image and the folder of its modules. Mistakes in them are reported before anything boots.
func TestOwnKernel(t *testing.T) {
	dir := t.TempDir()
	image, modules := filepath.Join(dir, "vmlinuz"), filepath.Join(dir, "6.6.6")
	if _, err := Own(image, modules); err == nil || !strings.Contains(err.Error(), "vmlinuz") {
		t.Error(err)
	}
	must(t, os.WriteFile(image, []byte("k"), 0o644))
	if _, err := Own(image, modules); err == nil || !strings.Contains(err.Error(), `no folder "kernel"`) {
		t.Error(err)
	}
	must(t, os.MkdirAll(filepath.Join(modules, "kernel"), 0o755))
	k, err := Own(image, modules)
	must(t, err)
	if k.Release != "6.6.6" || k.SHA256 != "8254c329a92850f6d539dd376f4816ee2764517da5e0235514af433164480d7a" ||
		k.String() != "6.6.6 (own)" {
		t.Errorf("%+v", k)
	}
	must(t,
		os.WriteFile(filepath.Join(modules, "modules.builtin"), []byte("kernel/drivers/virtio/virtio-pci.ko\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(modules, "kernel", "text.ko"), []byte("not a module"), 0o644))
	if list, err := loadOrder(k, []string{"virtio_pci"}); err != nil || len(list) > 0 {
		t.Error("a built-in module is loaded", list, err)
	}
	if _, err := loadOrder(k, []string{"text"}); err == nil || !strings.Contains(err.Error(), "text.ko") {
		t.Error(err)
	}
}

// The latest downloaded kernel is the first, and a folder without its record is no kernel.
func TestFetchedOrder(t *testing.T) {
	cache := t.TempDir()
	for _, name := range []string{"old", "new", "cut short"} {
		must(t, os.Mkdir(filepath.Join(cache, name), 0o755))
	}
	must(t, os.WriteFile(filepath.Join(cache, "new", record), []byte(`{"package":"new"}`), 0o644))
	must(t, os.WriteFile(filepath.Join(cache, "old", record), []byte(`{"package":"old"}`), 0o644))
	info, err := os.Stat(filepath.Join(cache, "new", record))
	must(t, err)
	before := info.ModTime().Add(-1)
	must(t, os.Chtimes(filepath.Join(cache, "old", record), before, before))
	kernels, err := Fetched(cache)
	must(t, err)
	var names []string
	for _, k := range kernels {
		names = append(names, k.Package)
	}
	if !slices.Equal(names, []string{"new", "old"}) {
		t.Error(names)
	}
}

// Compressed modules are read with the tools that distributions compress them with.
func TestCompressedModules(t *testing.T) {
	for tool, suffix := range map[string]string{"gzip": ".gz", "xz": ".xz", "zstd": ".zst"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Logf("%s is not installed, so %s is not tried", tool, suffix)
			continue
		}
		path := filepath.Join(t.TempDir(), "m.ko")
		must(t, os.WriteFile(path, []byte("module"), 0o644))
		must(t, exec.Command(tool, path).Run())
		if got, err := readModule(path + suffix); err != nil || string(got) != "module" {
			t.Errorf("%s: %q %v", suffix, got, err)
		}
		must(t, os.WriteFile(path+suffix, []byte("no archive"), 0o644))
		if _, err := readModule(path + suffix); err == nil || !strings.Contains(err.Error(), tool) {
			t.Errorf("%s, damaged: %v", suffix, err)
		}
	}
}
