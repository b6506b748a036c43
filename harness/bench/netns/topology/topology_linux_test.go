package topology

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// TestMain runs the test binary as one of the other processes of a run if the environment asks for one.
func TestMain(m *testing.M) {
	switch os.Getenv("NETNS_TEST_ROLE") {
	case "janitor":
		if err := JanitorMain(os.Args[1:], os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "victim":
		playVictim()
	case "rootless":
		playRootless()
	default:
		os.Exit(m.Run())
	}
}

func self(role string, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), "NETNS_TEST_ROLE="+role)
	cmd.Stderr = os.Stderr
	return cmd
}

func janitor(names []string) *exec.Cmd { return self("janitor", names...) }

// open builds a topology, or skips the test, with the reason, where the machine forbids it.
func open(t *testing.T, o Options) *Topology {
	t.Helper()
	if err := Privileged(); err != nil {
		t.Skip(err)
	}
	top, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := top.Close(); err != nil {
			t.Error(err)
		}
	})
	return top
}

func TestBridgeCarriesKernelTraffic(t *testing.T) {
	top := open(t, Options{Bridge: true})
	var server, client *net.UDPConn
	must(t, top.B.Do(func() (err error) {
		server, err = net.ListenUDP("udp4", &net.UDPAddr{IP: HostB().IP, Port: 7000})
		return err
	}))
	defer server.Close()
	must(t, top.A.Do(func() (err error) {
		client, err = net.DialUDP("udp4", nil, &net.UDPAddr{IP: HostB().IP, Port: 7000})
		return err
	}))
	defer client.Close()
	payload := make([]byte, 4096)
	if _, err := client.Write(payload); err != nil {
		t.Fatal(err)
	}
	must(t, server.SetReadDeadline(time.Now().Add(2*time.Second)))
	if n, _, err := server.ReadFromUDP(make([]byte, 9000)); err != nil || n != len(payload) {
		t.Fatalf("received %d bytes, %v; want %d", n, err, len(payload))
	}
}

// A stray frame would consume a draw of the loss process, so an idle topology must be silent.
func TestIdleTopologyIsSilent(t *testing.T) {
	clock := packetio.NewClock(packetio.Monotonic())
	watched := map[*packetio.Port]Options{}
	for _, o := range []Options{{Bridge: true}, {}, {Box: true}, {Box: true, Bridge: true}} {
		top := open(t, o)
		watch := func(in *Namespace, device string) {
			must(t, in.Do(func() error {
				p, err := packetio.Open(device, clock, packetio.Options{Outgoing: true})
				watched[p] = o
				return err
			}))
		}
		for _, c := range top.cables {
			watch(c.In, c.Host.Device)
			watch(top.M, c.Port)
		}
	}
	time.Sleep(400 * time.Millisecond)
	for p, o := range watched {
		frames, err := p.Receive()
		if err != nil || len(frames) > 0 {
			t.Errorf("%+v: %d stray frames, %v", o, len(frames), err)
		}
		p.Close()
	}
}

func TestDevicesAreAsAsked(t *testing.T) {
	top := open(t, Options{MTU: 4500})
	for _, c := range []struct {
		in     *Namespace
		device string
		host   Host
	}{{top.A, DeviceA, HostA()}, {top.B, DeviceB, HostB()}, {top.M, PortA, Host{}}, {top.M, PortB, Host{}}} {
		link, err := c.in.Links.LinkByName(c.device)
		if err != nil {
			t.Fatal(err)
		}
		a := link.Attrs()
		if a.MTU != 4500 || a.GSOMaxSegs != 1 || a.Flags&net.FlagUp == 0 || a.RawFlags&unix.IFF_NOARP == 0 {
			t.Errorf("%s: MTU %d, GSO segments %d, flags %v", c.device, a.MTU, a.GSOMaxSegs, a.Flags)
		}
		if c.host.MAC != nil && a.HardwareAddr.String() != c.host.MAC.String() {
			t.Errorf("%s: MAC %s, want %s", c.device, a.HardwareAddr, c.host.MAC)
		}
	}
}

func TestOpenRefusals(t *testing.T) {
	if _, err := Open(Options{MTU: 1500}); err == nil || !strings.Contains(err.Error(), "MTU 1500") {
		t.Errorf("MTU 1500: %v", err)
	}
	top := open(t, Options{})
	must(t, top.Close())
	must(t, top.Close()) // idempotent
	if err := top.StartIn(top.A, exec.Command("true")); err == nil {
		t.Error("a closed topology started a process")
	}
}

func TestStartInRunsInNamespace(t *testing.T) {
	top := open(t, Options{})
	cmd := exec.Command("readlink", "/proc/self/ns/net")
	var out strings.Builder
	cmd.Stdout = &out
	must(t, top.StartIn(top.B, cmd))
	must(t, cmd.Wait())
	var st unix.Stat_t
	must(t, unix.Fstat(top.B.Fd(), &st))
	if want := fmt.Sprintf("net:[%d]", st.Ino); strings.TrimSpace(out.String()) != want {
		t.Errorf("child is in %s, want %s", out.String(), want)
	}
}

func TestCloseKillsChildren(t *testing.T) {
	top := open(t, Options{})
	cmd := exec.Command("sleep", "600")
	must(t, top.StartIn(top.A, cmd))
	must(t, top.Close())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exitCode(cmd.ProcessState) != 128+9 {
			t.Errorf("child ended with %v, want killed", err)
		}
	case <-time.After(5 * time.Second):
		cmd.Process.Kill()
		t.Error("child survived Close")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
