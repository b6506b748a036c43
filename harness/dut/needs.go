package dut

import (
	"os/exec"
	"path/filepath"
)

// Modules lists the kernel modules that soft-RoCE needs. soft-RoCE does not load the module of its checksum itself.
func Modules() []string { return []string{"crc32_generic", "rdma_rxe", "ib_uverbs", "rdma_ucm"} }

// Programs lists the stock tools that drive a device.
func Programs() []string {
	return []string{"ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_write_lat", "ibv_rc_pingpong", "ibv_ud_pingpong",
		InfoProgram, "rping"}
}

// Files lists the programs and files that a host with soft-RoCE needs, as far as this machine has them: the tools, the
// driver of soft-RoCE that libibverbs loads, and the library without which a thread of rping aborts the process instead
// of ending.
func Files() (list []string) {
	for _, program := range Programs() {
		if _, err := exec.LookPath(program); err == nil {
			list = append(list, program)
		}
	}
	for _, pattern := range []string{"/etc/libibverbs.d/rxe.driver", "/usr/lib/*/libibverbs/librxe-rdmav*.so",
		"/usr/lib64/libibverbs/librxe-rdmav*.so",
		"/usr/lib/*/libgcc_s.so.1", "/usr/lib64/libgcc_s.so.1"} {
		found, _ := filepath.Glob(pattern) // the patterns are well-formed
		list = append(list, found...)
	}
	return list
}
