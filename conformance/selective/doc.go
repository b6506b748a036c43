// Package selective holds models that the rules of schemes with selective retransmission share: the answers that a
// receiver owes for the packets that reach it (Receiver), the packets that a sender may and must retransmit after the
// answers that reach it (Sender), the places in memory that packets name (Places), and the variables that an engine
// reports after one input (Reports).
//
// They use the Conversation of package rule, which tracks the PSN spaces, and its allowances, which hold every reason
// why an end may be late.
package selective
