// Package tcplite is a small TCP without I/O: one connection between two ports, as a state machine whose inputs are
// segments, data and the time, and whose outputs are segments. Stream protocols run over it in virtual time; over a
// real network they use the kernel's TCP.
//
// It has: three-way handshake, cumulative ACKs, reassembly, fast retransmit and NewReno recovery (RFC 5681, RFC 6582)
// from an initial window of ten segments (RFC 6928), the retransmission timer with Karn's rule and backoff (RFC 6298,
// RFC 7323 for the window scale), FIN and RST. Segments keep the boundaries with which data was written, also when they
// are sent again.
//
// Not implemented, which matters in comparisons with a kernel: SACK, timestamps, limited transmit, tail loss probes and
// RACK, delayed ACKs (every segment is acknowledged when the link is free), Nagle's algorithm, pacing, ECN, keep-alive,
// restart after idle, zero-window probes (the window never closes: its receiver takes data at once), TIME_WAIT (an
// ended connection still answers a repeated FIN), simultaneous open, urgent data, and path MTU discovery.
//
// Reading order: conn.go, send.go, receive.go, newreno.go, rtt.go.
package tcplite
