// Package party is the bench's end of the conversation with the programs that take part in a run: the endpoints, and
// the box in the path, ours or another's.
//
// It gives orders, takes the answers, and holds what a program says of itself; package contract has the words. How a
// program is started is package child's business, and what a run makes of the answers is the bench's.
package party
