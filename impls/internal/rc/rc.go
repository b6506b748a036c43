// Package rc is what a reliable connection (RC) is whatever recovers its losses: the attributes of a QP, the shapes of
// the request opcodes, the checks of a request, its execution, the send queue, and the retries that are left.
//
// What every transport of RC packets shares is in attributes.go, opcode.go, check.go, packet.go, atomic.go and
// retry.go. inbox.go is for responders that execute packets in PSN order. sendqueue.go and fetch.go are for transports
// whose READ responses have PSNs of their own, and whose requests are numbered so that a packet can be placed alone
// (IRN 5.2, FaSR IV-D).
//
// Nothing here knows of a loss: which packet is sent, acknowledged, dropped or kept is decided by the protocols, each
// in its own package. Errors do not name the implementation; it puts its name in front.
//
// Source: InfiniBand Architecture Specification Vol 1, chapter 9.
package rc
