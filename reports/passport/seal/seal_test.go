package seal

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hiddeco/sshsig"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"golang.org/x/crypto/ssh"
	"pgregory.net/rapid"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newKey returns a key as signer and its private half.
func newKey(t *testing.T) (ssh.Signer, ed25519.PrivateKey) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	key, err := ssh.NewSignerFromKey(private)
	must(t, err)
	return key, private
}

// sealed returns a small passport signed by a key.
func sealed(t *testing.T, key ssh.Signer) []byte {
	t.Helper()
	file, err := Seal(t.Context(), []byte(`{"_type":"x","é":[1,2,3]}`), key)
	must(t, err)
	return file
}

// accepts reports whether a file is a passport signed by a key on the list.
func accepts(t *testing.T, file []byte, list Signers) bool {
	s, err := Open(file)
	if err != nil || s.Verify(t.Context()) != nil {
		return false
	}
	_, err = list.Find(s.Key, "", time.Now())
	return err == nil
}

// allow returns a list with one key and the given options.
func allow(t *testing.T, key ssh.PublicKey, options string) Signers {
	t.Helper()
	list, err := ParseSigners(strings.NewReader("# who may\n\nalice@example.com,bob@* " + options +
		string(ssh.MarshalAuthorizedKey(key))))
	must(t, err)
	return list
}

func TestSeal(t *testing.T) {
	key, _ := newKey(t)
	file := sealed(t, key)
	s, err := Open(file)
	if err != nil || string(s.Payload) != `{"_type":"x","é":[1,2,3]}` || s.Verify(t.Context()) != nil ||
		!accepts(t, file, allow(t, key.PublicKey(), "")) {
		t.Fatalf("%v %+v", err, s)
	}
	if other, _ := newKey(t); accepts(t, file, allow(t, other.PublicKey(), "")) {
		t.Error("signed by somebody else, and accepted")
	}
}

// A changed bit in any byte, signed or not, is detected.
func TestEveryByteCounts(t *testing.T) {
	key, _ := newKey(t)
	file, list := sealed(t, key), allow(t, key.PublicKey(), "")
	for i := range file {
		changed := bytes.Clone(file)
		changed[i] ^= 1 << (i % 8)
		if accepts(t, changed, list) {
			t.Errorf("byte %d, %q for %q, is not missed", i, changed[i], file[i])
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		changed, at := bytes.Clone(file), rapid.IntRange(0, len(file)-1).Draw(r, "at")
		switch rapid.IntRange(0, 2).Draw(r, "how") {
		case 0:
			changed[at] ^= rapid.ByteRange(1, 255).Draw(r, "by")
		case 1:
			changed = changed[:at]
		default:
			changed = append(changed[:at:at], append([]byte{rapid.Byte().Draw(r, "more")}, file[at:]...)...)
		}
		if accepts(t, changed, list) {
			r.Errorf("accepted: %q", changed)
		}
	})
}

// A file that is no passport is refused with one line that says what it lacks.
func TestOpenRefuses(t *testing.T) {
	key, _ := newKey(t)
	var e dsse.Envelope
	must(t, json.Unmarshal(sealed(t, key), &e))
	with := func(change func(*dsse.Envelope)) []byte {
		c := e
		c.Signatures = append([]dsse.Signature(nil), e.Signatures...)
		change(&c)
		return write(&c)
	}
	compact, _ := json.Marshal(&e)
	for want, file := range map[string][]byte{
		"DSSE envelope":    []byte("PASS\n"),
		"limit":            make([]byte, Limit+1),
		"of type":          with(func(e *dsse.Envelope) { e.PayloadType = "text/plain\x1b" }),
		"0 signatures":     with(func(e *dsse.Envelope) { e.Signatures = nil }),
		"2 signatures":     with(func(e *dsse.Envelope) { e.Signatures = append(e.Signatures, e.Signatures...) }),
		"not base64":       with(func(e *dsse.Envelope) { e.Payload = "*" }),
		"of an SSH key":    with(func(e *dsse.Envelope) { e.Signatures[0].Sig = "aGVsbG8=" }),
		"was changed":      with(func(e *dsse.Envelope) { e.Signatures[0].KeyID = "SHA256:another" }),
		"rewritten":        compact,
		"take the file as": append([]byte(" "), sealed(t, key)...),
	} {
		if _, err := Open(file); err == nil || !strings.Contains(err.Error(), want) ||
			strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%.40q: %v, want %q", file, err, want)
		}
	}
}

// A signature of the same key in another namespace is no passport.
func TestNamespace(t *testing.T) {
	key, _ := newKey(t)
	payload := []byte("{}")
	sig, err := sshsig.Sign(bytes.NewReader(dsse.PAE(PayloadType, payload)), key, hash, "file")
	must(t, err)
	file := write(&dsse.Envelope{PayloadType: PayloadType, Payload: base64.StdEncoding.EncodeToString(payload),
		Signatures: []dsse.Signature{{KeyID: Print(key.PublicKey()),
			Sig: base64.StdEncoding.EncodeToString(sshsig.Armor(sig))}}})
	s, err := Open(file)
	must(t, err)
	if err := s.Verify(t.Context()); err == nil || !strings.Contains(err.Error(), `namespace "file", want passport@`) {
		t.Error(err)
	}
}

// ssh-keygen agrees on the signed bytes, the signer and the namespace, also with a hardware key.
func TestSSHKeygen(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("no ssh-keygen")
	}
	key, _ := newKey(t)
	for _, signer := range []ssh.Signer{key, newToken(t)} {
		agrees(t, signer)
	}
}

// agrees compares ssh-keygen with this package on the signed bytes of a passport and on its payload alone.
func agrees(t *testing.T, key ssh.Signer) {
	t.Helper()
	if file := sealed(t, key); !accepts(t, file, allow(t, key.PublicKey(), "")) {
		t.Errorf("%s: not accepted here", key.PublicKey().Type())
	}
	s, err := Open(sealed(t, key))
	must(t, err)
	dir := t.TempDir()
	armour, err := base64.StdEncoding.DecodeString(s.envelope.Signatures[0].Sig)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "sig"), armour, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "allowed"), append([]byte("alice "),
		ssh.MarshalAuthorizedKey(key.PublicKey())...), 0o600))
	for text, good := range map[string]bool{string(dsse.PAE(PayloadType, s.Payload)): true, string(s.Payload): false} {
		c := exec.CommandContext(t.Context(), "ssh-keygen", "-Y", "verify", "-f", "allowed", "-I", "alice", "-n",
			Namespace, "-s", "sig")
		c.Dir, c.Stdin = dir, strings.NewReader(text)
		if out, err := c.CombinedOutput(); (err == nil) != good {
			t.Errorf("%.40q: %v\n%s", text, err, out)
		}
	}
}

// token is a hardware key in software: it signs the data together with the flag that a user touched it and a counter.
type token struct {
	private ed25519.PrivateKey
	public  ssh.PublicKey
}

// newToken returns a key of the type of FIDO tokens.
func newToken(t *testing.T) token {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	key, err := ssh.ParsePublicKey(ssh.Marshal(struct {
		Type        string
		Key         []byte
		Application string
	}{ssh.KeyAlgoSKED25519, public, "ssh:"}))
	must(t, err)
	return token{private, key}
}

func (k token) PublicKey() ssh.PublicKey { return k.public }

func (k token) Sign(_ io.Reader, data []byte) (*ssh.Signature, error) {
	application, message, state := sha256.Sum256([]byte("ssh:")), sha256.Sum256(data), []byte{1, 0, 0, 0, 7}
	return &ssh.Signature{Format: ssh.KeyAlgoSKED25519, Blob: ed25519.Sign(k.private, slices.Concat(application[:],
		state, message[:])), Rest: state}, nil
}
