package registry

// Hosted says on which host of which testbed a device under test is, or on which two.
type Hosted struct {
	File string // the testbed file; "" is none
	Host string // its name there, or two, "dut1,dut2": at A and at B; "" is all that the testbed has
	Keep bool   // leave this program on it for the next time
}
