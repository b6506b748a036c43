// Package netns runs a Spec with real packets between network namespaces of this host.
//
// The endpoints are processes in namespaces A and B, the box in the path, if there is one, in X; the link is between
// them in M. The link is a chain of stages, the relay or the kernel's netem; the endpoint's own device never carries a
// qdisc, because a segmentation-offloaded burst would pass it as one packet.
//
// A run (Bench.Run) measures its idle link, starts the endpoints, captures at both their ports, measures again, and
// then makes one trace of the two captures, the link's log and the endpoints' reports. The session holds the open
// resources of a run, and passes each part those that it needs:
//
//	plan      what follows from a Spec, for parent and child alike: hops, line rates, roles, the header of the trace
//	topology  namespaces, cables, names, privilege
//	process   the code that runs in a child: the endpoint or the middlebox
//	child     a program under the bench's control; party, the dialogue with a program that follows the contract
//	link      the chain of stages that makes the link of a hop; measure, its measurements; tap, the captures at its ends
//	device    soft-RoCE under a stock tool at an end, in place of an endpoint
//
// This package does not impair the link, see packages netem/tc and netem/relay, and it judges no packet.
package netns
