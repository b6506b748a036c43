package rc

// State is the state of the responder's half of a QP (IBTA 10.3.1).
type State uint8

// The states.
const (
	Ready    State = iota
	Rejected       // error state by a request that had to be refused: queued answers, the last a NAK, still go out
	Flushed        // error state by the other half or the application: nothing is sent
)
