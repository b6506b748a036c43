package testbed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const lab = `# The rack by the window.
testbed 1
ssh config=ssh_config
host dut1 device=mlx5_0 interface=enp65s0f0np0 cable=enp1s0f1
host dut-2.lab device=rxe0 port=2 interface=test0 gid=3 cable=t2 sudo
`

func TestParse(t *testing.T) {
	want := &File{SSHConfig: "ssh_config", Hosts: []Host{
		{Name: "dut1", Device: "mlx5_0", Port: 1, Interface: "enp65s0f0np0", GID: FindGID, Cable: "enp1s0f1"},
		{Name: "dut-2.lab", Device: "rxe0", Port: 2, Interface: "test0", GID: 3, Cable: "t2", Sudo: true}}}
	got, err := Parse(strings.NewReader(lab))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	again, err := Parse(strings.NewReader(got.String()))
	if err != nil || cmp.Diff(want, again) != "" {
		t.Errorf("%s: %v", got, err)
	}
}

// An error is named with its line, and no name can be taken for an option, a path or a shell command.
func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "0: no statement",
		"host a":                              `1: host a: want "testbed 1"`,
		"testbed 2":                           "1: testbed 2: this program reads version 1",
		"testbed 1":                           "1: no host",
		"testbed 1\nlink rate=1G":             "2: link: unknown; want ssh or host",
		"testbed 1\nhost -oProxyCommand=x":    "2: host: want the name that ssh knows it by",
		"testbed 1\nhost a;b device=d":        "2: host: want the name",
		"testbed 1\nhost a device=../d":       "device=../d: want letters",
		"testbed 1\nhost a device=d":          "2: host: a: no interface=",
		"testbed 1\nhost a password=x":        "password=x: unknown; want one of cable device gid interface port",
		"testbed 1\nhost a device=d port=0":   "port=0: want 1 to 255",
		"testbed 1\nhost a device=d gid=x":    "gid=x: want 0 to 65535",
		"testbed 1\nhost a device=d device=e": "device: given twice",
		"testbed 1\nhost a device=d interface=i cable=c\n" +
			"host a device=d interface=i cable=": "cable=: want a value",
		"testbed 1\nhost a device=d interface=i cable=c\n" +
			"host b device=d interface=i cable=c": "cable=c is that of a already",
		"testbed 1\nhost a device=d interface=i cable=c\n" +
			"host a device=d interface=i cable=d": "3: host: a: given twice",
		"testbed 1\nssh config=a\nssh config=b":        "3: ssh: given twice",
		"testbed 1\nhost " + strings.Repeat("x", 5000): "line longer than 4096 bytes",
		"testbed 1\n\x1b[2J":                           `2: \x1b[2J: unknown`,
	} {
		if got, err := Parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60q: %v, %v; want %q", text, got, err, want)
		}
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lab.txt")
	if err := os.WriteFile(path, []byte(lab), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := ReadFile(path)
	if err != nil || f.SSHConfig != filepath.Join(dir, "ssh_config") {
		t.Errorf("%+v, %v", f, err)
	}
}

// One or two devices are on the named hosts in that order, or on all hosts of the file.
func TestChoose(t *testing.T) {
	both, err := Parse(strings.NewReader(lab))
	if err != nil {
		t.Fatal(err)
	}
	one := &File{Hosts: both.Hosts[:1]}
	for _, c := range []struct {
		lab   *File
		names string
		n     int
		want  string // names of the hosts, or a part of the error
	}{
		{one, "", 1, "dut1"}, {both, "dut-2.lab", 1, "dut-2.lab"}, {both, "", 2, "dut1 dut-2.lab"},
		{both, "dut-2.lab,dut1", 2, "dut-2.lab dut1"},
		{both, "", 1, "2 hosts for 1 devices under test; say which by --dut: dut1, dut-2.lab"},
		{one, "", 2, "1 hosts for 2 devices"},
		{both, "x", 1, "no host x; it has dut1, dut-2.lab"}, {both, "dut1,dut1", 2,
			"two devices under test take two hosts"},
	} {
		var got []string
		hosts, err := c.lab.Choose(c.names, c.n)
		for _, h := range hosts {
			got = append(got, h.Name)
		}
		if text := strings.Join(got, " "); err == nil && text != c.want || err != nil &&
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, %d: %s, %v; want %s", c.names, c.n, text, err, c.want)
		}
	}
}

// A parsed testbed prints to a text that parses to the same.
func FuzzParse(f *testing.F) {
	f.Add(lab)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		again, err := Parse(strings.NewReader(got.String()))
		if err != nil || !cmp.Equal(got, again) {
			t.Errorf("%q: %v, %v", text, again, err)
		}
	})
}
