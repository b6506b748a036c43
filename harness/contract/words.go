package contract

import (
	"slices"
	"strings"
)

// Other is the recovery of a scheme without rules in this repository: the rules for every RC transport judge it, and no
// scheme's.
const Other = "other"

// Recoveries lists the recovery schemes that a program may declare: the name of each implementation in this repository,
// the rules of whose scheme then judge the program; and Other.
func Recoveries() []string {
	return []string{"fasr", "gb1", "gbn", "irn", "iwarp-ud", "rciw", "srn", Other}
}

// schemes are the features without which a recovery scheme is not that scheme. The rules of schemes depend on them.
var schemes = map[string][]string{"fasr": {"sr", "sr-newest", "extension"}, "gb1": {"sr", "extension"},
	"irn": {"sr", "direct", "extension"}, "iwarp-ud": {"iwarp", "unreliable"}, "rciw": {"iwarp"},
	"srn": {"sr", "extension"}}

// Declared returns the features that the program declares: those of its recovery scheme, then the others in its own
// order.
func (c *Capabilities) Declared() []string {
	list := slices.Clone(schemes[c.Recovery])
	for _, f := range strings.Fields(c.Features) {
		if !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	return list
}

// Features lists the features that a program may declare: those on which a rule depends, those that the implementations
// in this repository declare, and those for orders beside the contract's work lines.
func Features() []string {
	return []string{"backto0", "direct", "extension", "iwarp", "lowar", "nack_interval", "openapn", "pack", "sr",
		"sr-newest", "ud", "unreliable",
		"cm", FeatureDilate, "spec", "tcp"}
}
