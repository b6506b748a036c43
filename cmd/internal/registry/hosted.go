package registry

// Hosted says on which host of which testbed a device under test is.
type Hosted struct {
	File string // the testbed file; "" is none
	Host string // its name there; "" is the only one
	Keep bool   // leave this program on it for the next time
}
