package lab

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// packed returns a bzImage with a payload and the header fields that are read.
func packed(payload []byte) []byte {
	image := make([]byte, 2*512)
	image[0x1f1] = 1
	copy(image[0x202:], "HdrS")
	binary.LittleEndian.PutUint16(image[0x206:], 0x20f)
	binary.LittleEndian.PutUint32(image[0x24c:], uint32(len(payload)+4))
	return append(append(image, payload...), 1, 2, 3, 4)
}

// A stock kernel is converted to a form that QEMU can start.
func TestDirect(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: unpacks a kernel")
	}
	k, err := Latest()
	if err != nil {
		t.Skip(err)
	}
	if err := direct(k.Image, filepath.Join(t.TempDir(), "vmlinux")); err != nil {
		t.Error(err)
	}
}

// A file that is no such kernel is refused with the reason, and nothing is written.
func TestDirectRefuses(t *testing.T) {
	c := exec.Command("xz", "-zc")
	c.Stdin = strings.NewReader("text")
	text, err := c.Output()
	if err != nil {
		t.Skip("no xz: ", err)
	}
	for name, c := range map[string]struct {
		image []byte
		says  string
	}{
		"empty":      {nil, "no bzImage"},
		"other file": {make([]byte, 4096), "no bzImage"},
		"cut short":  {packed(make([]byte, 100))[:1100], "cut short"},
		"unknown":    {packed([]byte("lz4, perhaps")), "unknown way"},
		"broken":     {packed(text[:20]), "xz: "},
		"no kernel":  {packed(text), "no entry"},
	} {
		image, to := filepath.Join(t.TempDir(), "vmlinuz"), filepath.Join(t.TempDir(), "vmlinux")
		if err := os.WriteFile(image, c.image, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := direct(image, to); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		if _, err := os.Stat(to); err == nil {
			t.Errorf("%s: something was written", name)
		}
	}
}
