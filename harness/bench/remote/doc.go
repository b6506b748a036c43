// Package remote reaches hosts with devices under test by the ssh program of this machine, with its configuration,
// agents, keys and jump hosts as their owner has set them up.
//
// The far side is this same binary: it is sent over the channel, runs there as package supervise for as long as the
// channel lasts, and leaves nothing behind. One channel carries everything, as lines (package line): programs and their
// output, the connections over which stock tools exchange parameters, and the values that the host's kernel shows.
// Every failure is an error that names the host and quotes the last line of output; it is a failure of the bench, never
// of the device.
package remote
