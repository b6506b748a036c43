// Package child keeps a program under the bench's control: a process that it starts in a namespace, or one that was
// started elsewhere, such as in a container.
//
// A child is talked to over its standard streams, ends when its input does, is killed when that does not help, and its
// last words are in the error that says how it ended. What is said on those streams is not known here.
package child
