// Package child controls a program of the bench: a process that it starts in a namespace, or one that was started
// elsewhere, such as in a container.
//
// The bench communicates with a child over its standard streams, whose content this package does not know. A child
// should end with its input, and is killed when it does not; the end of its log is part of the error about its exit.
package child
