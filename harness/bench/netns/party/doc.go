// Package party is the bench's side of the protocol with the programs that take part in a run: the endpoints, and the
// middlebox, of this project or foreign.
//
// It sends orders, reads the answers, and stores the reports of a program; package contract defines both. Package child
// starts the programs, and the bench uses the answers.
package party
