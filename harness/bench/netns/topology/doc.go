// Package topology builds the network of a run on this host: network namespaces in a row, joined by veth pairs.
//
//	A [a0] ---- [ra  M  rb] ---- [b0] B
//
// With a box in the path there is a fourth, X, and M holds the ports of two links.
//
//	A [a0] ---- [la  M  lx] ---- [x0  X  x1] ---- [ra  M  rb] ---- [b0] B
//
// The namespaces are anonymous: the kernel frees them, with all that is in them, when the last process and descriptor
// is gone, so a killed run leaves nothing. No frame crosses that no endpoint sent: IPv6, ARP, multicast snooping and
// spanning tree are off and neighbours are static, because a stray frame would consume a draw of the loss process.
//
// Everything here needs root, or a user namespace (Reexec). The package knows neither a Spec nor a packet: what goes
// between the ports in M, and who sends, is up to the caller.
package topology
