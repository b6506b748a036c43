package injector

import (
	"errors"
	"fmt"
	"net"
	"runtime"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/netem/tc"
)

// hook is a program that is attached to a device.
type hook struct {
	kind  string
	close func() error
}

// attach attaches the program of a side to the egress of its device, before the qdisc: as a link (TCX, Linux 6.6),
// which ends with its descriptor, or as a filter of the clsact qdisc, which ends with the device.
func (i *Injector) attach(side int) (hook, error) {
	namespace, device, p := i.config.Namespace, i.devices[side], i.programs[side]
	var l link.Link
	err := within(namespace, func() (err error) {
		l, err = link.AttachTCX(link.TCXOptions{Interface: device, Program: p, Attach: ebpf.AttachTCXEgress})
		return err
	})
	if err == nil {
		return hook{"TCX", l.Close}, nil
	}
	if !errors.Is(err, ebpf.ErrNotSupported) {
		return hook{}, fmt.Errorf("injector: attach to %s: %w; "+remedy, i.config.Devices[side], err)
	}
	remove, err := tc.AddEgress(namespace, device, p.FD(), "gauntlet")
	if err != nil {
		return hook{}, fmt.Errorf("injector: attach to %s: %w", i.config.Devices[side], err)
	}
	return hook{"clsact", remove}, nil
}

// deviceIndex returns the index of a device in a namespace.
func deviceIndex(namespace int, device string) (index int, err error) {
	err = within(namespace, func() error {
		d, err := net.InterfaceByName(device)
		if err != nil {
			return fmt.Errorf("injector: device %s: %w", device, err)
		}
		index = d.Index
		return nil
	})
	return index, err
}

// within runs f on a thread that has entered a namespace and that ends with f.
func within(namespace int, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends with this function
		if err := unix.Setns(namespace, unix.CLONE_NEWNET); err != nil {
			done <- fmt.Errorf("injector: enter the namespace of the link: %w", err)
			return
		}
		done <- f()
	}()
	return <-done
}
