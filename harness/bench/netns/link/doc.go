// Package link makes the link of a hop with real packets: a chain of stages, which a frame meets one after the other.
//
// The relay, a process, does everything that a Spec can ask for; the kernel's netem sits where frames leave a port, and
// does what it can. With netem, the relay stands before it where a Spec asks for what netem has not. Choose decides,
// and says why.
//
// The stages work between two ports that somebody else has made, see Site; neither they nor a chain know who sends.
// Nothing here impairs a frame by itself, see packages netem/relay and netem/tc.
package link
