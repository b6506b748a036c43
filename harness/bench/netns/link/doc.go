// Package link makes the link of a hop with real packets: a chain of stages, which a frame passes one after the other.
//
// The relay, a process, has every impairment of a Spec. The kernel's netem acts where frames leave a port, and has a
// part of them; with it, a relay stands before it if a Spec has impairments that netem lacks. The injector plays faults
// and losses by programs in the kernel at the same place, before netem or behind a relay. Choose decides, and gives the
// reason.
//
// The stages work between two ports that the caller has created, see Site; neither they nor a chain know the senders.
// The package itself impairs no frame, see packages netem/relay, netem/tc and netem/injector.
package link
