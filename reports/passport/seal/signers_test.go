package seal

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// The list gives the keys that may sign, and the times at which they may.
func TestSigners(t *testing.T) {
	key, _ := newKey(t)
	other, _ := newKey(t)
	at := time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ options, name, want string }{
		{"", "", ""},
		{"", "alice@example.com", ""},
		{"", "bob@work", ""},
		{"", "carol@example.com", "want a passport of carol@example.com"},
		{`namespaces="file,pass*" `, "", ""},
		{`NAMESPACES="*,!passport@*" `, "", `has no passport@`},
		{`namespaces="file" `, "", `namespaces="file" has no passport@`},
		{`valid-after="20270131Z",valid-before="20270201Z" `, "", ""},
		{`valid-after="20270201Z" `, "", "valid-after 2027-02-01T00:00:00Z"},
		{`valid-before="202701311159Z" `, "", "expired, valid-before 2027-01-31T11:59:00Z"},
		{`valid-before="20270131115959Z" `, "", "expired"},
		{"cert-authority ", "", "certificates are not supported"},
	} {
		who, err := allow(t, key.PublicKey(), c.options).Find(key.PublicKey(), c.name, at)
		if c.want == "" && (err != nil || who != "alice@example.com,bob@*") || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %s: %q, %v; want %q", c.options, c.name, who, err, c.want)
		}
	}
	if _, err := allow(t, key.PublicKey(), "").Find(other.PublicKey(), "", at); err == nil ||
		!strings.Contains(err.Error(), Print(other.PublicKey())+" is no allowed signer") {
		t.Error(err)
	}
	again := append(allow(t, key.PublicKey(), `valid-before="20200101Z" `), allow(t, key.PublicKey(), "")...)
	if _, err := again.Find(key.PublicKey(), "", at); err != nil {
		t.Errorf("a line that does not fit takes away one that does: %v", err)
	}
}

// An error in a file of allowed signers names the line.
func TestSignersRefuse(t *testing.T) {
	key, _ := newKey(t)
	public := string(ssh.MarshalAuthorizedKey(key.PublicKey()))
	for text, want := range map[string]string{
		"":                                       "it has no lines",
		"# a\nalice@example.com\n":               "2: want principals",
		"alice ssh-ed25519 AAAA\n":               "1: the key of alice cannot be read",
		"alice valid-before=\"soon\" " + public:  "1: option valid-before=",
		"alice no-touch-required " + public:      "want namespaces, valid-after",
		"\"alice " + public:                      "1: want principals",
		strings.Repeat("#", signersLimit) + "\n": "the limit",
	} {
		if _, err := ParseSigners(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
	if list, err := ParseSigners(strings.NewReader(`"alice example" ` + public)); err != nil ||
		list[0].principals != "alice example" {
		t.Errorf("%v %v", list, err)
	}
}
