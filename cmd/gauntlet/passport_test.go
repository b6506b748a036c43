package main

import (
	"crypto/ed25519"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
	"github.com/rdma-gauntlet/gauntlet/reports/passport"
	"github.com/rdma-gauntlet/gauntlet/reports/passport/seal"
)

// sshKey writes the files key and allowed, which has options for alice, into dir and returns the key.
func sshKey(t *testing.T, dir, options string) ssh.Signer {
	t.Helper()
	private := ed25519.NewKeyFromSeed([]byte("a seed that everybody knows: 32B"))
	block, err := ssh.MarshalPrivateKey(private, "")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "key"), pem.EncodeToMemory(block), 0o600))
	key, err := ssh.NewSignerFromKey(private)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "allowed"),
		[]byte("alice@example.com "+options+string(ssh.MarshalAuthorizedKey(key.PublicKey()))), 0o600))
	return key
}

// writePassport writes a signed passport into a file of dir.
func writePassport(t *testing.T, dir, name string, key ssh.Signer, p *passport.Passport) {
	t.Helper()
	payload, err := p.Encode()
	must(t, err)
	text, err := seal.Seal(t.Context(), payload, key)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, name), text, 0o644))
}

// verify checks the passport of a qualification against its folder and refuses it beside another folder. It tells a
// changed file from an unreadable one.
func TestPassport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sshKey(t, dir, `namespaces="passport@rdma-gauntlet" `)
	must(t, os.WriteFile(filepath.Join(dir, "mine.txt"),
		[]byte("# Mine.\ndeclares gbn\nreference gbn\nfamilies GB1 APN\ncore APN-DEF-001\n"), 0o644))
	o := gauntlet(t, dir, "qualify", "--impl", "openapn", "--profile", "./mine.txt", "--out", "report", "--passport",
		"p.json", "--passport-key", "key")
	if o.code > 1 || !strings.Contains(o.stderr, "passport p.json, signed with SHA256:") {
		t.Fatalf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	v := gauntlet(t, dir, "passport", "verify", "p.json", "--allowed-signers", "allowed", "--evidence",
		"report", "--json")
	var c passport.Checked
	must(t, json.Unmarshal([]byte(v.stdout), &c))
	if v.code != 0 || !c.So() || c.Signer != "alice@example.com" || c.Runs == 0 || c.Whole != c.Runs ||
		c.Verdicts == 0 || len(c.Passport.Beyond) > 0 || c.Passport.Qualified != (o.code == 0) {
		t.Errorf("exit %d, %+v\n%s", v.code, c, v.stderr)
	}
	must(t, os.Remove(filepath.Join(dir, "report", filepath.FromSlash(c.Passport.Runs[0].Folder), "taps", "B.pcapng")))
	if v := gauntlet(t, dir, "passport", "verify", "p.json", "--allowed-signers", "allowed", "--evidence",
		"report"); v.code != 1 || !strings.HasPrefix(v.stdout, "NOT SO  openapn") ||
		!strings.Contains(v.stdout, "taps/B.pcapng of "+c.Passport.Runs[0].Folder+" is missing") || v.stderr != "" {
		t.Errorf("exit %d\n%s%s", v.code, v.stdout, v.stderr)
	}
	if again := gauntlet(t, dir, "passport", "sign", "report", "--key", "key", "--out", "p.json"); again.code != 2 ||
		!strings.Contains(again.stderr, "is there already") {
		t.Errorf("over another: exit %d, %s", again.code, again.stderr)
	}
}

// Any fault of a passport is one line, and the exit code tells whether the passport was read.
func TestPassportRefused(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SSH_AUTH_SOCK", "")
	key := sshKey(t, dir, `valid-before="20280101Z" `)
	writePassport(t, dir, "p.json", key, modeltest.Passport())
	text, err := os.ReadFile(filepath.Join(dir, "p.json"))
	must(t, err)
	at := strings.Index(string(text), `"payload": "`) + 400
	changed := append([]byte(nil), text...)
	changed[at] ^= 3
	for name, text := range map[string]string{"changed.json": string(changed), "cut.json": string(text[:len(text)/2]),
		"no.json": "[]",
		"bob":     "bob ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIL8tzSTOKYEmdMVHX1MlXPmAbDyY3Fd6Ig2QO2oYl5Wg\n",
		"odd":     "alice\n"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"verify p.json", 2, "--allowed-signers: name the file"},
		{"verify p.json --allowed-signers bob", 1, "is no allowed signer"},
		{"verify p.json --allowed-signers odd", 2, "allowed signers: odd:1: want principals"},
		{"verify p.json --allowed-signers none", 2, "no such file"},
		{"verify p.json --allowed-signers allowed --at 20290101Z", 1, "expired, valid-before 2028-01-01T00:00:00Z"},
		{"verify p.json --allowed-signers allowed --at 20270101Z --signer bob", 1, "want a passport of bob"},
		{"verify p.json --allowed-signers allowed --at soon", 2, `--at "soon": want a time`},
		{"verify p.json --allowed-signers allowed --at 20270101Z --evidence none", 2, "name the report folder"},
		{"verify changed.json --allowed-signers allowed --at 20270101Z", 1, "the signature does not fit"},
		{"verify cut.json --allowed-signers allowed", 2, "not a passport: want a DSSE envelope"},
		{"verify no.json --allowed-signers allowed", 2, "not a passport"},
		{"verify none.json --allowed-signers allowed", 2, "no such file"},
		{"diff p.json changed.json", 1, "changed.json: the signature does not fit"},
		{"diff p.json p.json --signer alice", 2, "are about --allowed-signers"},
		{"page p.json", 2, "--html: name the file"},
		{"page cut.json --html x.html", 2, "not a passport"},
		{"sign .", 2, "--out: name the file"},
		{"sign . --out x.json", 2, "there is no SSH agent"},
		{"sign . --out x.json --key key", 2, "name the report folder of a qualification"},
		{"sign . --out x.json --key odd", 2, "want a private key of OpenSSH"},
	} {
		o := inProcess(t, dir, append([]string{"passport"}, strings.Fields(c.args)...)...)
		if o.code != c.code || !strings.Contains(o.stderr, c.says) || strings.Count(o.stderr, "\n") != 1 ||
			o.stdout != "" {
			t.Errorf("%s: exit %d, want %d and %q; stderr %q, stdout %q", c.args, o.code, c.code, c.says,
				o.stderr, o.stdout)
		}
	}
}

// Passports are compared in the terminal and as pages that link to each other.
func TestPassportCompared(t *testing.T) {
	dir := t.TempDir()
	key := sshKey(t, dir, "")
	old, later := modeltest.Passport(), modeltest.Passport()
	later.Subject.Firmware, later.Rules[0].Status = "16.36.1000", "FAIL"
	writePassport(t, dir, "old.json", key, old)
	writePassport(t, dir, "new.json", key, later)
	if o := inProcess(t, dir, "passport", "diff", "old.json", "new.json"); o.code != 1 || !strings.Contains(o.stdout,
		"16.36.1000") || !strings.Contains(o.stdout, "WORSE") || o.stderr != "" {
		t.Errorf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	if o := inProcess(t, dir, "passport", "diff", "new.json", "old.json", "--allowed-signers", "allowed",
		"--json"); o.code != 0 || !strings.Contains(o.stdout, `"how": "BETTER"`) &&
		!strings.Contains(o.stdout, `"verdicts"`) {
		t.Errorf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	for _, args := range []string{"page old.json --html one.html",
		"page old.json new.json --html pages --allowed-signers allowed"} {
		if o := inProcess(t, dir, append([]string{"passport"}, strings.Fields(args)...)...); o != (exited{}) {
			t.Errorf("%s: %+v", args, o)
		}
	}
	for name, want := range map[string]string{"one.html": "whose that is was not asked",
		"pages/index.html": `href="./2.html"`, "pages/1.html": "says alice@example.com", "pages/2.html": "16.36.1000"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, no %q", name, err, want)
		}
	}
}
