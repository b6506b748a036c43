// Package device puts foreign implementations at the ends of a network: the kernel's soft-RoCE on the network device of
// an end, driven by a stock tool of package dut.
//
// It makes the RDMA device, starts the tool, has it introduced (by the tool's own exchange, or by RDMA CM) to this
// program's endpoint or to a second tool, and shows what a kernel can show of it: memory by /proc, counters by a stock
// program, completions by tracing. A tool is in the namespace of this process, because soft-RoCE has no other.
//
// What a tool can be made to do, and what it says, is known to package dut; packets are the taps'.
package device
