package seal

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// serve runs an agent with keys and sets SSH_AUTH_SOCK to it.
func serve(t *testing.T, keys ...any) {
	t.Helper()
	ring := agent.NewKeyring()
	for _, k := range keys {
		must(t, ring.Add(agent.AddedKey{PrivateKey: k}))
	}
	socket := filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", socket)
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	t.Setenv("SSH_AUTH_SOCK", socket)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(ring, c) }() // until the other side closes
		}
	}()
}

// save writes a private key, encrypted if there is a passphrase, and its public half beside it.
func save(t *testing.T, private any, passphrase string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "key")
	block, err := ssh.MarshalPrivateKey(private, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte(passphrase))
	}
	must(t, err)
	must(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	signer, err := ssh.NewSignerFromKey(private)
	must(t, err)
	must(t, os.WriteFile(path+".pub", ssh.MarshalAuthorizedKey(signer.PublicKey()), 0o600))
	return path
}

// A key is found in a file, or in the agent by its public half or as the only one.
func TestFindKey(t *testing.T) {
	_, one := newKey(t)
	two, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	plain, locked := save(t, one, ""), save(t, two, "secret")
	find := func(path, want string) {
		t.Helper()
		key, err := FindKey(path)
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s: %v, want %q", path, err, want)
		case want == "" && err != nil:
			t.Error(err)
		case want == "":
			file := sealed(t, key.Signer)
			if must(t, key.Close()); !accepts(t, file, allow(t, key.Signer.PublicKey(), "")) {
				t.Errorf("%s: what it signs is not accepted", path)
			}
		}
	}
	t.Setenv("SSH_AUTH_SOCK", "")
	find(plain, "")
	find("", "there is no SSH agent")
	find(locked, "has a passphrase, and the agent does not have it; add it first: ssh-add "+locked)
	find(plain+".pub", "there is no SSH agent")
	find(plain+".none", "no such file")
	must(t, os.WriteFile(plain+".odd", []byte("-----BEGIN OPENSSH PRIVATE KEY-----\n"), 0o600))
	find(plain+".odd", "want a private key of OpenSSH")
	t.Setenv("SSH_AUTH_SOCK", plain)
	find("", "SSH agent: ")
	serve(t)
	find("", "has no key that signs")
	find(plain+".pub", "has no private key of SHA256:")
	serve(t, two)
	find("", "")
	find(locked, "")
	find(locked+".pub", "")
	serve(t, &one, two)
	find("", "has 2 keys (SHA256:")
	find(locked, "")
	find(plain+".pub", "")
}
