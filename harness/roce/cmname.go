package roce

// String returns the name of the message, "REQ".
func (a CMAttribute) String() string {
	switch a {
	case CMREQ:
		return "REQ"
	case CMMRA:
		return "MRA"
	case CMREJ:
		return "REJ"
	case CMREP:
		return "REP"
	case CMRTU:
		return "RTU"
	case CMDREQ:
		return "DREQ"
	case CMDREP:
		return "DREP"
	}
	return "CM?"
}
