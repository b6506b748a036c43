package srn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/selective"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

var placeable = define(rule.Rule{
	ID: "SRN-PLC-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "Packets carry their place as those of FaSR do: WRITE by address, SEND by the number of the " +
		"receive and the offset",
	Source: rule.Source{Ref: "FASR IV-D", Requirement: "All SEND packets carry the 3 bytes size send message " +
		"sequence number (MSN) and 3 bytes for the payload offset [...]. All WRITE packets carry their target remote " +
		"memory address, which costs 8 bytes."},
	Needs: rule.TapRequester, Sees: rule.RequestOut, Stimulus: "messages of several packets",
	New: selective.Places,
})
