// Package remote reaches hosts with devices under test, by the ssh program of this machine: its configuration, agents,
// keys and jump hosts are as their owner has them.
//
// The far side is this same binary: it is sent over the channel, runs there as package supervise for as long as the
// channel lasts, and leaves nothing. One channel carries everything, as lines (package line): programs and what they
// write, the connections by which stock tools are introduced, what the host's kernel shows. Whatever breaks there is an
// error that names the host and has the last line that was said; it is the bench that failed, never the device.
package remote
