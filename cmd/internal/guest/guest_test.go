package guest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// A program is copied into the guest by its absolute path; an engine is part of the binary.
func TestCarry(t *testing.T) {
	var o Options
	o.Carry("gbn", "exec:mine", "")
	if len(o.programs) != 1 || !filepath.IsAbs(o.programs[0]) || !strings.HasSuffix(o.programs[0], "/mine") ||
		len(o.drivers) != 0 {
		t.Errorf("%+v", o)
	}
	if o.Carry(dut.Name); !slices.Equal(o.drivers, dut.Modules()) {
		t.Errorf("modules %q, want %q", o.drivers, dut.Modules())
	}
}

// The files of a command are its tapes and the arguments that name files.
func TestFiles(t *testing.T) {
	s, err := scenario.Parse(strings.NewReader("loss A>B tape file=./fades.tape\nload write msg=1KiB count=1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := Tapes(s); !slices.Equal(got, []string{"fades.tape"}) {
		t.Errorf("tapes %q", got)
	}
	file := filepath.Join(t.TempDir(), "known.txt")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := Existing([]string{"rxe", file, filepath.Dir(file)}); !slices.Equal(got, []string{file}) {
		t.Errorf("files %q", got)
	}
}
