package child

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The error of a program that cannot be started has the reason and the remedy.
func TestProgramsThatDoNotStart(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name, content string
		mode          os.FileMode
		want          string
	}{
		{"plain", "", 0o644, "chmod +x"},
		{"text", "hello", 0o755, "a script that begins with #!"},
		{"interpreted", "#!/no/such/interpreter\n", 0o755, "the interpreter in its first line"},
	} {
		path := filepath.Join(dir, c.name)
		must(t, os.WriteFile(path, []byte(c.content), c.mode))
		if got := notStarted(path, exec.Command(path).Start()); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	for path, want := range map[string]string{dir: "it is a folder", filepath.Join(dir, "none"): "no such file"} {
		if got := notStarted(path, exec.Command(path).Start()); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
