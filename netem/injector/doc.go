// Package injector applies scripted faults and losses in the kernel, by an eBPF program at the egress of a device. It
// drops, duplicates and marks the frames that package channel would for the same Spec and the same seed, without a
// process that forwards frames.
//
// The program is built for a script: each fault is a few instructions, assembled in Go. The program numbers the frames,
// identifies each packet by a Dialect, counts the packets that match, and looks up the fate of the n-th frame in bits
// that a goroutine of this process has drawn ahead from the loss process of the link. All counters are updated by
// atomic operations, so no two frames have the same number, on however many processors the kernel handles them. The log
// has a record for each frame with its head; one that was lost, marked or duplicated is logged whole.
//
// Beyond lists the features that the injector does not support: it delays no frame, and changes only the ECN bits. It
// knows no RoCE; a Dialect gives the offsets of the fields that identify a packet. It emulates no rate, delay or queue:
// netem does after it, or a relay before it.
//
// Programs that are attached by descriptors (TCX, Linux 6.6) are removed by the kernel when the process ends, in
// whatever way. On older kernels they belong to the clsact qdisc, and are removed with the devices of the link.
package injector
