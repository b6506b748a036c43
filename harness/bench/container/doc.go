// Package container starts the programs of a run as containers of this machine's Docker Engine, between which package
// netns puts its links: implementations that are distributed as images, and the engines of this repository in an image
// that this package builds, without a registry.
//
//	netns                          container                       Docker Engine
//	Apart(role, implementation) -> image, container, attached  -> one process tree with a network namespace, "none" in
//	                                                           it
//	a0, b0, taps, link, rules   <- pid, stdin, stdout, report
//
// The program in a container is not trusted: it has a user other than root, no capability but CAP_NET_RAW, no new
// privileges, a read-only file system, limits of memory and processes, and no network but the device of the run. No
// kernel gives a user other than root a capability under no-new-privileges, so this binary is mounted into each
// container as its first program, which changes its user and then becomes the program (Confine).
//
// A container ends when its standard input ends, and the engine removes it. A container that remains, because its
// program ignores the end of its input and this process was killed, is removed by the next process that opens the
// engine: every container has a label that names its owner.
package container

// Owner is the label that names the process to which a container belongs.
const Owner = "org.rdma-gauntlet.owner"

// Endpoint is the name of the image with this repository's engines.
const Endpoint = "gauntlet/endpoint:local"

// Paths in a container: this binary, its name in the image with this repository's engines, and the folder for the
// reports of a program.
const (
	launcher = "/.gauntlet"
	program  = "/gauntlet"
	reports  = "/run/gauntlet"
)
