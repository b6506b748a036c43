// Package selective is what schemes with selective retransmission have in common, for their rules: what a receiver owes
// for each packet that reaches it (Receiver), what a sender may and must send again after the answers that reached it
// (Sender), where packets say that they belong (Places), and the variables that an engine reports after one input
// (Reports).
//
// They stand on the observer of package rule, which knows the sequence spaces, and every reason why an end may be late.
package selective
