// Package device places foreign implementations at the ends of a network: the kernel's soft-RoCE on the network device
// of an end, driven by a stock tool of package dut.
//
// It creates the RDMA device, starts the tool, performs the exchange of parameters (by the tool's own protocol, or by
// RDMA CM) with this program's endpoint or with a second tool, and reads the state that a kernel shows: memory by
// /proc, counters by a stock program, completions by tracing. A tool is in the namespace of this process, because
// soft-RoCE has no other.
//
// Package dut knows the capabilities and the output of a tool; the taps capture its packets.
package device
