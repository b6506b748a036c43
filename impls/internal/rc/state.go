package rc

// State is the state of the responder's half of a QP (IBTA 10.3.1).
type State uint8

// The states.
const (
	Ready    State = iota
	Rejected       // error state after a rejected request: queued answers, the last of them a NAK, are still sent
	Flushed        // error state caused by the other half or the application: nothing is sent
)
