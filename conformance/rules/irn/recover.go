package irn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/selective"
)

var headFirst = define(rule.Rule{
	ID: "IRN-REC-002", Level: rule.Must,
	Title: "The first packet retransmitted in a recovery is that of the cumulative acknowledgement",
	Source: rule.Source{Ref: recovery, Requirement: "The first packet that is retransmitted on entering loss " +
		"recovery corresponds to the cumulative acknowledgement value."},
	Needs: senderTap, Sees: ofSender, Stimulus: "a lost packet", New: retransmits(selective.FirstIsHead),
})

var holesOnly = define(rule.Rule{
	ID: "IRN-REC-003", Level: rule.Must,
	Title: "Another packet is sent again only when it is not acknowledged and one above it is acknowledged selectively",
	Source: rule.Source{Ref: recovery, Requirement: "Any subsequent packet is considered lost only if another packet " +
		"with a higher sequence number has been selectively acked."},
	Needs: senderTap, Sees: ofSender, Stimulus: "three separate losses in one window",
	New: retransmits(selective.OnlyHoles),
})

var holesOnce = define(rule.Rule{
	ID: "IRN-REC-004", Level: rule.Must,
	Title: "A hole is sent again once per recovery, unless an ACK makes it the oldest, or the timer expires",
	Source: rule.Source{Ref: hls, Requirement: "txFree: the bitmap is searched from retransmitSN on, which only " +
		"grows until recovery is over or the timer expires."},
	Needs: senderTap, Sees: ofSender, Stimulus: "several losses in one window", New: retransmits(selective.HoleOnce),
})

var sackCancels = define(rule.Rule{
	ID: "IRN-REC-007", Level: rule.Must,
	Title: "A packet that waits to be sent again and is acknowledged selectively is left out, and the next hole is sent",
	Source: rule.Source{Ref: hls, Requirement: "receiveAck: a SACK of the packet that is to be retransmitted cancels " +
		"that, and asks for the next hole."},
	Needs: senderTap, Sees: ofSender, Stimulus: "packets that are overtaken by others and arrive late",
	New: retransmits(selective.SackStops),
})

var partialACK = define(rule.Rule{
	ID: "IRN-REC-008", Level: rule.Must,
	Title: "A lost packet that an ACK in recovery makes the oldest is sent again if, and only if, it was not before",
	Source: rule.Source{Ref: recovery + "; " + hls, Requirement: "Any subsequent packet is considered lost only if " +
		"another packet with a higher sequence number has been selectively acked; receiveAck: a new ACK in recovery " +
		"makes lastAcked the next to retransmit, only if it has not already been."},
	Needs: senderTap, Sees: ofSender, Stimulus: "several losses in one window", New: retransmits(selective.Partial),
})

var capSparesRetransmissions = define(rule.Rule{
	ID: "IRN-FC-002", Level: rule.Must,
	Title: "A window that is full does not hold a retransmission back",
	Source: rule.Source{Ref: hls,
		Requirement: "txFree: what is to be retransmitted goes first; only new packets are held against the cap."},
	Needs: senderTap, Sees: ofSender, Stimulus: "a lost packet in a window that is full",
	New: retransmits(selective.DespiteFull),
})

var timeoutHeadFirst = define(rule.Rule{
	ID: "IRN-RTO-002", Level: rule.Must,
	Title: "After a timeout the oldest packet goes first, and then only holes: it does not go back N",
	Source: rule.Source{Ref: recovery + "; " + hls, Requirement: "When in the loss recovery mode, the sender " +
		"selectively retransmits lost packets as indicated by the bitmap; timeout: retransmitSN is set to lastAcked."},
	Needs: timedTap, Sees: ofSender, Stimulus: "the same packet lost twice", New: retransmits(selective.TimeoutHead,
		selective.TimeoutHoles),
})
