// Package rc holds the parts of a reliable connection (RC) that do not depend on loss recovery: the attributes of a QP,
// the shapes of the request opcodes, the checks of a request, its execution, the send queue, and the retry counters.
//
// The files attributes.go, opcode.go, check.go, packet.go, atomic.go and retry.go serve every transport of RC packets.
// inbox.go is for responders that execute packets in PSN order. sendqueue.go and fetch.go are for transports whose READ
// responses have their own PSN space, and whose requests are numbered so that each packet can be placed by itself (IRN
// 5.2, FaSR IV-D).
//
// This package makes no decision about losses: each protocol, in its own package, decides which packet is sent,
// acknowledged, dropped or kept. Errors do not name the implementation; the caller prefixes its name.
//
// Source: InfiniBand Architecture Specification Vol 1, chapter 9.
package rc
