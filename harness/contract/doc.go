// Package contract defines the conversation between a bench and a program that is one endpoint of a run, written by
// anybody in any language. images/CONTRACT.md is the page for the authors of such programs, and this package enforces
// it: the lines, a reader with bounds on lines and reports, and the order in which reports may come.
//
// A bench writes orders to the program's standard input, the program answers with reports on its standard output. Each
// is one line of JSON, an object whose values are numbers, strings and truths: no nesting, so that a program without a
// JSON library can find a field by its name. The packets that are judged travel as RoCEv2 on the device that the
// program is given; a report never replaces a packet.
//
// The engines of this repository are run by the same lines. Starting and killing a program is not part of this package:
// the bench does both.
package contract

import "errors"

// Version is the version of the contract. A program declares the version that it speaks, and a bench refuses any other.
const Version = 1

// Unsupported is the exit code of a program that got an order for something that it does not support. Code 0 says that
// the program obeyed its orders, every other code that it failed.
const Unsupported = 127

// ErrUnsupported is the error with which a program exits with code Unsupported.
var ErrUnsupported = errors.New("not supported")
