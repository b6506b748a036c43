package seal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// Key is a private key that signs. Close it.
type Key struct {
	Signer ssh.Signer
	agent  net.Conn // that has it; nil of a file
}

// Close lets go of the agent.
func (k *Key) Close() error {
	if k.agent == nil {
		return nil
	}
	return k.agent.Close()
}

// keyLimit bounds the file of a key, in bytes.
const keyLimit = 64 << 10

// FindKey finds the key to sign with: the private key of a file; of a file that holds the public half, or that cannot
// be used by itself because it has a passphrase or is of a hardware key, the one that the SSH agent has; for "" the
// only key of the agent.
func FindKey(path string) (*Key, error) {
	if path == "" {
		return fromAgent(nil)
	}
	text, err := readSome(path)
	if err != nil {
		return nil, fmt.Errorf("seal: key: %w", err)
	}
	if public, _, _, _, err := ssh.ParseAuthorizedKey(text); err == nil {
		return fromAgent(public)
	}
	private, err := ssh.ParsePrivateKey(text)
	if err == nil {
		return &Key{Signer: private}, nil
	}
	var locked *ssh.PassphraseMissingError
	public, why := ssh.PublicKey(nil), "cannot be used from its file"
	if errors.As(err, &locked) {
		public, why = locked.PublicKey, "has a passphrase"
	}
	if beside, err := readSome(path + ".pub"); public == nil && err == nil {
		public, _, _, _, _ = ssh.ParseAuthorizedKey(beside)
	}
	if public == nil {
		return nil, fmt.Errorf("seal: key %s: want a private key of OpenSSH, or the public half of one that the "+
			"agent has; of one with a passphrase or of hardware have %s.pub beside it", path, path)
	}
	key, err := fromAgent(public)
	if err != nil {
		return nil, fmt.Errorf("seal: key %s %s, and the agent has it not; add it first: ssh-add %s", path, why, path)
	}
	return key, nil
}

// readSome reads a file that may be that of a key.
func readSome(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, keyLimit))
}

// fromAgent takes a key of the SSH agent; nil is the only one.
func fromAgent(public ssh.PublicKey) (*Key, error) {
	socket := os.Getenv("SSH_AUTH_SOCK")
	if socket == "" {
		return nil, errors.New("seal: there is no SSH agent (SSH_AUTH_SOCK " +
			"is not set); start one and ssh-add the key, or name the file of a key without passphrase")
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("seal: SSH agent: %w", err)
	}
	all, err := agent.NewClient(conn).Signers()
	all = slices.DeleteFunc(all, func(s ssh.Signer) bool {
		has := s.PublicKey()
		return !slices.Contains(kinds, has.Type()) || public != nil && !bytes.Equal(has.Marshal(), public.Marshal())
	})
	if err == nil && len(all) == 1 {
		return &Key{all[0], conn}, nil
	}
	_ = conn.Close() // nothing was signed
	return nil, cmp.Or(err, choose(public, all))
}

// choose is the error of an agent that has not one key.
func choose(public ssh.PublicKey, all []ssh.Signer) error {
	switch {
	case public != nil:
		return fmt.Errorf("seal: the SSH agent has no private key of %s; add it: ssh-add FILE", Print(public))
	case len(all) == 0:
		return errors.New("seal: the SSH agent has no key that signs; add one: ssh-add FILE")
	}
	var prints []string
	for _, s := range all {
		prints = append(prints, Print(s.PublicKey()))
	}
	return fmt.Errorf("seal: the SSH agent has %d keys (%s); name the file of the public half of one",
		len(all), strings.Join(prints, " "))
}
