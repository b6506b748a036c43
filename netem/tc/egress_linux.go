package tc

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// AddEgress attaches an eBPF program, given by a descriptor, to the egress of a device, given by its index, before its
// root qdisc. namespace is a descriptor too. The function returned detaches the program; otherwise it is removed with
// the device.
func AddEgress(namespace, device, program int, name string) (remove func() error, err error) {
	h, err := netlink.NewHandleAt(netns.NsHandle(namespace), unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("tc: netlink: %w", err)
	}
	act := &netlink.GenericQdisc{QdiscType: "clsact",
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: device, Handle: netlink.MakeHandle(0xffff, 0),
			Parent: netlink.HANDLE_CLSACT}}
	if err := h.QdiscAdd(act); err != nil {
		h.Close()
		return nil, fmt.Errorf("tc: clsact: %w", lacking(err, "sch_ingress"))
	}
	remove = func() error {
		defer h.Close()
		if err := h.QdiscDel(act); err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENODEV) {
			return fmt.Errorf("tc: remove clsact: %w", err)
		}
		return nil
	}
	filter := &netlink.BpfFilter{Fd: program, Name: name, DirectAction: true,
		FilterAttrs: netlink.FilterAttrs{LinkIndex: device,
			Parent: netlink.HANDLE_MIN_EGRESS, Handle: 1, Priority: 1, Protocol: unix.ETH_P_ALL}}
	if err := h.FilterAdd(filter); err != nil {
		return nil, errors.Join(fmt.Errorf("tc: program: %w", lacking(err, "cls_bpf")), remove())
	}
	return remove, nil
}

// lacking names the missing kernel module that an error implies.
func lacking(err error, module string) error {
	if errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("the kernel has no %s (%w): %w", module, err, ErrUnsupported)
	}
	return err
}
