// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

// bzipped is bin/agent, which has the text "program", as a .tar.bz2. The library has no writer for it.
const bzipped = "QlpoOTFBWSZTWYpc11sAAI57hMmAAGBAAPuAAIRyo94AAACACCAAdQ0KPUA0D1PUDEAkpDE0AAA0aRJMhdXOUJAcuQkjBypCrFhAcFwwSCYAyQTCCIopBEWzqCDOoQzqhAYBXa0E2LB/o9T7JokYIaD2j/bCJIedMJEhwkH4u5IpwoSEUua62A=="

// zipOf packs files with modes: directories, links, whose content is their target, and others.
func zipOf(t *testing.T, entries map[string]fs.FileMode, content string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range []string{"bin/", "bin/agent", "other"} { // the others come last
		if mode, ok := entries[name]; ok {
			h := &zip.FileHeader{Name: name}
			h.SetMode(mode)
			f, err := w.CreateHeader(h)
			require.NoError(t, err)
			if !mode.IsDir() {
				text := "program"
				if name == "other" {
					text = content
				}
				_, err = f.Write([]byte(text))
				require.NoError(t, err)
			}
		}
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestEveryFormatIsUnpacked(t *testing.T) {
	bz, err := base64.StdEncoding.DecodeString(bzipped)
	require.NoError(t, err)
	tgz := tgz(t, packed{name: "bin/agent", content: "program"})
	withLink := zipOf(t, map[string]fs.FileMode{"bin/": fs.ModeDir | 0o755, "bin/agent": 0o644, "other": fs.ModeSymlink | 0o777}, "bin/agent")
	files := map[string][]byte{"/a.tar.bz2": bz, "/a.tbz2": bz, "/a.tgz": tgz, "/a.zip": withLink}
	url := served(t, files)
	for name, data := range files {
		store := acpclient.AgentStore{Dir: t.TempDir(), Platform: "linux-x86_64"}
		a := binary(t, url+name, "bin/agent", sumOf(data))
		require.NoError(t, store.Install(t.Context(), a, nil), name)
		command, err := store.Command(a)
		require.NoError(t, err)
		got, err := os.ReadFile(command.Path)
		require.NoError(t, err)
		require.Equal(t, "program", string(got))
		if name == "/a.zip" && runtime.GOOS != "windows" {
			target, err := os.Readlink(filepath.Join(filepath.Dir(filepath.Dir(command.Path)), "other"))
			require.NoError(t, err)
			require.Equal(t, "bin/agent", target)
		}
	}
}

func TestEntriesOfAZipStayInside(t *testing.T) {
	program := map[string]fs.FileMode{"bin/agent": 0o755}
	for want, c := range map[string]struct {
		mode    fs.FileMode
		content string
	}{
		"a link that leads out of the archive": {fs.ModeSymlink | 0o777, "../x"},
		"neither a file nor a directory":       {fs.ModeNamedPipe | 0o644, ""},
	} {
		entries := map[string]fs.FileMode{"bin/agent": program["bin/agent"], "other": c.mode}
		data := zipOf(t, entries, c.content)
		url := served(t, map[string][]byte{"/a.zip": data})
		store := acpclient.AgentStore{Dir: t.TempDir(), Platform: "linux-x86_64"}
		err := store.Install(t.Context(), binary(t, url+"/a.zip", "bin/agent", sumOf(data)), nil)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "other")
		left, err := os.ReadDir(store.Dir)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

// Archives of git begin with a header that is no file.
func TestHeadersOfAnArchiveAreSkipped(t *testing.T) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": "1234"}}))
	require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "agent", Mode: 0o644, Size: 7}))
	_, err := w.Write([]byte("program"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	data := gzipped(t, out.Bytes())
	url := served(t, map[string][]byte{"/a.tar.gz": data})
	store := acpclient.AgentStore{Dir: t.TempDir(), Platform: "linux-x86_64"}
	require.NoError(t, store.Install(t.Context(), binary(t, url+"/a.tar.gz", "agent", sumOf(data)), nil))
}

// A file that others may run can be run, and one that they may not cannot.
func TestModesOfAnArchiveAreKept(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no such modes there")
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, mode := range map[string]int64{"agent": 0o600, "lib/helper": 0o755, "lib/data": 0o666} {
		require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: 1}))
		_, err := w.Write([]byte("x"))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	data := gzipped(t, out.Bytes())
	url := served(t, map[string][]byte{"/a.tar.gz": data})
	store := acpclient.AgentStore{Dir: filepath.Join(t.TempDir(), "agents"), Platform: "linux-x86_64"}
	a := binary(t, url+"/a.tar.gz", "agent", sumOf(data))
	require.NoError(t, store.Install(t.Context(), a, nil))
	command, err := store.Command(a)
	require.NoError(t, err)
	dir := filepath.Dir(command.Path)
	root, err := os.Stat(filepath.Dir(dir))
	require.NoError(t, err)
	require.Equal(t, fs.ModeDir|0o700, root.Mode(), "what is installed is the user's alone")
	for name, want := range map[string]fs.FileMode{"agent": 0o755, "lib/helper": 0o755, "lib/data": 0o644, "lib": fs.ModeDir | 0o755} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, want, info.Mode(), name)
	}
}

// follow serves a program behind redirects.
func follow(t *testing.T, redirects int) error {
	t.Helper()
	defer acpclient.SetTransport(roundTrip(func(r *http.Request) (*http.Response, error) {
		var n int
		_, err := fmt.Sscanf(r.URL.Path, "/%d", &n)
		require.NoError(t, err)
		res := &http.Response{StatusCode: 200, Status: "200 OK", Header: http.Header{}, Body: io.NopCloser(strings.NewReader("program")), Request: r}
		if n > 0 {
			res.StatusCode, res.Status, res.Body = http.StatusFound, "302 Found", http.NoBody
			res.Header.Set("Location", fmt.Sprintf("https://example.com/%d", n-1))
		}
		return res, nil
	}))()
	store := acpclient.AgentStore{Dir: t.TempDir(), Platform: "linux-x86_64"}
	return store.Install(t.Context(), binary(t, fmt.Sprintf("https://example.com/%d", redirects), "agent", sumOf([]byte("program"))), nil)
}

func TestRedirectsOfADownloadAreBounded(t *testing.T) {
	require.NoError(t, follow(t, 1))
	require.NoError(t, follow(t, 9))
	require.ErrorContains(t, follow(t, 10), "ten addresses, one after the other")
}

func TestBrokenDownloadIsNotInstalled(t *testing.T) {
	defer acpclient.SetTransport(roundTrip(func(r *http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader("prog"), errorReader{})
		return &http.Response{StatusCode: 200, Status: "200 OK", Body: io.NopCloser(body), Request: r}, nil
	}))()
	store := acpclient.AgentStore{Dir: t.TempDir(), Platform: "linux-x86_64"}
	err := store.Install(t.Context(), binary(t, "https://example.com/raw", "agent", sumOf([]byte("program"))), nil)
	require.ErrorContains(t, err, "install agent 1.2.3: download: unexpected EOF")
	left, err := os.ReadDir(store.Dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

type errorReader struct{}

func (errorReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// What is left of an installation that was not finished is replaced. What another process has installed meanwhile is kept.
func TestInstallationsMeet(t *testing.T) {
	store := acpclient.AgentStore{Dir: t.TempDir(), Platform: "linux-x86_64"}
	a := binary(t, "https://example.com/raw", "bin/agent", sumOf([]byte("program")))
	_, err := store.Command(a)
	var missing *acpclient.NotInstalledError
	require.ErrorAs(t, err, &missing)
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(missing.Dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(missing.Dir, name), []byte(text), 0o700))
	}
	meanwhile := func() {}
	defer acpclient.SetTransport(roundTrip(func(r *http.Request) (*http.Response, error) {
		meanwhile()
		return &http.Response{StatusCode: 200, Status: "200 OK", Body: io.NopCloser(strings.NewReader("program")), Request: r}, nil
	}))()
	read := func() string {
		command, err := store.Command(a)
		require.NoError(t, err)
		data, err := os.ReadFile(command.Path)
		require.NoError(t, err)
		return string(data)
	}

	write("bin/half", "")
	require.NoError(t, store.Install(t.Context(), a, nil))
	require.Equal(t, "program", read())
	require.NoFileExists(t, filepath.Join(missing.Dir, "bin", "half"))

	require.NoError(t, os.RemoveAll(missing.Dir))
	meanwhile = func() { write("bin/agent", "of the other process") }
	require.NoError(t, store.Install(t.Context(), a, nil))
	require.Equal(t, "of the other process", read())
	left, err := os.ReadDir(store.Dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestStoreThatCannotBeMadeIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	a := binary(t, "https://example.com/raw", "agent", sumOf([]byte("program")))
	err := acpclient.AgentStore{Dir: filepath.Join(file, "store"), Platform: "linux-x86_64"}.Install(t.Context(), a, nil)
	require.ErrorContains(t, err, "acpclient: ")
	require.ErrorContains(t, err, "not a directory")
}

func TestStoreIsInTheUsersCache(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, dir)
	}
	a := binary(t, "https://example.com/raw", "agent", "")
	_, err := acpclient.AgentStore{Platform: "linux-x86_64"}.Command(a)
	var missing *acpclient.NotInstalledError
	require.ErrorAs(t, err, &missing)
	require.True(t, strings.HasPrefix(missing.Dir, dir))
	require.Equal(t, filepath.Join("ponte", "agents"), filepath.Join(filepath.Base(filepath.Dir(filepath.Dir(missing.Dir))), filepath.Base(filepath.Dir(missing.Dir))))
	require.Regexp(t, `^agent-1\.2\.3-[0-9a-f]{12}$`, filepath.Base(missing.Dir))
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, "")
	}
	_, err = acpclient.AgentStore{Platform: "linux-x86_64"}.Command(a)
	require.ErrorContains(t, err, "acpclient: there is no cache directory, set AgentStore.Dir")
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("AppData", "")
	_, err = acpclient.RegistryFile()
	require.ErrorContains(t, err, "acpclient: ")
	all, err := acpclient.LoadRegistry()
	require.NoError(t, err, "a user without a configuration directory has no file in it")
	require.Equal(t, acpclient.BuiltinRegistry().Agents(), all.Agents())
}

func TestReadFileNamesTheFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "agents.json")
	_, err := acpclient.ReadRegistry(name)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, os.WriteFile(name, []byte("{"), 0o600))
	_, err = acpclient.ReadRegistry(name)
	require.ErrorContains(t, err, "acpclient: "+name+": acpclient: it is not a registry")
	require.NoError(t, os.WriteFile(name, bytes.Repeat([]byte(" "), 4<<20+1), 0o600))
	_, err = acpclient.ReadRegistry(name)
	require.ErrorContains(t, err, "larger than 4194304 bytes")
}

// Every text of a file has a bound, and what is as long as it is allowed.
func TestTextsOfAFileAreBoundedExactly(t *testing.T) {
	text := func(n int) string { return strings.Repeat("x", n) }
	many := func(n int, one string) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }
	variables := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"V%d":"x"`, i))
		}
		return strings.Join(all, ",")
	}
	edit := func(before, after string) func(string) string {
		return func(s string) string { return strings.Replace(s, before, after, 1) }
	}
	npx := func(more string) string { return `{"npx":{"package":"a@1.0.0",` + more + `}}` }
	for _, c := range []struct {
		fits, wrong, want string
	}{
		{entry(text(64), npx(`"args":[]`)), entry(text(65), npx(`"args":[]`)), "not a name"},
		{edit(`{`, `{"aliases":["`+text(64)+`"],`)(entry("a", npx(`"args":[]`))), edit(`{`, `{"aliases":["`+text(65)+`"],`)(entry("a", npx(`"args":[]`))), "aliases: "},
		{edit(`{`, `{"aliases":["b-2"],`)(entry("a", npx(`"args":[]`))), edit(`{`, `{"aliases":["B"],`)(entry("a", npx(`"args":[]`))), "aliases: "},
		{edit(`{`, `{"license":"`+text(4096)+`",`)(entry("a", npx(`"args":[]`))), edit(`{`, `{"license":"`+text(4097)+`",`)(entry("a", npx(`"args":[]`))), "longer than 4096 bytes"},
		{edit(`{`, `{"authors":["`+text(4096)+`"],`)(entry("a", npx(`"args":[]`))), edit(`{`, `{"authors":["`+text(4097)+`"],`)(entry("a", npx(`"args":[]`))), "longer than 4096 bytes"},
		{entry("a", npx(`"args":["`+text(4096)+`"]`)), entry("a", npx(`"args":["`+text(4097)+`"]`)), "cannot be an argument"},
		{entry("a", npx(`"args":[`+many(100, `"x"`)+`]`)), entry("a", npx(`"args":[`+many(101, `"x"`)+`]`)), "more than 100"},
		{entry("a", npx(`"env":{`+variables(100)+`}`)), entry("a", npx(`"env":{`+variables(101)+`}`)), "more than 100"},
		{entry("a", npx(`"env":{"`+text(256)+`":"x"}`)), entry("a", npx(`"env":{"`+text(257)+`":"x"}`)), "not the name of a variable"},
		{entry("a", npx(`"env":{"A":"`+text(4096)+`"}`)), entry("a", npx(`"env":{"A":"`+text(4097)+`"}`)), "the value is too long"},
		{entry("a", `{"command":{"path":"`+text(4096)+`"}}`), entry("a", `{"command":{"path":"`+text(4097)+`"}}`), "not the path of a program"},
		{entry("a", `{"npx":{"package":"`+text(294)+`@1.0.0"}}`), entry("a", `{"npx":{"package":"`+text(295)+`@1.0.0"}}`), "not a package of npm"},
		{entry("a", `{"uvx":{"package":"`+text(293)+`==1.0.0"}}`), entry("a", `{"uvx":{"package":"`+text(294)+`==1.0.0"}}`), "not a package of PyPI"},
	} {
		_, err := acpclient.ParseRegistry([]byte(c.fits))
		require.NoError(t, err, c.want)
		_, err = acpclient.ParseRegistry([]byte(c.wrong))
		require.ErrorContains(t, err, c.want)
		require.Less(t, len(err.Error()), 1000, "the error quotes a part")
	}
}

// At most ten entries are complained about.
func TestErrorsOfAFileAreBounded(t *testing.T) {
	var all []string
	for range 30 {
		all = append(all, entry("A", `{"npx":{"package":"a@1.0.0"}}`))
	}
	_, err := acpclient.ParseRegistry(file(all...))
	require.Equal(t, 10, strings.Count(err.Error(), "is not a name of lower-case letters"))
	require.ErrorContains(t, err, `acpclient: agent 1, "A": id: `)
}

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(data)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return out.Bytes()
}
