package contract

// Other is the recovery of a scheme without rules in this repository: the rules for every RC transport judge it, and no
// scheme's.
const Other = "other"

// Recoveries lists the recovery schemes that a program may declare: the name of each implementation in this repository,
// the rules of whose scheme then judge the program; and Other.
func Recoveries() []string {
	return []string{"fasr", "gb1", "gbn", "irn", "iwarp-ud", "rciw", "srn", Other}
}

// Features lists the features that a program may declare: those on which a rule depends, those that the implementations
// in this repository declare, and those for orders beside the contract's work lines.
func Features() []string {
	return []string{"backto0", "direct", "extension", "iwarp", "lowar", "nack_interval", "openapn", "pack", "sr",
		"sr-newest", "ud", "unreliable",
		"cm", FeatureDilate, "spec", "tcp"}
}
