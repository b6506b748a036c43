package topology

import (
	"errors"
	"fmt"
	"os/exec"

	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// Options describes the topology to build.
type Options struct {
	Box    bool // a namespace X for a middlebox, between A and the link
	Bridge bool // join PortA and PortB by a bridge, for tc-netem; else a relay in M has to carry the frames
	MTU    int  // of all devices; 0 is DefaultMTU, less than MinMTU is an error
	// Steer makes the kernel process what a device receives on one processor, if it lets this process: for a link that
	// the kernel makes, which sends from any processor.
	Steer bool

	// Own leaves an endpoint in the namespace of this process, and removes its device at the end. Two endpoints in that
	// namespace still communicate over the link if the sender names the device, as soft-RoCE does.
	Own [2]bool

	// Of names, by the label of a namespace, the process that has it already: the first process of a container, in
	// whose namespace the devices are created. The other namespaces are created.
	Of map[string]int

	// Name, when not empty, makes the namespaces accessible during the run: `ip netns exec NAME-a …`, likewise NAME-link,
	// NAME-b and, with a middlebox, NAME-box. Janitor is then needed: the same binary, about to call JanitorMain with the
	// names it is given.
	Name    string
	Janitor func(names []string) *exec.Cmd
}

// Topology is the built network.
type Topology struct {
	A, M, B *Namespace
	X       *Namespace // namespace of the box; nil without one

	cables  []Cable
	spawner *spawner
	exposed *exposed
	closed  bool
}

// Open builds the topology; when a step fails, the parts built before are released. The caller closes the Topology.
func Open(o Options) (*Topology, error) {
	if o.MTU == 0 {
		o.MTU = DefaultMTU
	}
	if o.MTU < MinMTU {
		return nil, fmt.Errorf("netns: MTU %d is too small for 4096-byte payloads; want at least %d", o.MTU, MinMTU)
	}
	if err := Privileged(); err != nil {
		return nil, err
	}
	t := &Topology{}
	if err := t.build(o); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func (t *Topology) build(o Options) (err error) {
	if err = t.makeNamespaces(o); err != nil {
		return err
	}
	t.plan()
	if t.spawner, err = newSpawner(); err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return t.lay(o.MTU) },
		func() error { return configureHost(t.A, HostA(), HostB()) },
		func() error { return configureHost(t.B, HostB(), HostA()) },
		func() error { return t.admit(o.Own) },
		t.configureBox,
		func() error { return t.configureLink(o) },
		t.settle,
	} {
		if err = step(); err != nil {
			return err
		}
	}
	if o.Steer {
		if err = t.steer(); err != nil {
			return err
		}
	}
	if o.Name != "" {
		t.exposed, err = expose(o, t.all())
	}
	return err
}

// makeNamespaces creates the namespaces, or opens those that exist.
func (t *Topology) makeNamespaces(o Options) (err error) {
	for _, n := range []struct {
		at     **Namespace
		label  string
		wanted bool
	}{{&t.A, "A", true}, {&t.M, "M", true}, {&t.B, "B", true}, {&t.X, "X", o.Box}} {
		if !n.wanted {
			continue
		}
		open := newNamespace
		switch pid, given := o.Of[n.label]; {
		case given:
			open = func(label string) (*Namespace, error) { return namespaceOf(label, pid) }
		case n.label == "A" && o.Own[0] || n.label == "B" && o.Own[1]:
			open = ownNamespace
		}
		if *n.at, err = open(n.label); err != nil {
			return err
		}
	}
	return nil
}

// Cable is a veth pair from a device in a namespace to a port of the link in M.
type Cable struct {
	In   *Namespace
	Host Host // of the device
	Port string
}

// Open opens the device of the cable; any goroutine may use the port.
func (c Cable) Open(clock *packetio.Clock, o packetio.Options) (*packetio.Port, error) {
	return c.In.Open(c.Host.Device, clock, o)
}

// plan lists the cables, from A to B.
func (t *Topology) plan() {
	if t.X == nil {
		t.cables = []Cable{{t.A, HostA(), PortA}, {t.B, HostB(), PortB}}
		return
	}
	box := boxPorts()
	t.cables = []Cable{{t.A, HostA(), LANPortA}, {t.X, box[0], LANPortBox}, {t.X, box[1], PortA}, {t.B, HostB(), PortB}}
}

// Hop returns the cables at the ends of a hop, by side. Hop 0 begins at A; there is a hop 1 where there is a middlebox.
func (t *Topology) Hop(i int) [2]Cable { return [2]Cable(t.cables[2*i:]) }

// Ends returns the cables of the endpoints, by side.
func (t *Topology) Ends() [2]Cable { return [2]Cable{t.cables[0], t.cables[len(t.cables)-1]} }

// all returns the namespaces that there are.
func (t *Topology) all() (list []*Namespace) {
	for _, n := range []*Namespace{t.A, t.M, t.B, t.X} {
		if n != nil {
			list = append(list, n)
		}
	}
	return list
}

// Close kills the running processes that StartIn started, removes the exposed names and releases the namespaces. A
// second call does nothing.
func (t *Topology) Close() error {
	if t.closed {
		return nil
	}
	t.closed = true
	var errs []error
	if t.spawner != nil {
		t.spawner.close()
	}
	if t.exposed != nil {
		errs = append(errs, t.exposed.close())
	}
	for _, n := range t.all() {
		errs = append(errs, n.removeDevice(HostA()), n.removeDevice(HostB()), n.close())
	}
	return errors.Join(errs...)
}
