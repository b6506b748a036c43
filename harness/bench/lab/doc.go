// Package lab runs a command on another kernel: a distribution's stock kernel in a QEMU guest. So a machine whose own
// kernel lacks sch_netem or rdma_rxe can use both, and, when the guest's clock counts instructions, get the same bytes
// from every run.
//
//	host: Fetch -> Kernel --+
//	      programs, files --+-> initramfs -> QEMU -> guest: GuestMain, PID 1 -> modules -> command
//	      Outcome, files <---- frames over a virtio-serial port <--------------------------+
//
// The guest has no disk and no network. It has the paths of the host: its input files have the same paths as on the
// host, and the files that the command leaves at the output paths appear at the same paths of the host when the guest
// has ended.
//
// The guest has one processor of about 1 GHz, which the endpoints share with the link. A relay before netem adds about
// 30 us. Output is written to files in memory, because QEMU waits for a pipe or a socket in the host's time. A run in
// which a middlebox waits for the processor longer than the 5 ms that rules allow is INVALID: runs at 20 Mb/s were
// valid, those at 50 Mb/s over some links and those at 100 Mb/s were not.
//
// Files with the suffix _linux run on both sides, because both are Linux on the same architecture: the first process of
// the guest is the program that started the guest.
package lab
