// Package container starts the programs of a run as containers of this machine's Docker Engine, and package netns puts
// its links around them: implementations that are shipped as images, and the engines of this repository in an image
// that this package makes, without a registry.
//
//	netns                          container                       Docker Engine
//	Apart(role, implementation) -> image, container, attached  -> one process tree with a network namespace, "none" in
//	                                                           it
//	a0, b0, taps, link, rules   <- pid, stdin, stdout, report
//
// The program in a container is not trusted: it has a user that is not root, no capability but CAP_NET_RAW, no new
// privileges, a file system that cannot be written, limits of memory and processes, no network but the device of the
// run. No kernel gives a user who is not root a capability under no-new-privileges, so this binary is mounted into each
// container as its first program, which becomes the user and then the program (Confine).
//
// A container ends with its standard input, and the engine removes it. A container that stays, because its program
// ignores the end of its input and this process was killed, is removed by the next process that opens the engine: every
// container has a label with its owner.
package container

// Owner is the label that says which process a container belongs to.
const Owner = "org.rdma-gauntlet.owner"

// Endpoint is the name of the image with our engines.
const Endpoint = "gauntlet/endpoint:local"

// Paths in a container: this binary, what the image with our engines calls it, and where a program writes its reports.
const (
	launcher = "/.gauntlet"
	program  = "/gauntlet"
	reports  = "/run/gauntlet"
)
