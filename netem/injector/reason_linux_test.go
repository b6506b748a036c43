package injector

import (
	"errors"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// The kernel's reason against a program is one line with the remedy.
func TestReason(t *testing.T) {
	if s := Probe(); !s.OK {
		t.Skip(s.Reason)
	}
	_, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "Apache-2.0",
		Instructions: asm.Instructions{asm.Mov.Reg(asm.R0, asm.R5), asm.Return()}})
	if got := reason(err).Error(); strings.Contains(got, "\n") || !strings.Contains(got, "R5 !read_ok") ||
		!strings.Contains(got, "use the relay") {
		t.Errorf("verifier: %q", got)
	}
	if got := reason(unix.EPERM).Error(); !strings.HasSuffix(got,
		"CAP_SYS_ADMIN and CAP_NET_ADMIN, in the initial user namespace") {
		t.Errorf("without rights: %q", got)
	}
	if !errors.Is(reason(ebpf.ErrNotSupported), ErrUnsupported) {
		t.Error("an old kernel is not told apart")
	}
}
