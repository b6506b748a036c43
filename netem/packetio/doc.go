// Package packetio transfers whole Ethernet frames between a process and a network device: AF_PACKET sockets with
// batched system calls, receive times on the clock of the run, and waits with the precision of the kernel's timers.
//
// A Port stays in the network namespace in which Open was called, whatever goroutine uses it later. Nothing here
// allocates per packet. A Port, a Waiter and a Clock serve one goroutine each; a goroutine that waits for departure
// times should call LockThread first, because Go's own timers are late by up to a millisecond.
//
// The package has no shared-memory rings. On a veth pair a TX ring is no faster than sendmmsg, and an RX ring gains
// most where frames may be dropped unread, which a link must not do.
//
// Sources: packet(7), socket(7), recvmmsg(2), sendmmsg(2), ppoll(2), PR_SET_TIMERSLACK in prctl(2). Linux only.
package packetio
