// Package testbed reads the file that describes a lab with real devices: the hosts that have them, and their cables.
// The runs are not part of it, so that a Spec and its hash are the same in every lab; nor are credentials, which are
// left to ssh.
//
// The file is text. Its first statement is the version; then there is a line for each host, and comments begin with #:
//
//	testbed 1
//	ssh config=lab/ssh_config
//	host dut1 device=mlx5_0 interface=enp65s0f0np0 cable=enp1s0f1
package testbed

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// Version is the only version of the format.
const Version = 1

// Limits of a file.
const (
	maxLines = 1000
	maxLine  = 4096
	maxGID   = 65535
	maxPort  = 255
)

// File describes a lab.
type File struct {
	SSHConfig string // for ssh -F; "" is the configuration of the user
	Hosts     []Host
}

// Host is a machine with a device under test.
type Host struct {
	Name      string // name for ssh: an alias of ssh_config, or a host name
	Device    string // the RDMA device, "mlx5_0"
	Port      int    // port of the device, from 1
	Interface string // the network device of that port
	GID       int    // index of the GID of the test's address; FindGID searches for it
	Cable     string // network device of this machine at the other end of the cable
	Sudo      bool   // the user that ssh logs in as is not root, and sudo asks it for no password
}

// FindGID means that the GID is found by its address.
const FindGID = -1

// ReadFile reads the description of a lab; errors begin with the file's name and the line. Relative names of files in
// it start at its folder.
func ReadFile(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lab, err := Parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	if lab.SSHConfig != "" && !filepath.IsAbs(lab.SSHConfig) {
		if lab.SSHConfig, err = filepath.Abs(filepath.Join(filepath.Dir(path), lab.SSHConfig)); err != nil {
			return nil, err
		}
	}
	return lab, nil
}

// Parse reads the description of a lab. Every error is one line that names the line of the file, the field and the
// remedy.
func Parse(r io.Reader) (*File, error) {
	lab := &File{}
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	n, begun := 0, false
	for in.Scan() {
		n++
		line := strings.TrimSpace(in.Text())
		var err error
		switch {
		case n > maxLines:
			err = fmt.Errorf("more than %d lines", maxLines)
		case line == "" || line[0] == '#':
		case !begun:
			begun, err = true, version(line)
		default:
			err = lab.statement(line)
		}
		if err != nil {
			return nil, fmt.Errorf("%d: %w", n, err)
		}
	}
	err := in.Err()
	switch {
	case err != nil:
		err = fmt.Errorf("line longer than %d bytes, or unreadable: %w", maxLine, err)
	case !begun:
		err = fmt.Errorf("no statement; want %q first", fmt.Sprintf("testbed %d", Version))
	case len(lab.Hosts) == 0:
		err = fmt.Errorf("no host; want a line such as: host dut1 device=mlx5_0 interface=enp65s0f0np0 cable=enp1s0f1")
	}
	if err != nil {
		return nil, fmt.Errorf("%d: %w", n, err)
	}
	return lab, nil
}

// version reads the first statement.
func version(line string) error {
	words := strings.Fields(line)
	if words[0] != "testbed" || len(words) != 2 {
		return fmt.Errorf("%s: want %q as the first statement", quote.Line(line, quote.Name),
			fmt.Sprintf("testbed %d", Version))
	}
	if words[1] != strconv.Itoa(Version) {
		return fmt.Errorf("testbed %s: this program reads version %d", quote.Line(words[1], quote.Name), Version)
	}
	return nil
}

// statement reads any statement but the first.
func (f *File) statement(line string) error {
	words := strings.Fields(line)
	var err error
	switch words[0] {
	case "ssh":
		err = f.ssh(words[1:])
	case "host":
		err = f.host(words[1:])
	default:
		return fmt.Errorf("%s: unknown; want ssh or host", quote.Line(words[0], quote.Name))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", words[0], err)
	}
	return nil
}

func (f *File) ssh(words []string) error {
	if f.SSHConfig != "" {
		return fmt.Errorf("given twice; keep one")
	}
	return fields(words, map[string]func(string) error{"config": func(v string) error {
		f.SSHConfig = v
		return nil
	}}, "config")
}

// host reads a host statement. The host's name must be a word that ssh does not take for an option.
func (f *File) host(words []string) error {
	if len(words) == 0 || !named(words[0]) {
		return fmt.Errorf("want the name that ssh knows it by, of letters, digits and . _ -")
	}
	h := Host{Name: words[0], Port: 1, GID: FindGID}
	words = words[1:]
	if i := slices.Index(words, "sudo"); i >= 0 {
		h.Sudo, words = true, slices.Delete(slices.Clone(words), i, i+1)
	}
	err := fields(words, map[string]func(string) error{
		"device": word(&h.Device), "interface": word(&h.Interface), "cable": word(&h.Cable),
		"port": number(&h.Port, 1, maxPort), "gid": number(&h.GID, 0, maxGID),
	}, "device", "interface", "cable")
	if err != nil {
		return fmt.Errorf("%s: %w", h.Name, err)
	}
	for _, other := range f.Hosts {
		switch {
		case other.Name == h.Name:
			return fmt.Errorf("%s: given twice; keep one", h.Name)
		case other.Cable == h.Cable:
			return fmt.Errorf("%s: cable=%s is that of %s already; a cable has two ends", h.Name, h.Cable, other.Name)
		}
	}
	f.Hosts = append(f.Hosts, h)
	return nil
}

// fields passes each key=value to its reader. All needed keys must be present, and no key twice.
func fields(words []string, known map[string]func(string) error, needed ...string) error {
	seen := map[string]bool{}
	for _, w := range words {
		key, value, ok := strings.Cut(w, "=")
		read := known[key]
		switch {
		case !ok || read == nil:
			return fmt.Errorf("%s: unknown; want one of %s", quote.Line(w, quote.Name),
				strings.Join(sortedKeys(known), " "))
		case seen[key]:
			return fmt.Errorf("%s: given twice; keep one", key)
		case value == "":
			return fmt.Errorf("%s=: want a value", key)
		}
		seen[key] = true
		if err := read(value); err != nil {
			return fmt.Errorf("%s=%s: %w", key, quote.Line(value, quote.Name), err)
		}
	}
	for _, key := range needed {
		if !seen[key] {
			return fmt.Errorf("no %s=; want one", key)
		}
	}
	return nil
}

func sortedKeys(m map[string]func(string) error) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// word reads the name of a device.
func word(into *string) func(string) error {
	return func(v string) error {
		if !named(v) {
			return fmt.Errorf("want letters, digits and . _ -")
		}
		*into = v
		return nil
	}
}

func number(into *int, least, most int) func(string) error {
	return func(v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < least || n > most {
			return fmt.Errorf("want %d to %d", least, most)
		}
		*into = n
		return nil
	}
}

// named reports whether s is safe as a name: not an option, not a path, and without characters special to a shell.
func named(s string) bool {
	if s == "" || len(s) > quote.Name || s[0] == '-' || s[0] == '.' {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("._-", c)
	})
}

// Choose returns n hosts: those of names, separated by commas, in that order, or all hosts when names is empty.
func (f *File) Choose(names string, n int) (chosen []*Host, err error) {
	var all []string
	for i := range f.Hosts {
		all = append(all, f.Hosts[i].Name)
	}
	wanted := all
	if names != "" {
		wanted = strings.Split(names, ",")
	}
	for _, name := range wanted {
		i := slices.Index(all, name)
		if i < 0 {
			return nil, fmt.Errorf("testbed: no host %s; it has %s", quote.Line(name, quote.Name),
				strings.Join(all, ", "))
		}
		chosen = append(chosen, &f.Hosts[i])
	}
	switch {
	case len(chosen) != n:
		return nil, fmt.Errorf("testbed: %d hosts for %d devices under test; say which by --dut: %s", len(chosen), n,
			strings.Join(all, ", "))
	case n == 2 && chosen[0] == chosen[1]:
		return nil, fmt.Errorf("testbed: %s: two devices under test take two hosts", names)
	}
	return chosen, nil
}

// String returns the text of the lab, which Parse reads.
func (f *File) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "testbed %d\n", Version)
	if f.SSHConfig != "" {
		fmt.Fprintf(&b, "ssh config=%s\n", f.SSHConfig)
	}
	for _, h := range f.Hosts {
		fmt.Fprintf(&b, "host %s device=%s port=%d interface=%s", h.Name, h.Device, h.Port, h.Interface)
		if h.GID != FindGID {
			fmt.Fprintf(&b, " gid=%d", h.GID)
		}
		fmt.Fprintf(&b, " cable=%s", h.Cable)
		if h.Sudo {
			b.WriteString(" sudo")
		}
		b.WriteByte('\n')
	}
	return b.String()
}
