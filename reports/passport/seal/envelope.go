// Package seal signs a passport: it puts a statement into a DSSE envelope with an SSH signature, opens such a file, and
// looks up the signer in a list of allowed signers.
//
// The signature is an armoured SSHSIG in Namespace over the pre-authentication encoding of DSSE, so that ssh-keygen -Y
// verify checks it as well. A passport has exactly one form as a file, so a change of any byte is detected.
//
// Envelope: github.com/secure-systems-lab/dsse. Signature: PROTOCOL.sshsig of OpenSSH.
package seal

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hiddeco/sshsig"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"golang.org/x/crypto/ssh"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// Payload type and namespace of the signature, and the limit of a file.
const (
	PayloadType = "application/vnd.in-toto+json"
	Namespace   = "passport@rdma-gauntlet"
	Limit       = 16 << 20 // bytes of a file
)

// kinds are the types of keys that can sign; certificates cannot.
var kinds = []string{ssh.KeyAlgoED25519, ssh.KeyAlgoSKED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384,
	ssh.KeyAlgoECDSA521, ssh.KeyAlgoSKECDSA256, ssh.KeyAlgoRSA}

// Sealed is an opened file. Its content is untrusted before Verify and Signers.Find.
type Sealed struct {
	Payload []byte
	Key     ssh.PublicKey // key in the signature

	envelope dsse.Envelope
	sig      *sshsig.Signature
}

// Seal signs a statement and returns the file.
func Seal(ctx context.Context, payload []byte, key ssh.Signer) ([]byte, error) {
	if !slices.Contains(kinds, key.PublicKey().Type()) {
		return nil, fmt.Errorf("seal: a key of type %s: want one of %s", key.PublicKey().Type(),
			strings.Join(kinds, " "))
	}
	s, err := dsse.NewEnvelopeSigner(signer{key})
	if err != nil {
		return nil, err
	}
	e, err := s.SignPayload(ctx, PayloadType, payload)
	if err != nil {
		return nil, fmt.Errorf("seal: sign with %s: %w", Print(key.PublicKey()), err)
	}
	if file := write(e); len(file) <= Limit {
		return file, nil
	}
	return nil, fmt.Errorf("seal: a statement of %d bytes: want a passport of %d bytes at most", len(payload), Limit)
}

// write returns the only form of an envelope.
func write(e *dsse.Envelope) []byte {
	b, _ := json.MarshalIndent(e, "", "  ") // strings alone cannot fail
	return append(b, '\n')
}

// Print returns the fingerprint of a key, as ssh-keygen -l prints it.
func Print(key ssh.PublicKey) string { return ssh.FingerprintSHA256(key) }

// Open parses a file. The error names what the file lacks.
func Open(file []byte) (*Sealed, error) {
	s := &Sealed{}
	switch {
	case len(file) > Limit:
		return nil, fmt.Errorf("not a passport: more than %d bytes, the limit", Limit)
	case json.Unmarshal(file, &s.envelope) != nil:
		return nil, errors.New("not a passport: want a DSSE envelope, which is JSON")
	case s.envelope.PayloadType != PayloadType:
		given := quote.Line(s.envelope.PayloadType, quote.Name)
		return nil, fmt.Errorf("not a passport: a payload of type %q, want %s", given, PayloadType)
	case len(s.envelope.Signatures) != 1:
		return nil, fmt.Errorf("not a passport: %d signatures, want one", len(s.envelope.Signatures))
	}
	one := s.envelope.Signatures[0]
	armour, err := base64.StdEncoding.DecodeString(one.Sig)
	if err == nil {
		s.sig, err = sshsig.Unarmor(armour)
	}
	if err != nil || !slices.Contains(kinds, s.sig.PublicKey.Type()) {
		return nil, errors.New("not a passport: want the signature of an SSH key, and no certificate")
	}
	if s.Payload, err = base64.StdEncoding.DecodeString(s.envelope.Payload); err != nil {
		return nil, errors.New("not a passport: the payload is not base64")
	}
	s.Key = s.sig.PublicKey
	if !s.canonical(file, armour) {
		return nil, errors.New("not a passport: it was changed or rewritten since it was signed; " +
			"take the file as qualify wrote it")
	}
	return s, nil
}

// canonical reports whether Seal would write the same file. Parts of the file are not signed.
func (s *Sealed) canonical(file, armour []byte) bool {
	text := base64.StdEncoding.EncodeToString
	e := dsse.Envelope{PayloadType: PayloadType, Payload: text(s.Payload),
		Signatures: []dsse.Signature{{KeyID: Print(s.Key), Sig: text(armour)}}}
	return bytes.Equal(write(&e), file) && bytes.Equal(sshsig.Armor(s.sig), armour)
}

// Verify returns an error unless the key signed this statement as a passport. Signers.Find tells whose key it is.
func (s *Sealed) Verify(ctx context.Context) error {
	if s.sig.Namespace != Namespace {
		given := quote.Line(s.sig.Namespace, quote.Name)
		return fmt.Errorf("signed in the namespace %q, want %s: the signature is of something else", given, Namespace)
	}
	v, err := dsse.NewEnvelopeVerifier(verifier{s.Key})
	if err == nil {
		_, err = v.Verify(ctx, &s.envelope)
	}
	if err != nil {
		return fmt.Errorf("the signature does not fit: the passport was changed since %s signed it, or that key "+
			"never did", Print(s.Key))
	}
	return nil
}
