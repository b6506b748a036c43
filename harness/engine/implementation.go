package engine

import "github.com/rdma-gauntlet/gauntlet/harness/roce"

// Implementation is an entry of the registry of transports. It does not describe how a transport that is no engine is
// started: see scenario.Party.
type Implementation struct {
	Name    string  // short and lower case: "gbn"
	Title   string  // one line
	Source  string  // the paper or specification, with section
	Params  []Param // parameters of the scheme
	Recover string  // recovery scheme, a feature name for rules: "gbn", "gb1"

	// Features are the features declared to rules in addition to Recover: "sr" if the responder keeps out-of-order
	// packets, "direct" if it writes their payload to memory at once, and "extension" if the scheme uses opcodes of the
	// manufacturer-specific classes.
	Features []string

	// Accepts reports whether the scheme understands an opcode outside the RC class; packets with other opcodes are
	// dropped before they reach an engine. Nil means that it understands none. A scheme that accepts roce.UDP or
	// roce.TCP is not RoCEv2: see Fragmenter.
	Accepts func(roce.Opcode) bool

	// QKey is the Q_Key that datagrams must have if the scheme accepts datagrams; else 0.
	QKey uint32

	// QueueDepth, if not nil, returns the depth of the send queue that replaces qp.QueueDepth, computed from QP.Path
	// and the parameters. The note, if not empty, is one line about the choice for the user; the error names the value
	// that is missing or wrong.
	QueueDepth func(qp QP) (depth int, note string, err error)

	// NeedsBytes reports that the scheme computes with the bytes of packets. Packets then have a payload even in a run
	// that does not encode them: for SENDs and WRITEs the result of Memory.Load.
	NeedsBytes bool

	// NewHost returns the state that the QPs of one endpoint share, from which a driver builds each QP; see Host. Nil
	// means that QPs share no state.
	NewHost func(given Params) (Host, error)

	// NewBox returns the node in the path near side A, see Middlebox. Nil means that the path is the link alone. The
	// error names the parameter that it rejects.
	NewBox func(BoxConfig) (Middlebox, error)

	// New builds both halves of one end of a QP that is the only QP of its host. The error names the attribute or
	// parameter that it rejects. If New and NewHost are nil, the transport is not an engine but a program or the
	// kernel.
	New func(qp QP, mem Memory) (Requester, Responder, error)

	// NewStream, if not nil, builds the same end over the host's TCP. A bench whose host has TCP uses NewStream unless
	// TCPParam selects otherwise. The error names the attribute or parameter that it rejects.
	NewStream func(qp QP, mem Memory) (Stream, error)
}

// Try returns the error with which one end of a QP, or the middlebox in its path, would be rejected. For a transport
// that is not an engine it returns nil: a program reports such errors when it runs.
func (im *Implementation) Try(qp QP, mem Memory) error {
	if im.New == nil {
		return nil
	}
	host, err := im.Host(qp.Params)
	if err != nil {
		return err
	}
	if _, _, err = host.New(qp, mem); err != nil || im.NewBox == nil {
		return err
	}
	_, err = im.NewBox(BoxConfig{Params: qp.Params, RTT: qp.Path.RTT})
	return err
}

// Unreliable is the feature of a transport whose requester completes requests without knowing which packets arrived:
// the memory of the peer may lack any bytes that no Declared event covers.
const Unreliable = "unreliable"

// OverIP reports whether the transport is not RoCEv2, but runs over plain UDP or TCP.
func (i *Implementation) OverIP() bool {
	return i.Accepts != nil && (i.Accepts(roce.UDP) || i.Accepts(roce.TCP))
}

// Declares returns every feature that rules may ask of the implementation.
func (i *Implementation) Declares() []string {
	if i.OverIP() {
		return append([]string{i.Recover}, i.Features...)
	}
	return append([]string{"rc", i.Recover}, i.Features...)
}

// DeclaresWith is Declares for a run with the given parameters. Each parameter that differs from its default adds a
// feature of the same name, for rules about that variant: with nack_interval=4us go-back-N declares "nack_interval".
func (i *Implementation) DeclaresWith(given Params) []string {
	features := i.Declares()
	for _, p := range i.Params {
		if value, ok := given[p.Name]; ok && value != p.Default {
			features = append(features, p.Name)
		}
	}
	return features
}

// Param documents one parameter of a scheme.
type Param struct {
	Name    string
	Default string
	Meaning string // one phrase for the help text, including the unit
}
