// Package irn holds the rules of IRN (Mittal et al., Revisiting Network Support for RDMA, SIGCOMM 2018), with the logic
// of the hardware that its authors published (IRNH) where the paper is short.
//
// Two reference machines are derived from the wire. The receiver gives the answer that every arrival must draw (package
// selective); the sender gives the packets that may and must be retransmitted after the answers that reached it
// (sender.go). Both run over the requests, and over the READ responses, which have PSNs of their own and the roles
// exchanged (read.go). The 2-bitmap and recoverSN, which no packet shows, are read from the variables that an engine
// reports (state.go).
package irn

import (
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Rules returns the family in the order of IDs.
func Rules() []rule.Rule {
	return []rule.Rule{
		bitmapEncoding, holeFilled, beyondDropped,
		completionParked,
		capHolds, capSparesRetransmissions,
		differential,
		writePlaceable, sendPlaceable, homelessDropped,
		readNumbering, readAcknowledged, readRetransmits, readOrder,
		recoveryEntered, headFirst, holesOnly, holesOnce, recoveryLeft, newDataInRecovery, sackCancels, partialACK,
		timeoutLowHigh, timeoutHeadFirst,
		earlyNACKed, inOrderACKed, duplicateACKed, earlyTwiceNACKed,
	}
}

// features of the whole family: the scheme, and what its responder does.
var features = []string{"irn", rule.KeepsEarly, rule.PlacesEarly}

const (
	// engines are the devices that can be judged: the opcodes are this project's.
	engines = "ENG"

	// defaultCap is the cap of a QP without the parameter cap.
	defaultCap = 500

	// longest bounds the gap that the machines track; the cap of a QP is far below.
	longest = 1 << 16
)

// Sources: the paper, and the hardware logic of its authors.
const (
	recovery  = "IRN 3.1"
	bdp       = "IRN 3.2"
	transport = "IRN 5.2"
	early     = "IRN 5.3"
	hls       = "IRNH"
)

// define sets the fields that all rules of the family share.
func define(r rule.Rule) rule.Rule {
	r.Features, r.BlackBox = features, engines
	return r
}

// acknowledges reports whether p acknowledges its own PSN: an ACK, or the result of an atomic.
func acknowledges(p *roce.Packet) bool { return rule.IsACK(p) || p.Opcode == roce.AtomicAck }

// parameter returns a whole-number parameter of the scheme; both ends have the same.
func parameter(c *rule.Context, name string) (n int, ok bool) {
	n, err := strconv.Atoi(c.Attr.Params[name])
	return n, err == nil
}

// capOf returns how many packets a QP may have in flight, which is also the length of its peer's bitmap.
func capOf(c *rule.Context) int {
	if n, ok := parameter(c, "cap"); ok {
		return n
	}
	return defaultCap
}

// duration returns a parameter that is a time.
func duration(c *rule.Context, name string) (d vtime.Duration, ok bool) {
	d, err := vtime.ParseDuration(c.Attr.Params[name])
	return d, err == nil && d > 0
}
