package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// StockPackage is the package that follows Debian's current kernel. It has sch_netem and rdma_rxe; the "cloud" flavour
// has only the first.
const StockPackage = "linux-image-amd64"

// Fetch downloads a kernel package with apt, which checks its signature, and unpacks it into a folder of the cache
// without installing it. name is a package, or package=version: mirrors keep only current versions, so a requested
// version may no longer exist. For a package that only depends on the current kernel, that kernel is fetched. A package
// that is in the cache is not fetched again.
func Fetch(ctx context.Context, cache, name string) (*Kernel, error) {
	for _, tool := range []string{"apt-get", "apt-cache", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf(
				"lab: fetch needs %s, of Debian or Ubuntu; elsewhere give --kernel vmlinuz --modules DIR", tool)
		}
	}
	pkg, version, err := resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, pkg+"_"+strings.ReplaceAll(version, ":", "%3a"))
	if raw, err := os.ReadFile(filepath.Join(dir, record)); err == nil {
		k := &Kernel{}
		return k, json.Unmarshal(raw, k)
	}
	// Leftovers of an interrupted run are not used.
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	return download(ctx, dir, pkg, version)
}

// download downloads one package into an empty folder, and returns its description.
func download(ctx context.Context, dir, pkg, version string) (*Kernel, error) {
	if _, err := output(ctx, dir, "apt-get", "download", "-qq", pkg+"="+version); err != nil {
		return nil, fmt.Errorf("%w; see that the network works, and run apt-get update", err)
	}
	archive, err := only(dir, "*.deb")
	if err != nil {
		return nil, err
	}
	k := &Kernel{Package: pkg, Version: version}
	if k.SHA256, err = digest(archive); err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	if _, err := output(ctx, dir, "dpkg-deb", "-x", archive, dir); err != nil {
		return nil, err
	}
	if k.Image, err = only(dir, "boot/vmlinuz-*"); err != nil {
		return nil, err
	}
	if k.Modules, err = only(dir, "lib/modules/*", "usr/lib/modules/*"); err != nil { // the second since Debian 13
		return nil, err
	}
	k.Release = filepath.Base(k.Modules)
	if path := filepath.Join(dir, "boot", "vmlinux-"+k.Release); direct(k.Image, path) == nil {
		k.Direct = path
	}
	raw, err := json.MarshalIndent(k, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, record), raw, 0o644)
	}
	if err == nil {
		err = os.Remove(archive)
	}
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	return k, nil
}

// resolve returns the package with the kernel itself, and the version that apt would install.
func resolve(ctx context.Context, name string) (pkg, version string, err error) {
	pkg, version, pinned := strings.Cut(name, "=")
	fields, err := show(ctx, name)
	if err != nil {
		return "", "", err
	}
	if on := fields["Depends"]; strings.HasPrefix(on, "linux-image-") { // "linux-image-6.1.0-56-amd64 (= 6.1.192-2)"
		if pinned {
			return "", "", fmt.Errorf("lab: %s only points to %s; pin that one", pkg, on)
		}
		return resolve(ctx, strings.FieldsFunc(on, func(r rune) bool { return r == ' ' || r == ',' || r == '|' })[0])
	}
	if !strings.HasPrefix(pkg, "linux-image-") {
		return "", "", fmt.Errorf("lab: package %s: not a kernel; want a linux-image-…", pkg)
	}
	if version == "" {
		version = fields["Version"]
	}
	return pkg, version, nil
}

// show returns apt's fields of a package, for the version that apt would install.
func show(ctx context.Context, name string) (map[string]string, error) {
	out, err := output(ctx, "", "apt-cache", "show", "--no-all-versions", name)
	if err != nil || len(bytes.TrimSpace(out)) == 0 {
		return nil, fmt.Errorf("lab: apt knows no package %s; run apt-get update, or give a version that "+
			"the mirror still has", name)
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && line[0] != ' ' {
			fields[key] = value
		}
	}
	return fields, nil
}

// only returns the one path that patterns match below a folder.
func only(dir string, patterns ...string) (string, error) {
	var paths []string
	for _, p := range patterns {
		found, err := filepath.Glob(filepath.Join(dir, p))
		if err != nil {
			return "", fmt.Errorf("lab: %s: %w", dir, err)
		}
		paths = append(paths, found...)
	}
	if len(paths) != 1 {
		return "", fmt.Errorf("lab: %s has %d files %s, want 1: it is not a kernel with its modules",
			filepath.Base(dir), len(paths), patterns[0])
	}
	return paths[0], nil
}

// output runs a command in a folder; its error holds the last line of the command's output.
func output(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		return nil, fmt.Errorf("lab: %s %s: %w: %s", name, args[0], err,
			quote.Line(lines[len(lines)-1], quote.Sentence))
	}
	return out, nil
}
