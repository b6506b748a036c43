// Package contract is the conversation between a bench and a program that is one endpoint of a run, whoever wrote it
// and in whatever language. images/CONTRACT.md is the page for the authors of such programs, and this package is what
// holds them to it: the lines, a reader that bounds what it takes, and the order in which things may be said.
//
// A bench writes orders to the program's standard input, the program answers with reports on its standard output. Each
// is one line of JSON, an object whose values are numbers, strings and truths: no nesting, so that a program without a
// JSON library can find a field by its name. What is judged travels as RoCEv2 on the device that the program is given;
// a report never replaces a packet.
//
// The engines of this repository are run by the same lines. Not here: how a program is started and killed, which is the
// bench's.
package contract

import "errors"

// Version is that of the contract. A program says which one it speaks, and a bench refuses any other.
const Version = 1

// Unsupported is the exit code of a program that is asked for something that it does not have. Code 0 says that it did
// what it was told, every other that it failed.
const Unsupported = 127

// ErrUnsupported is the error of a program that is about to end with that code.
var ErrUnsupported = errors.New("not supported")
