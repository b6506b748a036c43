// Package netns runs a Spec with real packets: three network namespaces in a row, joined by two veth pairs.
//
//	A [a0] ---- [ra  M  rb] ---- [b0] B
//
// With a box in the path there is a fourth, X, and M holds two links: the LAN's, always a relay, between la and lx.
//
//	A [a0] ---- [la  M  lx] ---- [x0  X  x1] ---- [ra  M  rb] ---- [b0] B
//
// Endpoints run in A and B, the box in X, one process each. M is the link: a bridge over ra and rb, or a user-space relay between
// packet sockets on both; either way the ports may carry the qdiscs of tc-netem (rb for A to B, ra for B to A). What does the
// impairing is a chain of stages, see chainOf. The endpoint's own device never carries a qdisc: a segmentation-offloaded burst
// would pass it as one packet.
//
// The namespaces are anonymous: the kernel frees them, with all that is in them, when the last process and descriptor
// is gone, so a killed run leaves nothing. No frame crosses that no endpoint sent: IPv6, ARP, multicast snooping and
// spanning tree are off and neighbours are static, because a stray frame would consume a draw of the loss process.
//
// An endpoint makes its packets itself and exchanges them with its device, past its kernel; or, for an implementation that
// speaks a byte stream, the kernel's TCP makes them (socket_linux.go). Nothing else of a run differs then: the same taps, link
// and rules.
//
// A run measures its idle link, lets the endpoints go, watches both their ports, measures again, and then makes one trace
// of the two captures, the link's log and what the endpoints reported. Nothing here impairs the link, see packages tc and
// relay. Everything needs root, or a user namespace (Reexec).
package netns
