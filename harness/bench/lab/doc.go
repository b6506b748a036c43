// Package lab runs a command on the kernel that it brings along: a distribution's stock kernel in a QEMU guest. So a
// machine whose own kernel lacks sch_netem or rdma_rxe can use both, and, counting instructions instead of time, get
// the same bytes from them whenever it asks.
//
//	host: Fetch -> Kernel --+
//	      programs, files --+-> initramfs -> QEMU -> guest: GuestMain, PID 1 -> modules -> command
//	      Outcome, files <---- frames over a virtio-serial port <--------------------------+
//
// The guest has no disk and no network. It sees the paths of the host: what it is given lies where it lies outside, and
// what the command leaves at the output paths appears there when it has ended.
//
// Files with the suffix _linux belong to both sides, because both are Linux on the same architecture: the first process
// of the guest is the program that started it.
package lab
