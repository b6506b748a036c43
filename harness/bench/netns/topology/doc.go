// Package topology builds the network of a run on this host: network namespaces in a row, joined by veth pairs.
//
//	A [a0] ---- [ra  M  rb] ---- [b0] B
//
// With a middlebox in the path there is a fourth, X, and M holds the ports of two links.
//
//	A [a0] ---- [la  M  lx] ---- [x0  X  x1] ---- [ra  M  rb] ---- [b0] B
//
// The namespaces are anonymous: the kernel frees them, with everything in them, when the last process and descriptor is
// gone, so that a killed run leaves nothing. Only frames of the endpoints cross the network: IPv6, ARP, multicast
// snooping and spanning tree are off and neighbours are static, because another frame would consume a draw of the loss
// process.
//
// All functions need root, or a user namespace (Reexec). The package knows neither a Spec nor a packet: the caller
// decides who sends, and what connects the ports in M.
package topology
