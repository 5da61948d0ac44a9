// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/journal"
)

var three = []string{`{"a":1}`, `{"b":"two"}`, `{"c":[3]}`}

// written returns a directory with the journal of a run, and the path of its file.
func written(t testing.TB, records ...string) (*journal.Dir, string) {
	t.Helper()
	path := t.TempDir()
	d := newDir(t, path)
	l := open(t, d, "run")
	write(t, l, records...)
	require.NoError(t, l.Close())
	return d, filepath.Join(path, "run.jsonl")
}

func content(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return data
}

func TestFileIsJSONLines(t *testing.T) {
	_, file := written(t, three...)
	require.Equal(t, strings.Join([]string{
		`{"n":0,"sum":"f3752341","rec":{"format":"ponte journal","v":1,"run":"run"}}`,
		`{"n":1,"sum":"38ab1c87","rec":{"a":1}}`,
		`{"n":2,"sum":"7189f9ab","rec":{"b":"two"}}`,
		`{"n":3,"sum":"bbeffa19","rec":{"c":[3]}}`, "",
	}, "\n"), string(content(t, file)))
	for line := range bytes.Lines(content(t, file)) {
		require.True(t, json.Valid(line))
	}
}

func TestFileIsReadableByItsOwnerOnly(t *testing.T) {
	_, file := written(t, three...)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestLoadAfterAppendReturnsTheNewRecords(t *testing.T) {
	d, _ := written(t, three...)
	l := open(t, d, "run")
	write(t, l, `{"more":1}`)
	want := append(three[:3:3], `{"more":1}`)
	require.Equal(t, want, read(t, l))
	require.Equal(t, want, read(t, l))
	write(t, l, `{"more":2}`)
	require.Equal(t, append(want, `{"more":2}`), read(t, l))
}

// A block that was never written hides what follows it in the file. None of that may stay behind the records written next.
func TestTornBlockIsDropped(t *testing.T) {
	d, file := written(t, three...)
	torn := append(content(t, file), make([]byte, 16)...)
	torn = append(torn, strings.Repeat("x", 4096)+"\n"...)
	require.NoError(t, os.WriteFile(file, torn, 0o600))
	l := open(t, d, "run")
	write(t, l, `{"more":true}`)
	require.NoError(t, l.Close())
	require.Equal(t, append(three[:3:3], `{"more":true}`), read(t, open(t, d, "run")))
}

// TestTornEndIsDropped cuts a journal off at every byte, as a process does that is killed while it writes.
func TestTornEndIsDropped(t *testing.T) {
	d, file := written(t, three...)
	whole := content(t, file)
	for n := range whole {
		lines := bytes.Count(whole[:n], []byte("\n"))
		want := three[:max(0, lines-1)]
		for _, zeros := range []int{0, 1, 4096} { // blocks of the file that were allocated and never written
			require.NoError(t, os.WriteFile(file, append(bytes.Clone(whole[:n]), make([]byte, zeros)...), 0o600))
			l := open(t, d, "run")
			require.Equal(t, len(want), len(read(t, l)), "cut off at byte %d, %d zeros", n, zeros)
			write(t, l, `{"more":true}`)
			require.NoError(t, l.Close())
			l = open(t, d, "run")
			require.Equal(t, append(want[:len(want):len(want)], `{"more":true}`), read(t, l), "it goes on where it was cut off")
			require.NoError(t, l.Close())
		}
	}
}

// TestDamageIsReported changes every byte of a journal in turn. Only what lacks its newline or has zeros can have been left
// by a write that was cut off; everything else was whole once.
func TestDamageIsReported(t *testing.T) {
	d, file := written(t, three...)
	whole := content(t, file)
	for n := range whole[:len(whole)-1] {
		damaged := bytes.Clone(whole)
		damaged[n] ^= 1
		require.NoError(t, os.WriteFile(file, damaged, 0o600))
		_, err := d.Open(context.Background(), "run")
		require.ErrorIs(t, err, journal.ErrCorrupt, "byte %d", n)
		require.ErrorContains(t, err, file)
		require.Equal(t, damaged, content(t, file), "a file that is refused is left alone")
	}
}

func TestDamageIsReportedWithItsLine(t *testing.T) {
	d, file := written(t, three...)
	damaged := content(t, file)
	at := bytes.Index(damaged, []byte(`"two"`))
	damaged[at] = 'x'
	require.NoError(t, os.WriteFile(file, damaged, 0o600))
	_, err := d.Open(context.Background(), "run")
	begin := bytes.LastIndexByte(damaged[:at], '\n') + 1
	require.ErrorContains(t, err, fmt.Sprintf("line 3, byte %d of the file", begin))
}

// A line is what the journal writes, byte by byte. What is close to it is damage, even with the right sum.
func TestForeignLinesAreDamage(t *testing.T) {
	good := string(journal.Line(1, []byte(`{}`)))
	summed := func(number, rest string) string {
		return fmt.Sprintf(`{"n":%s,"sum":"%08x","rec":%s`, number, crc32.Checksum([]byte(number+strings.TrimSuffix(rest, "}\n")), crc32.MakeTable(crc32.Castagnoli)), rest)
	}
	require.Equal(t, good, summed("1", "{}}\n"))
	d, file := written(t, `{}`)
	for name, line := range map[string]string{
		"padded number":   summed("01", "{}}\n"),
		"no end, summed":  summed("1", "{} \n"),
		"no beginning":    strings.TrimPrefix(good, `{"n":`),
		"no sum":          `{"n":1,"rec":{}}` + "\n",
		"no record":       good[:strings.Index(good, `","rec":`)] + "\n",
		"no end":          strings.TrimSuffix(good, "}\n") + "\n",
		"no number":       strings.Replace(good, `"n":1`, `"n":x`, 1),
		"empty":           "\n",
		"only the braces": "{}\n",
	} {
		require.NoError(t, os.WriteFile(file, append(journal.HeaderLine("run"), line...), 0o600))
		_, err := d.Open(context.Background(), "run")
		require.ErrorIs(t, err, journal.ErrCorrupt, name)
		require.ErrorContains(t, err, "line 2, byte", name)
	}
}

func TestFilesAreNamedByTheirRuns(t *testing.T) {
	path := t.TempDir()
	d := newDir(t, path)
	for id, want := range map[string]string{
		"AZaz09-_.x":             "AZaz09-_.x.jsonl",
		".x":                     "%2Ex.jsonl",
		"a/b c":                  "a%2Fb%20c.jsonl",
		"@[`{":                   "%40%5B%60%7B.jsonl",
		strings.Repeat("x", 160): strings.Repeat("x", 160) + ".jsonl",
		strings.Repeat("y", 161): strings.Repeat("y", 80) + "~" + fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Repeat("y", 161)))) + ".jsonl",
	} {
		l := open(t, d, id)
		require.FileExists(t, filepath.Join(path, want))
		require.NoError(t, l.Close())
	}
}

func TestZerosBeforeWholeLinesAreDamage(t *testing.T) {
	d, file := written(t, three...)
	damaged := content(t, file)
	clear(damaged[len(damaged)-60 : len(damaged)-50])
	require.NoError(t, os.WriteFile(file, damaged, 0o600))
	_, err := d.Open(context.Background(), "run")
	require.ErrorIs(t, err, journal.ErrCorrupt)
}

func TestMissingOrMovedLinesAreDamage(t *testing.T) {
	d, file := written(t, three...)
	lines := bytes.SplitAfter(content(t, file), []byte("\n"))
	for name, order := range map[string][]int{
		"missing": {0, 1, 3}, "swapped": {0, 2, 1, 3}, "twice": {0, 1, 1, 2, 3}, "no header": {1, 2, 3},
	} {
		var data []byte
		for _, i := range order {
			data = append(data, lines[i]...)
		}
		require.NoError(t, os.WriteFile(file, data, 0o600))
		_, err := d.Open(context.Background(), "run")
		require.ErrorIs(t, err, journal.ErrCorrupt, name)
	}
}

func TestForeignFilesAreLeftAlone(t *testing.T) {
	d, file := written(t)
	for _, text := range []string{"a note", "a note\n", `{"n":0`, "{}\n"} {
		want := error(nil)
		if !strings.HasPrefix(`{"n":0,"sum"`, text) {
			want = journal.ErrCorrupt
		}
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		l, err := d.Open(context.Background(), "run")
		if want == nil {
			require.NoError(t, err, "the beginning of a header")
			require.NoError(t, l.Close())
			continue
		}
		require.ErrorIs(t, err, want, text)
		require.Equal(t, text, string(content(t, file)))
	}
}

func TestNewerFormatIsRefused(t *testing.T) {
	d, file := written(t)
	line := journal.Line(0, []byte(`{"format":"ponte journal","v":2,"run":"run"}`))
	require.NoError(t, os.WriteFile(file, line, 0o600))
	_, err := d.Open(context.Background(), "run")
	require.ErrorIs(t, err, journal.ErrVersion)
	require.ErrorContains(t, err, "version 2, this program reads up to 1")

	for _, body := range []string{`{"format":"something else","v":1,"run":"run"}`, `[]`} {
		require.NoError(t, os.WriteFile(file, journal.Line(0, []byte(body)), 0o600))
		_, err = d.Open(context.Background(), "run")
		require.ErrorIs(t, err, journal.ErrCorrupt)
	}
}

func TestFileOfAnotherRunIsRefused(t *testing.T) {
	d, file := written(t, three...)
	require.NoError(t, os.Rename(file, filepath.Join(filepath.Dir(file), "other.jsonl")))
	_, err := d.Open(context.Background(), "other")
	require.ErrorIs(t, err, journal.ErrMismatch)
	require.ErrorContains(t, err, `belongs to run "run"`)
}

func TestDamageWhileARunIsOpenIsReported(t *testing.T) {
	d, file := written(t, three...)
	for _, damage := range []func(){
		func() { require.NoError(t, os.Truncate(file, 100)) },
		func() { require.NoError(t, os.WriteFile(file, bytes.Repeat([]byte("x\n"), 200), 0o600)) },
	} {
		require.NoError(t, d.Remove("run"))
		l := open(t, d, "run")
		write(t, l, three...)
		damage()
		_, err := l.Load(context.Background())
		require.ErrorIs(t, err, journal.ErrCorrupt)
		require.NoError(t, l.Close())
		_, err = l.Load(context.Background())
		require.ErrorIs(t, err, journal.ErrClosed)
	}
}

func TestRecordIsOneLine(t *testing.T) {
	d, _ := written(t)
	for _, j := range []journal.Journal{d, new(journal.Memory)} {
		l := open(t, j, "run")
		for _, record := range []string{"", "{\n}", "\x00"} {
			require.ErrorContains(t, l.Append(context.Background(), []byte(record)), "on a single line")
		}
		require.Empty(t, read(t, l))
	}
}

func TestRunsAreListedAndRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "runs")
	d := newDir(t, path)
	for _, id := range []string{"b", "a", "x/1/call", strings.Repeat("long", 100)} {
		l := open(t, d, id)
		write(t, l, `{}`)
		require.NoError(t, l.Close())
	}
	l := open(t, d, "empty")
	require.NoError(t, os.WriteFile(filepath.Join(path, "note.txt"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(path, "note.jsonl"), []byte("{}\n"), 0o600))
	for name, line := range map[string][]byte{
		"other format": journal.Line(0, []byte(`{"format":"another","v":1,"run":"other"}`)),
		"no format":    journal.Line(0, []byte(`{"v":1,"run":"other"}`)),
		"no header":    journal.Line(0, []byte(`["ponte journal"]`)),
		"not JSON":     journal.Line(0, []byte(`{"format":"ponte journal","run":`)),
		"wrong type":   journal.Line(0, []byte(`{"format":"ponte journal","v":1,"run":7}`)),
		"second line":  journal.Line(1, []byte(`{"format":"ponte journal","v":1,"run":"other"}`)),
		"torn":         journal.HeaderLine("other")[:20],
	} {
		require.NoError(t, os.WriteFile(filepath.Join(path, name+".jsonl"), line, 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(path, "dir.jsonl"), 0o700))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(path, "link.jsonl")))
	runs, err := d.Runs()
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", strings.Repeat("long", 100), "x/1/call"}, runs)

	require.ErrorIs(t, d.Remove("empty"), journal.ErrInUse)
	require.NoError(t, l.Close())
	for _, id := range append(runs, "empty", "never was") {
		require.NoError(t, d.Remove(id))
	}
	runs, err = d.Runs()
	require.NoError(t, err)
	require.Empty(t, runs)
	l = open(t, d, "a")
	require.Empty(t, read(t, l))
}

// TestRemovedRunIsFree: between opening a file and locking it somebody may have removed it. What is appended
// to it then would be lost.
func TestRemovedRunIsFree(t *testing.T) {
	d, file := written(t)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 500 {
				_ = d.Remove("run")
			}
		})
		wg.Go(func() {
			for range 500 {
				l, err := d.Open(context.Background(), "run")
				if err != nil {
					if !errors.Is(err, journal.ErrInUse) {
						t.Error(err)
					}
					continue
				}
				if _, err := os.Stat(file); err != nil {
					t.Error(err)
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestDirReportsSystemErrors(t *testing.T) {
	path := t.TempDir()
	file := filepath.Join(path, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := journal.NewDir(filepath.Join(file, "dir"))
	require.ErrorContains(t, err, "journal: ")

	d := newDir(t, filepath.Join(path, "gone"))
	require.NoError(t, os.Remove(filepath.Join(path, "gone")))
	_, err = d.Open(context.Background(), "run")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = d.Runs()
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, d.Remove("run"))

	d = newDir(t, path)
	require.NoError(t, os.Mkdir(filepath.Join(path, "run.jsonl"), 0o700))
	_, err = d.Open(context.Background(), "run")
	require.Error(t, err)
	require.Error(t, d.Remove("run"))
}

func TestErrorsNameRunAndOperation(t *testing.T) {
	err := error(&journal.Error{RunID: "job-17", Op: "open", Err: journal.ErrInUse})
	require.EqualError(t, err, "journal: run job-17: open: the run is in use")
	require.ErrorIs(t, err, journal.ErrInUse)
}

func TestRunWithoutRecordsLeavesNoFile(t *testing.T) {
	path := t.TempDir()
	d := newDir(t, path)
	l := open(t, d, "run")
	records, err := l.Load(t.Context())
	require.NoError(t, err)
	require.Empty(t, records)
	require.NoError(t, l.Close())
	left, err := os.ReadDir(path)
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		require.Empty(t, left)
	}
	l = open(t, d, "run")
	require.NoError(t, l.Append(t.Context(), []byte(`{}`)))
	require.NoError(t, l.Close())
	l = open(t, d, "run")
	require.NoError(t, l.Close())
	runs, err := d.Runs()
	require.NoError(t, err)
	require.Equal(t, []string{"run"}, runs)
}

func TestEmptyPathIsRefused(t *testing.T) {
	_, err := journal.NewDir("")
	require.EqualError(t, err, `journal: NewDir: the path is empty: use "." for the current directory`)
}
