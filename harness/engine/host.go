package engine

// Host is the state that all QPs of one endpoint share, as they share one NIC: a pool of recovery state, for example.
// If a Host is an Inspector, its variables are reported when a run ends. A Host, like the engines that it builds, is
// used by one driver at a time and needs no lock.
type Host interface {
	// New builds both halves of one end of a QP. It returns an error that names the attribute or parameter it rejects.
	New(qp QP, mem Memory) (Requester, Responder, error)
}

// Fragmenter is implemented by a Host whose packets are IP packets. Its engines send and receive whole datagrams; the
// driver fragments them for the link and reassembles arriving fragments.
type Fragmenter interface {
	// LinkMTU returns the longest IP packet that the link takes, in bytes.
	LinkMTU() int
}

// Host returns a new host with the given parameters: the result of NewHost, or, for an implementation whose QPs share
// no state, a host that calls New.
func (im *Implementation) Host(given Params) (Host, error) {
	if im.NewHost != nil {
		return im.NewHost(given)
	}
	return apart(im.New), nil
}

// apart is a Host whose QPs share no state.
type apart func(QP, Memory) (Requester, Responder, error)

// New implements Host.
func (f apart) New(qp QP, mem Memory) (Requester, Responder, error) { return f(qp, mem) }
