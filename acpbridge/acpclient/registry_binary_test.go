// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

// packed is an entry of an archive: a file, a directory if the name ends with a slash, or a link if it has a target.
type packed struct{ name, content, target string }

func tgz(t *testing.T, entries ...packed) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: 0o755, Size: int64(len(e.content)), Typeflag: tar.TypeReg}
		switch {
		case e.target == "hard":
			h.Typeflag, h.Linkname, h.Size = tar.TypeLink, "agent", 0
		case e.target != "":
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, e.target, 0
		case strings.HasSuffix(e.name, "/"):
			h.Typeflag = tar.TypeDir
		}
		require.NoError(t, w.WriteHeader(h))
		_, err := w.Write([]byte(e.content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	return out.Bytes()
}

func zipped(t *testing.T, entries ...packed) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		f, err := w.Create(e.name)
		require.NoError(t, err)
		_, err = f.Write([]byte(e.content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// served serves files over TLS, and returns the server's address.
func served(t *testing.T, files map[string][]byte) string {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := files[r.URL.Path]
		switch {
		case r.URL.Path == "/plain":
			http.Redirect(w, r, "http://example.com/agent.tar.gz", http.StatusFound)
		case !ok:
			http.NotFound(w, r)
		default:
			_, _ = w.Write(data)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(acpclient.SetTransport(server.Client().Transport))
	return server.URL
}

func binary(t *testing.T, address, cmd, sum string) *acpclient.RegistryAgent {
	t.Helper()
	r, err := acpclient.ParseRegistry([]byte(entry("agent", fmt.Sprintf(`{"binary":{"linux-x86_64":{"archive":%q,"cmd":%q,"sha256":%q,"args":["acp"],"env":{"B":"2","A":"1"}}}}`, address, cmd, sum))))
	require.NoError(t, err)
	return r.Agents()[0]
}

func sumOf(data []byte) string { return fmt.Sprintf("%X", sha256.Sum256(data)) }

func TestBinaryIsInstalled(t *testing.T) {
	files := map[string][]byte{
		"/a.tar.gz": tgz(t, packed{name: "./"}, packed{name: "lib/"}, packed{name: "lib/x", content: "x"}, packed{name: "bin/agent", content: "program"}, packed{name: "bin/link", target: "../lib/x"}),
		"/a.zip":    zipped(t, packed{name: "bin/agent", content: "program"}),
		"/raw":      []byte("program"),
	}
	url := served(t, files)
	for name, data := range files {
		t.Run(name, func(t *testing.T) {
			store := acpclient.AgentStore{Dir: filepath.Join(t.TempDir(), "store"), Platform: "linux-x86_64"}
			a := binary(t, url+name, "./bin/agent", sumOf(data))
			_, err := store.Command(a)
			var missing *acpclient.NotInstalledError
			require.ErrorAs(t, err, &missing)
			require.Contains(t, missing.Command, "curl -fL -o")
			require.NoDirExists(t, store.Dir, "asking changes nothing")

			require.NoError(t, store.Install(t.Context(), a, nil))
			command, err := store.Command(a)
			require.NoError(t, err)
			require.Equal(t, []string{"acp"}, command.Args)
			require.Equal(t, []string{"A=1", "B=2"}, command.Env)
			require.Equal(t, filepath.Join(missing.Dir, "bin", "agent"), command.Path)
			data, err := os.ReadFile(command.Path)
			require.NoError(t, err)
			require.Equal(t, "program", string(data))
			info, err := os.Stat(command.Path)
			require.NoError(t, err)
			require.NotZero(t, info.Mode()&0o100)
			left, err := os.ReadDir(store.Dir)
			require.NoError(t, err)
			require.Len(t, left, 1, "nothing temporary stays")
			require.NoError(t, store.Install(t.Context(), a, nil), "a second time there is nothing to do")
		})
	}
}

func TestBinaryIsNotInstalled(t *testing.T) {
	good := tgz(t, packed{name: "agent", content: "program"})
	outside := filepath.Join(t.TempDir(), "outside")
	files := map[string][]byte{
		"/good.tar.gz": good,
		"/up.tar.gz":   tgz(t, packed{name: "agent", content: "p"}, packed{name: "../../x", content: "x"}),
		"/up.zip":      zipped(t, packed{name: "agent", content: "p"}, packed{name: `..\x`, content: "x"}),
		"/abs.tar.gz":  tgz(t, packed{name: outside, content: "x"}),
		"/link.tar.gz": tgz(t, packed{name: "d", target: "/tmp"}, packed{name: "agent", content: "p"}),
		"/deep.tar.gz": tgz(t, packed{name: "d", target: "a/../../.."}, packed{name: "agent", content: "p"}),
		// A link to a link: each stays inside by its text.
		"/two.tar.gz":  tgz(t, packed{name: "a/b/c", content: ""}, packed{name: "l", target: "a/b"}, packed{name: "m", target: "l/../../.."}),
		"/hard.tar.gz": tgz(t, packed{name: "agent", content: "p"}, packed{name: "h", target: "hard"}),
		"/dup.tar.gz":  tgz(t, packed{name: "agent", content: "p"}, packed{name: "agent", content: "q"}),
		"/none.tar.gz": tgz(t, packed{name: "other", content: "p"}),
		"/cut.tar.gz":  good[:len(good)/2],
		"/html.zip":    []byte("<html>"),
		"/dir.tar.gz":  tgz(t, packed{name: "agent/"}, packed{name: "agent/x", content: "p"}),
	}
	url := served(t, files)
	for path, want := range map[string]string{
		"/up.tar.gz": "leads out of the archive", "/up.zip": "leads out of the archive", "/abs.tar.gz": "leads out of the archive",
		"/link.tar.gz": "a link that leads out", "/deep.tar.gz": "a link that leads out", "/two.tar.gz": "a link that leads out", "/hard.tar.gz": "neither a file nor",
		"/dup.tar.gz": "exists", "/none.tar.gz": "there is no agent in the archive", "/cut.tar.gz": "unexpected EOF",
		"/html.zip": "not a valid zip", "/dir.tar.gz": "not a file", "/missing.tar.gz": "404", "/plain": "not https",
	} {
		store := acpclient.AgentStore{Dir: t.TempDir(), Platform: "linux-x86_64"}
		err := store.Install(t.Context(), binary(t, url+path, "agent", sumOf(files[path])), nil)
		require.ErrorContains(t, err, want, path)
		left, _ := os.ReadDir(store.Dir)
		require.Empty(t, left, path)
	}
	require.NoFileExists(t, outside)

	store := acpclient.AgentStore{Dir: t.TempDir(), Platform: "linux-x86_64"}
	wrong := binary(t, url+"/good.tar.gz", "agent", sumOf([]byte("other")))
	require.ErrorContains(t, store.Install(t.Context(), wrong, nil), "but the registry lists")
	unknown := binary(t, url+"/good.tar.gz", "agent", "")
	require.ErrorContains(t, store.Install(t.Context(), unknown, nil), "AllowUnverified")
	store.AllowUnverified = true
	require.NoError(t, store.Install(t.Context(), unknown, nil))

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	store = acpclient.AgentStore{Dir: t.TempDir(), Platform: "linux-x86_64"}
	require.ErrorContains(t, store.Install(ctx, binary(t, url+"/good.tar.gz", "agent", sumOf(good)), nil), "enough")
	store.Platform = "windows-aarch64"
	require.ErrorContains(t, store.Install(t.Context(), wrong, nil), "not distributed for windows-aarch64, only for linux-x86_64")
}

func TestErrorSaysWhatCannotBeWritten(t *testing.T) {
	store := acpclient.AgentStore{Dir: filepath.Join(t.TempDir(), "store"), Platform: "linux-x86_64"}
	var root string
	defer acpclient.SetTransport(roundTrip(func(r *http.Request) (*http.Response, error) {
		if err := os.RemoveAll(root); err != nil { // while the server answers
			return nil, err
		}
		return &http.Response{StatusCode: 200, Status: "200 OK", Body: io.NopCloser(strings.NewReader("program")), Request: r}, nil
	}))()
	a := binary(t, "https://example.com/raw", "./agent", sumOf([]byte("program")))
	var missing *acpclient.NotInstalledError
	_, err := store.Command(a)
	require.ErrorAs(t, err, &missing)
	root = filepath.Dir(missing.Dir)
	err = store.Install(t.Context(), a, nil)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, ".download-")
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
