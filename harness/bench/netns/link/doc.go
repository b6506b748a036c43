// Package link makes the link of a hop with real packets: a chain of stages, which a frame meets one after the other.
//
// The relay, a process, has every impairment of a Spec; the kernel's netem acts where frames leave a port, and has a
// part of them. With netem, a relay stands before it if a Spec has impairments that netem lacks. Choose decides, and
// gives the reason.
//
// The stages work between two ports that the caller has made, see Site; neither they nor a chain know the senders.
// Nothing here impairs a frame by itself, see packages netem/relay and netem/tc.
package link
