package seal

import (
	"bytes"
	"context"
	"crypto"

	"github.com/hiddeco/sshsig"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"golang.org/x/crypto/ssh"
)

// hash is the hash of ssh-keygen.
const hash = sshsig.HashSHA512

// signer is an SSH key as signer of DSSE.
type signer struct{ key ssh.Signer }

// verifier is an SSH public key as verifier of DSSE.
type verifier struct{ key ssh.PublicKey }

var (
	_ dsse.Signer   = signer{}
	_ dsse.Verifier = verifier{}
)

// Sign implements dsse.Signer.
func (s signer) Sign(_ context.Context, data []byte) ([]byte, error) {
	sig, err := sshsig.Sign(bytes.NewReader(data), s.key, hash, Namespace)
	if err != nil {
		return nil, err
	}
	return sshsig.Armor(sig), nil
}

// KeyID implements dsse.Signer.
func (s signer) KeyID() (string, error) { return Print(s.key.PublicKey()), nil }

// Verify implements dsse.Verifier.
func (v verifier) Verify(_ context.Context, data, armour []byte) error {
	sig, err := sshsig.Unarmor(armour)
	if err != nil {
		return err
	}
	return sshsig.Verify(bytes.NewReader(data), sig, v.key, hash, Namespace)
}

// KeyID implements dsse.Verifier.
func (v verifier) KeyID() (string, error) { return Print(v.key), nil }

// Public implements dsse.Verifier.
func (v verifier) Public() crypto.PublicKey { return v.key }
