// Package testbeds connects to the hosts of a testbed file, and checks whether they are fit for judging: rights, tools,
// device, settings of the port, clock, and each cable by frames sent in both directions.
package testbeds
