package engine

// Host is the part of an implementation that all QPs of one endpoint share, as they share one NIC: a pool of state, for
// example. A host that is an Inspector shows its state too; its variables are reported when a run ends. Like the
// engines that it builds it is used by one driver at a time and needs no lock.
type Host interface {
	// New builds both halves of one end of a QP. It returns an error that names the attribute or parameter it rejects.
	New(qp QP, mem Memory) (Requester, Responder, error)
}

// Fragmenter is implemented by a Host whose packets are IP packets: an engine of it sends and is handed whole
// datagrams, and the driver cuts them into fragments for the link and joins those that arrive.
type Fragmenter interface {
	// LinkMTU returns the longest IP packet that the link takes, in bytes.
	LinkMTU() int
}

// Host returns a new host with the parameters given: what NewHost makes, or, for an implementation whose QPs share
// nothing, New itself.
func (im *Implementation) Host(given Params) (Host, error) {
	if im.NewHost != nil {
		return im.NewHost(given)
	}
	return apart(im.New), nil
}

// apart is the host of QPs that share nothing.
type apart func(QP, Memory) (Requester, Responder, error)

// New implements Host.
func (f apart) New(qp QP, mem Memory) (Requester, Responder, error) { return f(qp, mem) }
