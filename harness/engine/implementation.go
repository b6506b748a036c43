package engine

import "github.com/rdma-gauntlet/gauntlet/harness/roce"

// Implementation is a transport as the registry lists it.
type Implementation struct {
	Name    string  // short and lower case: "gbn"
	Title   string  // one line
	Source  string  // the paper or specification, with section
	Params  []Param // parameters of the scheme
	Recover string  // recovery scheme, a feature name for rules: "gbn", "gb1"

	// Features are the other features that it declares to rules, beside Recover: "sr" when its responder keeps what comes
	// early, and "extension" when it speaks opcodes of the manufacturer-specific classes.
	Features []string

	// Accepts reports opcodes outside the RC class that the scheme understands; a packet with any other is dropped
	// before it reaches an engine. Nil means none.
	Accepts func(roce.Opcode) bool

	// QKey is the Q_Key that datagrams must have when the scheme accepts any; 0 when it does not.
	QKey uint32

	// FrameOut and FrameIn, when not nil, may change a whole frame, from the Ethernet header on: what they return takes
	// its place after encoding, and before the checks. A transport has no business there; one that is wrong on purpose,
	// to show that a rule can fail, has.
	FrameOut, FrameIn func(frame []byte) []byte

	// NewHost makes what the QPs of one endpoint share, from which a driver then builds each of them; see Host. Nil means
	// that they share nothing.
	NewHost func(given Params) (Host, error)

	// New builds both halves of one end of a QP that is alone on its host. It returns an error that names the attribute or parameter it rejects.
	New func(qp QP, mem Memory) (Requester, Responder, error)
}

// Declares returns every feature that rules may ask of the implementation.
func (i *Implementation) Declares() []string {
	return append([]string{"rc", i.Recover}, i.Features...)
}

// Param documents one parameter of a scheme.
type Param struct {
	Name    string
	Default string
	Meaning string // with its unit
}
