// Package party is the bench's end of the conversation with the programs that take part in a run: the endpoints, and
// the box in the path, of this project or foreign.
//
// It sends orders, reads the answers, and holds the reports of a program; package contract defines both. Package child
// starts programs, and the bench uses the answers.
package party
