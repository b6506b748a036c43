package injector

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// Support describes what the running kernel supports for this process.
type Support struct {
	OK     bool
	Hook   string // how programs are attached: TCX or clsact
	Reason string // reason why not, with the remedy; empty when OK
}

// remedy is the advice for a process without the necessary rights.
const remedy = "run as root, or with CAP_SYS_ADMIN and CAP_NET_ADMIN, in the initial user namespace"

// Probe tests, once, an injector with all features, on the loopback device of a temporary namespace.
func Probe() Support { return probed() }

var probed = sync.OnceValue(func() Support {
	result := make(chan Support)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread and its namespace end with this function
		result <- try()
	}()
	return <-result
})

// try opens the injector, in a namespace of this thread.
func try() Support {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return Support{Reason: fmt.Sprintf("no namespace to try in: %v; "+remedy, err)}
	}
	ns, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Support{Reason: fmt.Sprintf("no namespace to try in: %v", err)}
	}
	defer unix.Close(ns)
	i, err := Open(everything(ns))
	var h hook
	if err == nil {
		defer i.Close()
		h, err = i.attach(0)
	}
	switch {
	case errors.Is(err, unix.EPERM):
		return Support{Reason: "no right to load programs of eBPF (EPERM): " + remedy}
	case err != nil:
		return Support{Reason: err.Error()}
	}
	_ = h.close() // the namespace ends in any case
	return Support{OK: true, Hook: h.kind}
}

// everything returns a configuration with all features.
func everything(namespace int) Config {
	loss := spec.Link{Queue: 1, Loss: spec.Loss{Model: spec.Bernoulli, P: 0.5}}
	d := Dialect{Port: 1, Others: 2, QPs: 1, Malformed: "MALFORMED"}
	d.Kinds[0] = Kind{Name: "PROBE", Class: fault.Data, Status: true, Setup: true, Turns: true, Words: true, Header: 12,
		Shape: Shape{QP: 4, Number: 8, Length: 14}}
	at := func(a fault.Action, copies int) fault.Fault {
		return fault.Fault{Action: a, From: fault.A, QP: fault.AnyQP, PSN: fault.At(1), Tx: 1,
			Type: "PROBE", Copies: copies}
	}
	return Config{Namespace: namespace, Devices: [2]string{"lo", "lo"}, Link: spec.Duplex{AB: loss, BA: loss},
		Dialect: d, Log: io.Discard,
		Faults: []fault.Fault{at(fault.Drop, 0), at(fault.Duplicate, 2), at(fault.Mark, 0)}}
}
