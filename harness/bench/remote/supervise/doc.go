// Package supervise is the far side of package remote: what runs on a host with a device under test, out of the
// harness's own binary, for as long as its channel lasts.
//
// It starts stock tools, carries the connections by which they are introduced, reads what the host's kernel shows, and
// gives the network device under test an address for the time of a run. However the channel ends (its input ends, it is
// silent for a lease, a signal), the tools are killed and the settings are what they were. Where it is killed itself,
// the kernel kills the tools, and the next supervisor undoes the settings from the journal.
package supervise
