package units

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/shard"
)

// answer is the result of a unit of these tests.
type answer struct {
	N    int     `json:"n"`
	Half float64 `json:"half"`
}

// job is a list of units of work, with the number of times that each was made.
type job struct {
	all  []Unit
	mu   sync.Mutex
	made map[int]int
}

func newJob(n int) *job {
	j := &job{made: map[int]int{}}
	for i := range n {
		j.all = append(j.all, New("test", fmt.Sprintf("unit %d", i), float64(1+i%7), fmt.Sprint(i)))
	}
	return j
}

func (j *job) batch() *Batch {
	return NewBatch([]string{"test", "--n=" + fmt.Sprint(len(j.all))}, j.all)
}

// run makes one shard of the job in a folder.
func (j *job) run(ctx context.Context, t testing.TB, dir string, p shard.Part) (Done, error) {
	t.Helper()
	f, err := OpenFolder(dir)
	if err == nil {
		err = f.Begin(j.batch())
	}
	if err != nil {
		t.Fatal(err)
	}
	return f.Make(ctx, j.all,
		Work{Part: p, Jobs: 3, Progress: func(float64, string) {}, Make: func(_ context.Context, i int) (any, error) {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.made[i]++
			return answer{i, float64(i) / 2}, nil
		}})
}

// shards makes all shards, each in a folder of its own below dir.
func (j *job) shards(t testing.TB, dir string, n int) (dirs []string) {
	t.Helper()
	for i := range n {
		dirs = append(dirs, filepath.Join(dir, fmt.Sprint("shard", i)))
		if _, err := j.run(t.Context(), t, dirs[i], shard.Part{Index: i, Of: n}); err != nil {
			t.Fatal(err)
		}
	}
	return dirs
}

// answers reads all results in the folders.
func (j *job) answers(t testing.TB, dirs ...string) (out []answer) {
	t.Helper()
	f, err := OpenFolder(dirs...)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range j.all {
		a, err := Kept(f, u, func() (answer, error) { return answer{}, errors.New("has no result") })
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, a)
	}
	return out
}

// However the units are divided, every result exists in the end, and only checks are made more than once.
func TestAnyDivisionIsWhole(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n, shards := rapid.IntRange(1, 60).Draw(r, "units"), rapid.IntRange(1, 6).Draw(r, "shards")
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			r.Fatal(err)
		}
		j := newJob(n)
		dirs := j.shards(t, dir, shards)
		whole, err := Merge(dirs)
		if err != nil || len(whole.Units) != n {
			r.Fatalf("%v, %v", whole, err)
		}
		twice := 0
		for i := range j.all {
			want := 1
			if j.all[i].checked() && shards > 1 {
				want, twice = 2, twice+1
			}
			if j.made[i] != want {
				r.Fatalf("%s was made %d times, want %d", j.all[i].Name, j.made[i], want)
			}
		}
		if whole.Twice != twice {
			r.Fatalf("%d made twice, want %d", whole.Twice, twice)
		}
		for i, a := range j.answers(t, dirs...) {
			if a != (answer{i, float64(i) / 2}) {
				r.Fatalf("unit %d: %+v", i, a)
			}
		}
	})
}

// Shards may share a folder. Existing results are not made again, not even with another number of shards.
func TestWhatIsThereIsSkipped(t *testing.T) {
	j, dir := newJob(120), t.TempDir()
	for _, n := range []int{3, 3, 5} {
		for i := range n {
			if _, err := j.run(t.Context(), t, dir, shard.Part{Index: i, Of: n}); err != nil {
				t.Fatal(err)
			}
		}
		for i, u := range j.all {
			if most := map[bool]int{true: 2, false: 1}[u.checked()]; j.made[i] != most {
				t.Errorf("%s was made %d times", u.Name, j.made[i])
			}
		}
	}
	if whole, err := Merge([]string{dir}); err != nil || whole.Twice == 0 {
		t.Errorf("%v, %v", whole, err)
	}
}

// An interrupt keeps the results so far, and the same shard continues from them.
func TestInterruptedGoesOn(t *testing.T) {
	j, dir := newJob(50), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	f, err := OpenFolder(dir)
	if err != nil || f.Begin(j.batch()) != nil {
		t.Fatal(err)
	}
	count := 0
	done, err := f.Make(ctx, j.all, Work{Part: shard.Whole, Jobs: 1, Progress: func(float64, string) {},
		Make: func(_ context.Context, i int) (any, error) {
			if count++; count == 20 {
				cancel()
			}
			return answer{i, float64(i) / 2}, nil
		}})
	if err != nil || done.Made != 20 || done.Left != 30 {
		t.Fatalf("%+v, %v", done, err)
	}
	if done, err = j.run(t.Context(), t, dir, shard.Whole); err != nil || done.Found != 20 ||
		done.Made != 30 || done.Left != 0 {
		t.Fatalf("%+v, %v", done, err)
	}
}

// A unit that fails is named, leaves no result, and does not stop the others.
func TestFailureIsNamed(t *testing.T) {
	j, dir := newJob(10), t.TempDir()
	f, err := OpenFolder(dir)
	if err != nil || f.Begin(j.batch()) != nil {
		t.Fatal(err)
	}
	done, err := f.Make(t.Context(), j.all, Work{Part: shard.Whole, Jobs: 2, Progress: func(float64, string) {},
		Make: func(_ context.Context, i int) (any, error) {
			if i == 4 {
				return nil, errors.New("no memory")
			}
			return answer{i, float64(i) / 2}, nil
		}})
	if err == nil || !strings.Contains(err.Error(), "unit 4") || !strings.Contains(err.Error(), "no memory") ||
		done.Left != 1 || done.Made != 9 {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := Merge([]string{dir}); err == nil || !strings.Contains(err.Error(),
		"1 of 10 units have no result: unit 4") {
		t.Errorf("merge: %v", err)
	}
}

// An error in the folders of shards names the unit or the file.
func TestMergeNames(t *testing.T) {
	other := strings.Repeat("f", 32)
	for name, c := range map[string]struct {
		harm func(t *testing.T, j *job, dirs []string)
		want []string
	}{
		"a shard is missing": {func(t *testing.T, j *job, dirs []string) { empty(t, dirs[1]) },
			[]string{"of 40 units have no result", "; and "}},
		"another result": {func(t *testing.T, j *job, dirs []string) {
			text := `{"n":3,"half":99}`
			must(t, write(filepath.Join(dirs[0], j.all[3].Key+endingAgain),
				head{Key: j.all[3].Key, Name: "unit 3"}, []byte(text)))
		}, []string{"unit 3 (unit ", "has two results, in "}},
		"the result of another version": {func(t *testing.T, j *job, dirs []string) {
			edit(t, first(t, dirs[1]), self().Program, other)
		}, []string{"is of another version", other[:12]}},
		"a shard of another version": {func(t *testing.T, j *job, dirs []string) {
			edit(t, filepath.Join(dirs[1], batchFile), self().Program, other)
		}, []string{"shard1 is of another version", other[:12]}},
		"a shard of another command": {func(t *testing.T, j *job, dirs []string) {
			edit(t, filepath.Join(dirs[1], batchFile), "--n=40", "--n=41")
		}, []string{"shard1 holds results of", "--n=41", "--n=40"}},
		"a shard of other units": {func(t *testing.T, j *job, dirs []string) {
			edit(t, filepath.Join(dirs[1], batchFile), j.all[7].Key, other)
		}, []string{"shard1 holds other units"}},
		"another folder": {func(t *testing.T, j *job, dirs []string) { dirs[1] = t.TempDir() },
			[]string{"is no folder of results", batchFile}},
		"no folder": {func(t *testing.T, j *job, dirs []string) { dirs[1] = "nowhere" },
			[]string{"nowhere is no folder of results"}},
		"damaged": {func(t *testing.T, j *job, dirs []string) {
			edit(t, first(t, dirs[1]), `"half":`, `"halb":`)
		}, []string{"damaged"}},
		"the file of another unit": {func(t *testing.T, j *job, dirs []string) {
			edit(t, first(t, dirs[1]), `"key":"`, `"key":"0`)
		}, []string{"is not of this batch"}},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(40)
			dirs := j.shards(t, t.TempDir(), 2)
			c.harm(t, j, dirs)
			_, err := Merge(dirs)
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v: want %q", err, want)
				}
			}
		})
	}
}

// The truncated file of a result is named and never taken for a result, wherever it ends.
func TestTruncated(t *testing.T) {
	j := newJob(1)
	dir := j.shards(t, t.TempDir(), 1)[0]
	path := first(t, dir)
	text, err := os.ReadFile(path)
	must(t, err)
	for n := range len(text) {
		must(t, os.WriteFile(path, text[:n], 0o644))
		if _, err := Merge([]string{dir}); err == nil || !strings.Contains(err.Error(), path+": truncated") {
			t.Fatalf("%d of %d bytes: %v", n, len(text), err)
		}
		if _, err := j.run(t.Context(), t, dir, shard.Whole); err == nil || !strings.Contains(err.Error(), path) {
			t.Fatalf("%d of %d bytes: a shard says %v", n, len(text), err)
		}
	}
}

// A folder belongs to one batch, and to one program.
func TestFolderOfAnotherBatch(t *testing.T) {
	dir := t.TempDir()
	newJob(3).shards(t, dir, 1)
	f, err := OpenFolder(filepath.Join(dir, "shard0"))
	must(t, err)
	if err := f.Begin(newJob(4).batch()); err == nil || !strings.Contains(err.Error(), "take another folder") {
		t.Errorf("%v", err)
	}
	edit(t, filepath.Join(dir, "shard0", batchFile), self().Program, strings.Repeat("f", 32))
	if err := f.Begin(newJob(3).batch()); err == nil || !strings.Contains(err.Error(),
		"take that one, or a new folder") {
		t.Errorf("%v", err)
	}
}

// Units are divided by their measured times where these are known, and by estimates on the same scale elsewhere.
func TestKnownCosts(t *testing.T) {
	j := newJob(4) // estimates 1 2 3 4
	w := Work{Costs: map[string]float64{j.all[0].Work: 20, j.all[1].Work: 10}}
	if got := w.costs(j.all); !slices.Equal(got, []float64{20, 10, 30, 40}) {
		t.Errorf("%v", got)
	}
	dir := j.shards(t, t.TempDir(), 1)[0]
	costs, err := Costs(dir)
	must(t, err)
	if keys := slices.Sorted(maps.Keys(costs)); len(keys) != 4 {
		t.Errorf("%v", keys)
	}
	if _, err := Costs(t.TempDir()); err == nil {
		t.Error("costs of an empty folder")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// first returns the path of a file of results.
func first(t *testing.T, dir string) string {
	t.Helper()
	files, err := paths(dir, ending)
	must(t, err)
	return files[0]
}

// empty removes the results of a shard.
func empty(t *testing.T, dir string) {
	t.Helper()
	files, err := paths(dir, ending)
	must(t, err)
	for _, path := range files {
		must(t, os.Remove(path))
	}
}

// edit replaces the first occurrence of old in a file.
func edit(t *testing.T, path, old, now string) {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	if !strings.Contains(string(text), old) {
		t.Fatalf("%s: no %q", path, old)
	}
	must(t, os.WriteFile(path, []byte(strings.Replace(string(text), old, now, 1)), 0o644))
}
