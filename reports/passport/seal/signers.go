package seal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// Signers is a file of allowed signers in the format of ssh-keygen(1): principals, options, key.
type Signers []allowed

// allowed is a line of the file.
type allowed struct {
	line       int
	principals string // a pattern list
	namespaces string // a pattern list; "" for any
	authority  bool
	after      time.Time // zero for no bound
	before     time.Time // zero for no bound
	key        ssh.PublicKey
}

// signersLimit bounds a file of allowed signers, in bytes.
const signersLimit = 1 << 20

// ParseSigners reads a file of allowed signers. The error begins with the line.
func ParseSigners(in io.Reader) (list Signers, err error) {
	text, err := io.ReadAll(io.LimitReader(in, signersLimit+1))
	if err != nil {
		return nil, err
	}
	if len(text) > signersLimit {
		return nil, fmt.Errorf("more than %d bytes, the limit of a file of allowed signers", signersLimit)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, signersLimit+1)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		a, err := parseAllowed(line)
		if err != nil {
			return nil, fmt.Errorf("%d: %w", n, err)
		}
		a.line = n
		list = append(list, a)
	}
	if len(list) == 0 {
		return nil, errors.New("it has no lines; want lines such as: alice@example.com ssh-ed25519 AAAA…")
	}
	return list, lines.Err()
}

// parseAllowed parses a line. After the principals it has the form of authorized_keys.
func parseAllowed(line string) (a allowed, err error) {
	var rest string
	var ok bool
	if quoted, found := strings.CutPrefix(line, `"`); found {
		a.principals, rest, ok = strings.Cut(quoted, `"`)
	} else if at := strings.IndexAny(line, " \t"); at > 0 {
		a.principals, rest, ok = line[:at], line[at:], true
	}
	if !ok || a.principals == "" {
		return a, errors.New("want principals, options and a key, such as: alice@example.com ssh-ed25519 AAAA…")
	}
	key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(strings.TrimSpace(rest)))
	if err != nil {
		return a, fmt.Errorf("the key of %s cannot be read; want options and a key, such as: ssh-ed25519 AAAA…",
			quote.Line(a.principals, quote.Name))
	}
	a.key = key
	for _, o := range options {
		if err := a.option(o); err != nil {
			return a, err
		}
	}
	return a, nil
}

// option parses one option.
func (a *allowed) option(text string) (err error) {
	name, value, _ := strings.Cut(text, "=")
	value = strings.Trim(value, `"`)
	switch strings.ToLower(name) {
	case "cert-authority":
		a.authority = true
	case "namespaces":
		a.namespaces = value
	case "valid-after":
		a.after, err = ParseTime(value)
	case "valid-before":
		a.before, err = ParseTime(value)
	default:
		err = errors.New("want namespaces, valid-after, valid-before or cert-authority")
	}
	if err != nil {
		return fmt.Errorf("option %s: %w", quote.Line(text, quote.Name), err)
	}
	return nil
}

// ParseTime parses a time like ssh-keygen: YYYYMMDD or YYYYMMDDHHMM[SS], in the local time zone, or in UTC if a Z
// follows.
func ParseTime(text string) (time.Time, error) {
	digits, utc := strings.CutSuffix(text, "Z")
	zone := time.Local
	if utc {
		zone = time.UTC
	}
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if len(layout) == len(digits) {
			if at, err := time.ParseInLocation(layout, digits, zone); err == nil {
				return at, nil
			}
		}
	}
	return time.Time{}, errors.New("want a time such as 20270131 or 20270131235900Z")
}

// Find returns the principals of a key that may sign passports at a time, one of which matches name; "" matches any.
// The error has the reason why there is none.
func (list Signers) Find(key ssh.PublicKey, name string, at time.Time) (principals string, err error) {
	err = fmt.Errorf("%s %s is no allowed signer", key.Type(), Print(key))
	known := false
	for i := range list {
		a := &list[i]
		if !bytes.Equal(a.key.Marshal(), key.Marshal()) {
			continue
		}
		why := a.refuses(name, at)
		if why == "" {
			return a.principals, nil
		}
		if !known {
			known, err = true, fmt.Errorf("%s may not sign this: %s (line %d of the allowed signers)",
				quote.Line(a.principals, quote.Name), why, a.line)
		}
	}
	return "", err
}

// refuses returns the reason why a line does not allow a passport by name; "" if it does.
func (a *allowed) refuses(name string, at time.Time) string {
	switch {
	case a.authority:
		return "the key is there as a certificate authority, and certificates are not supported; " +
			"list the key of the signer itself"
	case a.namespaces != "" && !matches(a.namespaces, Namespace):
		return fmt.Sprintf("namespaces=%q has no %s", quote.Line(a.namespaces, quote.Name), Namespace)
	case !a.after.IsZero() && at.Before(a.after):
		return "valid-after " + a.after.UTC().Format(time.RFC3339)
	case !a.before.IsZero() && at.After(a.before):
		return "the key expired, valid-before " + a.before.UTC().Format(time.RFC3339) +
			"; --at takes the time at which the passport reached you"
	case name != "" && !matches(a.principals, name):
		return fmt.Sprintf("want a passport of %s", quote.Line(name, quote.Name))
	}
	return ""
}

// matches reports whether a text matches a pattern list (PATTERNS in ssh_config(5)): one pattern, and none that follows
// a "!".
func matches(list, text string) (found bool) {
	for pattern := range strings.SplitSeq(list, ",") {
		pattern, negated := strings.CutPrefix(strings.TrimSpace(pattern), "!")
		expression := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
		if fits, err := regexp.MatchString("(?s)^(?:"+expression+")$", text); err == nil && fits {
			if negated {
				return false
			}
			found = true
		}
	}
	return found
}
