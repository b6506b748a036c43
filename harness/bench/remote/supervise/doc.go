// Package supervise is the far side of package remote: the part of the harness's own binary that runs on a host with a
// device under test for as long as its channel lasts.
//
// It starts stock tools, forwards the connections over which they exchange parameters, reads values that the host's
// kernel shows, and gives the network device under test an address for the time of a run. However the channel ends (its
// input ends, it is silent for a lease, a signal), the tools are killed and the settings are restored. If the
// supervisor itself is killed, the kernel kills the tools, and the next supervisor restores the settings from the
// journal.
package supervise
