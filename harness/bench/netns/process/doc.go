// Package process is the body of a process that the bench starts in a namespace: an endpoint, or the box in the path.
//
// It communicates with the bench as package contract requires of any program: it reads orders from standard input, and
// writes reports to standard output. Between start and stop one locked thread receives from the devices, calls an actor
// of package drive, and sends its packets as fast as its lines allow.
//
// An endpoint makes its packets itself and exchanges them with its device, bypassing the kernel; or, for an
// implementation that uses a byte stream, the kernel's TCP makes them, and the endpoint has sockets. The rest of a run
// is the same then: taps, link and rules.
//
// The process impairs nothing, and records only the endpoint's own reports.
package process
