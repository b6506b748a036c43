// Package all is the registry of the implementations in this repository, sorted by name.
package all

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/fasr"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/impls/gobackone"
	"github.com/rdma-gauntlet/gauntlet/impls/irn"
	"github.com/rdma-gauntlet/gauntlet/impls/lowar"
	"github.com/rdma-gauntlet/gauntlet/impls/openapn"
	"github.com/rdma-gauntlet/gauntlet/impls/pseudoack"
	"github.com/rdma-gauntlet/gauntlet/impls/rciwarp"
	"github.com/rdma-gauntlet/gauntlet/impls/srnic"
	"github.com/rdma-gauntlet/gauntlet/impls/writerecord"
)

// Implementations returns the registry.
func Implementations() []engine.Implementation {
	return []engine.Implementation{
		fasr.Implementation(),
		gbn.Implementation(),
		gobackone.Implementation(),
		irn.Implementation(),
		lowar.Over(gbn.Implementation()),
		lowar.Over(gobackone.Implementation()),
		openapn.Implementation(),
		pseudoack.Over(gbn.Implementation()),
		rciwarp.Implementation(),
		srnic.Implementation(),
		writerecord.Implementation(),
	}
}

// Find looks an implementation up by its name.
func Find(name string) (engine.Implementation, bool) {
	for _, impl := range Implementations() {
		if impl.Name == name {
			return impl, true
		}
	}
	return engine.Implementation{}, false
}

// Names returns the names in the order of the list.
func Names() []string {
	var names []string
	for _, impl := range Implementations() {
		names = append(names, impl.Name)
	}
	return names
}

// Plain returns the names of the implementations in which the situation of every conformance scenario can arise. In the
// others some situations cannot: they have no atomics, number READ responses separately, have a queue that is never
// full, a middlebox that answers for the peer, or repair a loss before a NAK.
func Plain() []string { return []string{"gbn", "gobackone", "writerecord"} }
