package engine

import "github.com/rdma-gauntlet/gauntlet/harness/roce"

// Implementation is a transport as the registry lists it. How one that is no engine is started is not its affair: its
// name in a Spec says that, see scenario.Party.
type Implementation struct {
	Name    string  // short and lower case: "gbn"
	Title   string  // one line
	Source  string  // the paper or specification, with section
	Params  []Param // parameters of the scheme
	Recover string  // recovery scheme, a feature name for rules: "gbn", "gb1"

	// Features are the other features that it declares to rules, beside Recover: "sr" when its responder keeps what
	// comes early, "direct" when it writes that to memory at once, and "extension" when it speaks opcodes of the
	// manufacturer-specific classes.
	Features []string

	// Accepts reports opcodes outside the RC class that the scheme understands; a packet with any other is dropped
	// before it reaches an engine. Nil means none. A scheme that accepts roce.UDP or roce.TCP is not RoCEv2: see
	// Fragmenter.
	Accepts func(roce.Opcode) bool

	// QKey is the Q_Key that datagrams must have when the scheme accepts any; 0 when it does not.
	QKey uint32

	// QueueDepth, when not nil, chooses the depth of the send queue, in place of the one that was asked for, from
	// QP.Path and the parameters. A note, if not empty, says in one line what the user should know of the choice; an
	// error names what is missing or wrong.
	QueueDepth func(qp QP) (depth int, note string, err error)

	// NeedsBytes says that the scheme computes with the bytes of packets, so that they have payload also in a run that
	// does not encode them. The payload of its SENDs and WRITEs is then what Memory.Load returned.
	NeedsBytes bool

	// NewHost makes what the QPs of one endpoint share, from which a driver then builds each of them; see Host. Nil
	// means that they share nothing.
	NewHost func(given Params) (Host, error)

	// NewBox makes the node that stands in the path near side A, when the implementation has one; see Middlebox. Nil
	// means that the path is the link alone. The error names the parameter that it rejects.
	NewBox func(BoxConfig) (Middlebox, error)

	// New builds both halves of one end of a QP that is alone on its host. It returns an error that names the attribute
	// or parameter it rejects. Nil, and NewHost too, means that what runs is no engine: a program, or the kernel.
	New func(qp QP, mem Memory) (Requester, Responder, error)

	// NewStream, when not nil, builds the same end over a TCP that the host brings; a bench that has one uses it unless
	// TCPParam says otherwise. The error names the attribute or parameter that it rejects.
	NewStream func(qp QP, mem Memory) (Stream, error)
}

// Try returns what one end of a QP would be refused for, or the box in its path. What is no engine is not tried: a
// program says so when it is run.
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

// Unreliable is the feature of a transport whose requester completes without knowing what arrived: the memory of its
// peer may lack anything that was not declared.
const Unreliable = "unreliable"

// OverIP reports whether the transport is no RoCEv2, but runs over UDP or TCP.
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

// DeclaresWith is Declares when parameters are given. One that is not at its default makes the scheme a variant, whose
// rules ask for a feature of the parameter's name: with nack_interval=4us go-back-N declares "nack_interval".
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
	Meaning string // with its unit
}
