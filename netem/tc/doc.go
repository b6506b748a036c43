// Package tc puts a spec.Link on a device as the kernel's netem qdisc and reads every value back. It is the only
// package that knows qdisc units. The codec is its own, because no Go library encodes netem's loss models, seed and
// nanosecond times together. Sources: tc-netem(8), linux/pkt_sched.h, net/sched/sch_netem.c.
//
// Netem differs from the link that package channel defines:
//   - a lost packet is gone before the line, so it costs no rate, and one PRNG serves all impairments;
//   - the delay precedes the line: a packet waits for its delay and for its turn at the same time;
//   - with a rate nothing overtakes: a packet's line time begins when the one before has left, so on a busy line the
//     jitter of
//     all adds up to the largest, and the order stays (Linux 6.1: 10 ms ± 2 ms at 10 Mb/s is 13.9 ms for nine packets
//     of ten);
//   - the limit counts packets in flight as well as those that wait: Limit adds the two;
//   - a duplicate goes through the qdisc again; a reordered packet skips the line as well as the delay;
//   - Gilbert-Elliott moves first and judges by the state it left;
//   - any frame consumes draws, so no frame may cross the device that no endpoint sent.
//
// Fixed-sojourn bursts, tapes and slots of channel time are beyond it: ErrUnsupported. The relay does them.
//
// Kernels before "netem: only reseed PRNG when seed is explicitly provided" (2026-04) reseed at each change, so Apply
// always deletes and adds. PACKET_QDISC_BYPASS on a sender's socket skips netem altogether.
package tc
