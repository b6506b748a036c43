package lab

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// Kernel is a kernel that a guest can boot, with its modules.
type Kernel struct {
	Package string `json:"package,omitempty"` // package of the distribution; "" for a kernel of the user
	Version string `json:"version,omitempty"` // of the package
	SHA256  string `json:"sha256"`            // of the package, or of the image when there is no package
	Release string `json:"release"`           // output of "uname -r": the name of the modules' folder
	Image   string `json:"image"`             // path of vmlinuz
	// path of the unpacked image, which boots sooner; "" when it could not be unpacked
	Direct  string `json:"direct,omitempty"`
	Modules string `json:"modules"` // path of the folder that "lib/modules/RELEASE" is
}

// String names the kernel for reports.
func (k *Kernel) String() string {
	if k.Package == "" {
		return k.Release + " (own)"
	}
	return k.Package + " " + k.Version
}

// boots is the path of the image that QEMU boots.
func (k *Kernel) boots() string { return cmp.Or(k.Direct, k.Image) }

// record is the file that marks a folder of the cache as a fetched kernel. It is written last.
const record = "kernel.json"

// Cache returns the folder of this user's fetched kernels.
func Cache() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("lab: no cache folder: %w", err)
	}
	return filepath.Join(dir, "gauntlet", "kernels"), nil
}

// Fetched returns the kernels of a cache folder, the most recently fetched first.
func Fetched(cache string) ([]*Kernel, error) {
	paths, err := filepath.Glob(filepath.Join(cache, "*", record))
	if err != nil {
		return nil, fmt.Errorf("lab: cache %s: %w", cache, err)
	}
	age := map[string]int64{}
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil {
			age[p] = info.ModTime().UnixNano()
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return int(min(max(age[b]-age[a], -1), 1)) })
	var kernels []*Kernel
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		k := &Kernel{}
		if err == nil {
			err = json.Unmarshal(raw, k)
		}
		if err != nil {
			return nil, fmt.Errorf("lab: %s: %w; remove its folder and fetch again", p, err)
		}
		kernels = append(kernels, k)
	}
	return kernels, nil
}

// ErrNoKernel is the error when no kernel has been fetched.
var ErrNoKernel = errors.New("lab: no kernel has been fetched; run gauntlet lab fetch, or give --kernel and --modules")

// Latest returns the most recently fetched kernel.
func Latest() (*Kernel, error) {
	cache, err := Cache()
	if err != nil {
		return nil, err
	}
	kernels, err := Fetched(cache)
	if err == nil && len(kernels) == 0 {
		err = ErrNoKernel
	}
	if err != nil {
		return nil, err
	}
	return kernels[0], nil
}

// Own describes a kernel that is not from a package: an image, and the folder with its modules.
func Own(image, modules string) (*Kernel, error) {
	k := &Kernel{}
	var err error
	if k.Image, err = filepath.Abs(image); err == nil {
		k.Modules, err = filepath.Abs(modules)
	}
	if err == nil {
		k.SHA256, err = digest(k.Image)
	}
	if err != nil {
		return nil, fmt.Errorf("lab: kernel: %w", err)
	}
	if _, err := os.Stat(filepath.Join(k.Modules, "kernel")); err != nil {
		return nil, fmt.Errorf("lab: modules %s: no folder \"kernel\" in it; want the one that is "+
			"/lib/modules/RELEASE where it is installed", modules)
	}
	k.Release = filepath.Base(k.Modules)
	return k, nil
}

// digest returns the SHA-256 of a file in hexadecimal.
func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
