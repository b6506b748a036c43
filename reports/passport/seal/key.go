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

// Key is a private key that signs. The caller closes it.
type Key struct {
	Signer ssh.Signer
	agent  net.Conn // connection to the agent that has the key; nil for a key from a file
}

// Close closes the connection to the agent.
func (k *Key) Close() error {
	if k.agent == nil {
		return nil
	}
	return k.agent.Close()
}

// keyLimit bounds the file of a key, in bytes.
const keyLimit = 64 << 10

// FindKey returns the key to sign with. For a private key without a passphrase it is the key in the file. For a public
// key, a key with a passphrase or one of hardware it is the matching key of the SSH agent. For "" it is the only key of
// the agent.
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
		return nil, fmt.Errorf("seal: key %s %s, and the agent does not have it; add it first: ssh-add %s", path, why, path)
	}
	return key, nil
}

// readSome reads a file up to keyLimit bytes.
func readSome(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, keyLimit))
}

// fromAgent returns the SSH agent's key with the public half; for nil, its only key.
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

// choose returns the error for an agent with no or several suitable keys.
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
