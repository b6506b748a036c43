// Package all lists the engines that are wrong on purpose.
package all

import (
	"github.com/rdma-gauntlet/gauntlet/impls/broken"
	"github.com/rdma-gauntlet/gauntlet/impls/broken/fasr"
	"github.com/rdma-gauntlet/gauntlet/impls/broken/gbn"
	"github.com/rdma-gauntlet/gauntlet/impls/broken/irn"
	"github.com/rdma-gauntlet/gauntlet/impls/broken/lowar"
	"github.com/rdma-gauntlet/gauntlet/impls/broken/pseudoack"
	"github.com/rdma-gauntlet/gauntlet/impls/broken/rciwarp"
	"github.com/rdma-gauntlet/gauntlet/impls/broken/srnic"
	"github.com/rdma-gauntlet/gauntlet/impls/broken/writerecord"
)

// Families returns the families of all packages.
func Families() []broken.Family {
	return []broken.Family{
		gbn.Family(), fasr.Family(), irn.Family(), lowar.Family(), pseudoack.Family(), rciwarp.Family(), srnic.Family(),
		writerecord.Family(),
	}
}

// Uncaught maps the ID of each rule that no engine can break to the reason.
var Uncaught = map[string]string{
	"CTR-ADP-001":  noCounters,
	"CTR-CNP-001":  noCounters,
	"CTR-CRC-001":  noCounters,
	"CTR-DUP-001":  noCounters,
	"CTR-ERR-001":  noCounters,
	"CTR-IMP-001":  noCounters,
	"CTR-MONO-001": noCounters,
	"CTR-NAK-001":  noCounters,
	"CTR-OOS-001":  noCounters,
	"CTR-PKT-001":  noCounters,
	"CTR-PKT-002":  noCounters,
	"CTR-REX-001":  noCounters,
	"CTR-RNR-001":  noCounters,
	"CTR-RNR-002":  noCounters,
	"CTR-RTX-001":  noCounters,
	"CTR-TMO-001":  noCounters,
	"PACK-SEM-001": "an observation that the correct box causes already: it acknowledges before the peer has the data",
	"WRK-POST-002": "the driver above the engine posts and reports requests; only a program of the contract can post " +
		"other ones",
	"WRK-RATE-001": "the simulator limits the rate of a port; only a program of the contract can exceed it",
}

// noCounters is the reason why no engine breaks a rule of counters.
const noCounters = "an engine has no counters of a device; TestLies of package ctr puts go-back-N on " +
	"devices with wrong counters"
