// Package testbeds opens the hosts of a testbed file, and looks at whether they are fit to be judged on: rights, tools,
// device, settings of the port, clock, and each cable by frames sent both ways.
package testbeds
