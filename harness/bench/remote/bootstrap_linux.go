package remote

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// Words that the script prints, each after a mark that nothing else prints.
const (
	wordMachine = "machine" // the host has another architecture or system
	wordWant    = "want"    // the host does not have the binary
	wordHave    = "have"    // the host has the binary
	wordShort   = "short"   // the host could not store all of the binary
	wordNowhere = "nowhere" // the host has no folder for the binary
)

// machines maps GOARCH to the name that uname prints.
var machines = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// executable is the file of this program.
type executable struct {
	path string
	size int64
	hash string // SHA-256
}

// readSelf computes the hash of a program's file, once for a run.
func readSelf(path string) (*executable, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("remote: this program's file: %w", err)
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	if err != nil {
		return nil, fmt.Errorf("remote: read %s: %w", path, err)
	}
	return &executable{path, n, hex.EncodeToString(sum.Sum(nil))}, nil
}

// script returns the command that ssh runs on the far host. Any POSIX shell understands it, and as one quoted word it
// passes through every login shell. Without keep, the folder of the binary is accessible to the user only, is on a file
// system from which programs can be started, and is removed with the shell; the supervisor removes it as well, as its
// first act. With keep, the binary replaces those that earlier versions kept; a supervisor of one that still runs no
// longer needs its file.
func (b *executable) script(mark string, keep, sudo bool) string {
	place := `d=
for t in "${TMPDIR:-/tmp}" /var/tmp /dev/shm "$HOME"; do
	d=$(mktemp -d "$t/gauntlet-XXXXXX" 2>/dev/null) || continue
	printf "#!/bin/sh\n" >"$d/x" && chmod 700 "$d/x" && "$d/x" 2>/dev/null && rm "$d/x" && break
	rm -rf "$d"; d=
done
[ -n "$d" ] || { echo MARK nowhere; exit 3; }
trap "rm -rf $d" EXIT; trap "exit 3" HUP INT TERM
f=$d/gauntlet; leave=$f; p=$f; want=1
`
	if keep {
		place = `d=${XDG_CACHE_HOME:-$HOME/.cache}/gauntlet; leave=
mkdir -p "$d" || { echo MARK nowhere; exit 3; }
f=$d/supervisor-HASH; p=$f.$$; want=1
for o in "$d"/supervisor-*; do case "${o##*/}" in supervisor-HASH|*.*) ;; *) rm -f "$o" ;; esac; done
trap "rm -f $p" EXIT; trap "exit 3" HUP INT TERM
[ -x "$f" ] && [ "$(sha256sum <"$f" | cut -c1-64)" = HASH ] && want=
`
	}
	run := `"$f" process supervise "$leave"`
	if sudo {
		run = "sudo -n " + run
	}
	text := `umask 077
m=$(uname -s)/$(uname -m)
[ "$m" = Linux/MACHINE ] || { echo MARK machine "$m"; exit 3; }
` + place + `if [ -n "$want" ]; then
	echo MARK want
	head -c SIZE >"$p" 2>/dev/null
	[ "$(wc -c <"$p" | tr -d " ")" = SIZE ] || { echo MARK short "$d"; exit 3; }
	chmod 700 "$p"; [ "$p" = "$f" ] || mv "$p" "$f"
fi
echo MARK have
` + run + "\n"
	text = strings.NewReplacer("MARK", mark, "HASH", b.hash, "SIZE", fmt.Sprint(b.size), "MACHINE",
		machines[runtime.GOARCH]).Replace(text)
	return "exec sh -c '" + text + "'"
}

// Limits of the output of a login before that of the script.
const (
	mostNoise = 64 << 10
	mostWords = 4 << 10
)

// send reads the output of the script, and sends the binary if the host does not have it. It returns when the
// supervisor is about to write.
func (b *executable) send(mark string, in *bufio.Reader, out io.Writer) error {
	for noise := 0; noise < mostNoise; {
		text, err := in.ReadSlice('\n')
		noise += len(text)
		if err != nil {
			if err == bufio.ErrBufferFull { // a long line of another program
				continue
			}
			return io.EOF
		}
		said, ok := strings.CutPrefix(strings.TrimSpace(string(text)), mark+" ")
		if !ok {
			continue
		}
		word, rest, _ := strings.Cut(said, " ")
		switch word {
		case wordHave:
			return nil
		case wordWant:
			if err := b.copy(out); err != nil {
				return err // an error of this machine; the host's own comes as its next word
			}
		case wordMachine:
			return fmt.Errorf("it is %s, and this program is for Linux/%s: use a host of that kind",
				quote.Line(rest, quote.Name), machines[runtime.GOARCH])
		case wordShort:
			return fmt.Errorf("it could not keep the %d MiB of this program in %s: free some space there", b.size>>20,
				quote.Line(rest, quote.Name))
		case wordNowhere:
			return fmt.Errorf("no folder from which a program can be started: /tmp, /var/tmp, /dev/shm and the home " +
				"are mounted noexec, or not writable")
		}
	}
	return fmt.Errorf(
		"its login printed %d KiB and did not come to an end; make it silent where there is no terminal", mostNoise>>10)
}

func (b *executable) copy(out io.Writer) error {
	f, err := os.Open(b.path)
	if err != nil {
		return err
	}
	defer f.Close()
	if n, err := io.CopyN(quiet{out}, f, b.size); err != nil {
		return fmt.Errorf("read %s: %d of %d bytes: %w", b.path, n, b.size, err)
	}
	return nil
}

// quiet is a writer that hides errors, which are reported elsewhere.
type quiet struct{ io.Writer }

// Write implements io.Writer.
func (q quiet) Write(b []byte) (int, error) {
	_, _ = q.Writer.Write(b)
	return len(b), nil
}
