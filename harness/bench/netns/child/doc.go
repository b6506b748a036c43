// Package child keeps a program under the bench's control: a process that it starts in a namespace, or one that was
// started elsewhere, such as in a container.
//
// The bench talks to a child over its standard streams. A child ends with its input, and is killed when it does not;
// the end of its log is part of the error about its exit. The content of those streams is not known here.
package child
