package lab

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"slices"
)

// direct writes the unpacked image of a packed kernel (bzImage), if QEMU can enter it directly, so that no guest has to
// unpack it: unpacking takes a third of the time of a boot under emulation. It needs the tool of the compression.
func direct(image, to string) error {
	raw, err := os.ReadFile(image)
	if err != nil {
		return err
	}
	packed, err := payload(raw)
	if err != nil {
		return err
	}
	tool := slices.IndexFunc(packings, func(p packing) bool { return bytes.HasPrefix(packed, p.magic) })
	if tool < 0 {
		return fmt.Errorf("the kernel is packed in an unknown way")
	}
	c := exec.Command(packings[tool].tool[0], packings[tool].tool[1:]...)
	c.Stdin = bytes.NewReader(packed)
	kernel, err := c.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", c.Args[0], err)
	}
	if !entered(kernel) {
		return fmt.Errorf("the kernel has no entry for QEMU")
	}
	return os.WriteFile(to, kernel, 0o644)
}

// packing is a way in which kernels are compressed.
type packing struct {
	magic []byte   // first bytes
	tool  []string // program that decompresses standard input
}

var packings = []packing{
	{[]byte("\xfd7zXZ\x00"), []string{"xz", "-dc", "--single-stream"}},
	{[]byte("\x28\xb5\x2f\xfd"), []string{"zstd", "-dcq"}},
}

// payload returns the compressed kernel in a bzImage, located by the header of the boot protocol, 2.08 or later (Linux,
// Documentation/arch/x86/boot.rst). Its last four bytes are the decompressed length.
func payload(image []byte) ([]byte, error) {
	const setup, magic, version, offset, length, end = 0x1f1, 0x202, 0x206, 0x248, 0x24c, 0x250
	const size = 4
	if len(image) < end || string(image[magic:magic+4]) != "HdrS" ||
		binary.LittleEndian.Uint16(image[version:]) < 0x208 {
		return nil, fmt.Errorf("no bzImage")
	}
	from := (uint64(image[setup])+1)*512 + uint64(binary.LittleEndian.Uint32(image[offset:]))
	n := uint64(binary.LittleEndian.Uint32(image[length:]))
	if n < size || from+n > uint64(len(image)) {
		return nil, fmt.Errorf("the image is cut short")
	}
	return image[from : from+n-size], nil
}

// entered reports whether a kernel has the note with the address at which QEMU may enter it (PVH; Xen's note 18,
// PHYS32_ENTRY).
func entered(kernel []byte) bool {
	const entry = 18
	f, err := elf.NewFile(bytes.NewReader(kernel))
	if err != nil {
		return false
	}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_NOTE {
			continue
		}
		notes, err := s.Data()
		for err == nil && len(notes) >= 12 {
			name, desc := binary.LittleEndian.Uint32(notes), binary.LittleEndian.Uint32(notes[4:])
			kind, rest := binary.LittleEndian.Uint32(notes[8:]), notes[12:]
			if kind == entry && bytes.HasPrefix(rest, []byte("Xen\x00")) {
				return true
			}
			notes = rest[min(uint64(len(rest)), uint64(name+3)&^3+uint64(desc+3)&^3):]
		}
	}
	return false
}
