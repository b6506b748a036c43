// Package tc applies a spec.Link to a device as the kernel's netem qdisc and reads every value back. It is the only
// package that knows qdisc units. It has its own codec, because no Go library encodes netem's loss models, seed and
// nanosecond times together. Sources: tc-netem(8), linux/pkt_sched.h, net/sched/sch_netem.c.
//
// Netem differs from the link that package channel defines:
//   - a lost packet is dropped before the line and takes no time on it, and one PRNG serves all impairments;
//   - the delay precedes the line: a packet waits for its delay and for its turn at the same time;
//   - with a rate no packet overtakes another: a packet's time on the line begins when the one before has left, so on a
//     busy line the largest jitter so far delays all packets after it, and their order stays (Linux 6.1: 10 ms ± 2 ms
//     at 10 Mb/s is 13.9 ms for nine packets of ten);
//   - the limit counts packets in flight as well as those that wait: Limit adds the two;
//   - a duplicate passes the qdisc again; a reordered packet skips the line as well as the delay;
//   - Gilbert-Elliott changes its state first and decides by the state that it has left;
//   - every frame consumes random draws, so only frames of the endpoints may cross the device.
//
// It does not support bursts of fixed length, tapes and slots of channel time: ErrUnsupported. The relay does.
//
// Kernels before "netem: only reseed PRNG when seed is explicitly provided" (2026-04) reseed at each change, so Apply
// always deletes and adds. A sender's socket with PACKET_QDISC_BYPASS bypasses netem altogether.
package tc
