package contract

// Other is the recovery of a scheme that this program has no rules for: those of every RC transport judge it, and no
// scheme's.
const Other = "other"

// Recoveries lists the words for how a program may recover, each that of an implementation in this repository, whose
// scheme's rules then judge the program; and Other.
func Recoveries() []string {
	return []string{"fasr", "gb1", "gbn", "irn", "iwarp-ud", "rciw", "srn", Other}
}

// Features lists the other words that a program may declare: those by which a rule applies or does not, those that the
// implementations in this repository declare, and those that say what the program can do beside the contract's work
// lines.
func Features() []string {
	return []string{"backto0", "direct", "extension", "iwarp", "lowar", "nack_interval", "openapn", "pack", "sr",
		"sr-newest", "ud", "unreliable",
		"cm", FeatureDilate, "spec", "tcp"}
}
