package container

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Confine turns this process, the first of a container, into a program that runs as a user other than root, with no
// capability but CAP_NET_RAW, which packet sockets need. It needs CAP_SETUID and CAP_SETGID and gives them up. name is
// the user in the form of the image. Confine returns only on an error.
func Confine(name string, argv []string) error {
	if len(argv) == 0 {
		return errors.New("container: confine: no program to become")
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return fmt.Errorf("container: %w", err)
	}
	uid, gid, err := identity(name)
	if err != nil {
		return err
	}
	runtime.LockOSThread() // credentials belong to this thread, and exec ends all others
	if err := stepDown(uid, gid); err != nil {
		return fmt.Errorf("container: become user %d: %w", uid, err)
	}
	return fmt.Errorf("container: start %s: %w", path, syscall.Exec(path, argv, os.Environ()))
}

// identity parses the user of an image: a number or a name, and optionally a group after a colon. No user, and root,
// mean Nobody.
func identity(name string) (uid, gid int, err error) {
	who, group, _ := strings.Cut(name, ":")
	if who == "" || who == "0" || who == "root" {
		who, group, _ = strings.Cut(Nobody, ":")
	}
	if uid, err = strconv.Atoi(who); err != nil {
		u, err := user.Lookup(who)
		if err != nil {
			return 0, 0, fmt.Errorf("container: user of the image: %w", err)
		}
		uid, _ = strconv.Atoi(u.Uid) // numbers, on Linux
		gid, _ = strconv.Atoi(u.Gid)
	} else {
		gid = uid
	}
	if group != "" {
		if gid, err = strconv.Atoi(group); err != nil {
			return 0, 0, fmt.Errorf("container: group %.40q of the image: want its number", group)
		}
	}
	if uid <= 0 {
		return 0, 0, fmt.Errorf("container: user %.40q of the image: want one that is not root", name)
	}
	return uid, gid, nil
}

// stepDown changes the user of the calling thread and keeps one capability, which the program inherits by the ambient
// set.
func stepDown(uid, gid int) error {
	if err := unix.Prctl(unix.PR_SET_KEEPCAPS, 1, 0, 0, 0); err != nil {
		return err
	}
	for _, call := range [][2]uintptr{{unix.SYS_SETGROUPS, 0}, {unix.SYS_SETRESGID, uintptr(gid)},
		{unix.SYS_SETRESUID, uintptr(uid)}} {
		id := call[1]
		args := [3]uintptr{id, id, id}
		if call[0] == unix.SYS_SETGROUPS {
			args = [3]uintptr{}
		}
		if _, _, e := unix.RawSyscall(call[0], args[0], args[1], args[2]); e != 0 {
			return e
		}
	}
	const raw = 1 << unix.CAP_NET_RAW
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	data := [2]unix.CapUserData{{Effective: raw, Permitted: raw, Inheritable: raw}}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, unix.CAP_NET_RAW, 0, 0)
}
