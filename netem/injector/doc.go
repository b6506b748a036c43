// Package injector plays scripted faults and losses in the kernel: a program of eBPF where frames leave a device. It
// drops, doubles and marks what package channel would, for the same Spec and the same seed, and no process carries the
// frames.
//
// The program is made for a script: each fault is a few instructions, assembled in Go. It numbers the frames, reads of
// each which packet it is by a Dialect, counts what matched, and looks the fate of the n-th frame up in bits that a
// goroutine here has drawn ahead from the loss process of the link. All counting is by atomic operations, so no two
// frames share a number, on however many processors the kernel handles them. What happened to each frame is in a log
// with its head; a frame to which something happened is there whole.
//
// Beyond lists what the injector does not do: it holds nothing back, and changes nothing but the ECN bits. It knows no
// RoCE; a Dialect says where a frame has what identifies it. It makes no rate, delay or queue: netem does behind it, or
// a relay before it.
//
// Where programs hang on devices by descriptors (TCX, Linux 6.6) the kernel takes them away when the process ends,
// however that happens. Those of the clsact qdisc, before, go when the devices of the link do.
package injector
