// Package process is the body of a process that the bench starts in a namespace: an endpoint, or the box in the path.
//
// It talks to the bench as package contract asks of any program: orders come by standard input, reports leave by
// standard output. Between start and stop one locked thread receives from the devices, lets an actor of package drive
// act, and sends its packets as fast as its lines allow.
//
// An endpoint makes its packets itself and exchanges them with its device, past its kernel; or, for an implementation
// that speaks a byte stream, the kernel's TCP makes them, and the endpoint has sockets. Nothing else of a run differs
// then: the same taps, link and rules.
//
// It impairs nothing, and records only the endpoint's own reports.
package process
