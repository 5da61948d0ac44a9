// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/ponte-go/ponte/internal/guard"
	"github.com/ponte-go/ponte/internal/show"
)

// Install installs an agent, unless it is installed already. Of an agent's ways it takes the first
// one of npx, uvx and binary that is possible here.
//
//   - npx runs "npm install" for the pinned package, whose install scripts run too, as with npx itself.
//   - uvx runs "uv tool install" for the pinned package.
//   - binary downloads the archive over HTTPS and unpacks it. Its checksum is verified before anything is unpacked. A binary for which the
//     registry has no checksum is refused unless [AgentStore.AllowUnverified] is set.
//
// npm and uv choose the versions of a package's dependencies, with the user's settings, such as a
// mirror or a proxy. out gets what npm and uv print; it may be nil. When ctx ends, so does the
// installation, and nothing half installed is used later.
//
// An agent that the user has installed, see [RegistryDistribution.Command], has nothing to install.
func (s AgentStore) Install(ctx context.Context, a *RegistryAgent, out io.Writer) error {
	if a.Distribution.Command != nil {
		return nil
	}
	_, err := s.Command(a)
	missing, ok := errors.AsType[*NotInstalledError](err)
	if !ok {
		return err
	}
	if missing.Needs != "" {
		return missing
	}
	ways, err := s.ways(a)
	if err != nil {
		return err
	}
	w := first(ways)
	root := filepath.Dir(w.dir)
	if err := os.MkdirAll(root, 0o700); err != nil {
		return fmt.Errorf("acpclient: %w", err)
	}
	if err := s.install(ctx, w, root, out); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("acpclient: install %s %s: %w", a.ID, a.Version, err)
	}
	if program, err := w.program(); err != nil || program == "" {
		return fmt.Errorf("acpclient: install %s %s: the installed package has no program: %w", a.ID, a.Version, cmp.Or(err, os.ErrNotExist))
	}
	return nil
}

func (s AgentStore) install(ctx context.Context, w *way, root string, out io.Writer) error {
	if w.tool == "uv" { // its environments cannot be moved; the program is linked when all else is there
		return runInstaller(ctx, w, w.dir, root, out)
	}
	unfinished, err := os.MkdirTemp(root, ".unfinished-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(unfinished)
	if w.bin != nil {
		err = s.fetch(ctx, w.bin, root, unfinished)
	} else {
		err = runInstaller(ctx, w, unfinished, root, out)
	}
	if err != nil {
		return err
	}
	if err := os.Rename(unfinished, w.dir); err == nil {
		return nil
	}
	// Either another process was quicker, or there is a directory without the program.
	if program, err := w.program(); err == nil && program != "" {
		return nil
	}
	if err := os.RemoveAll(w.dir); err != nil {
		return err
	}
	return os.Rename(unfinished, w.dir)
}

// installerEnv are the settings of npm and uv. Nothing else that may be secret reaches what they
// install, which runs scripts.
var installerEnv = []string{"NPM_CONFIG_*", "UV_*"}

// runInstaller runs npm or uv. It runs in the store's directory: the settings of the project at
// hand must not lead it elsewhere.
func runInstaller(ctx context.Context, w *way, dir, root string, out io.Writer) error {
	args, env := w.install(dir)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = root, append(guard.Environ(os.Environ(), installerEnv), env...)
	cmd.WaitDelay = 5 * time.Second
	tail := &tail{}
	cmd.Stdout, cmd.Stderr = tail, tail
	if out != nil {
		cmd.Stdout = io.MultiWriter(tail, out)
		cmd.Stderr = cmd.Stdout
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", args[0], err, tail)
	}
	return nil
}

// tail keeps the last bytes of what is written to it.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	const most = 1000
	t.b = append(t.b, p[max(0, len(p)-most):]...)
	t.b = t.b[max(0, len(t.b)-most):]
	return len(p), nil
}

func (t *tail) String() string {
	return show.Line(strings.ToValidUTF8(strings.Join(strings.Fields(string(t.b)), " "), ""))
}

// Bounds of an archive.
const (
	maxArchive  = 1 << 30
	maxUnpacked = 4 << 30
	maxEntries  = 200_000
)

// httpClient is replaced by tests.
var httpClient = &http.Client{CheckRedirect: func(r *http.Request, via []*http.Request) error {
	switch {
	case r.URL.Scheme != "https":
		return fmt.Errorf("the server leads to an address that is not https")
	case len(via) >= 10:
		return errors.New("the server leads to ten addresses, one after the other")
	}
	return nil
}}

// fetch downloads an archive, verifies and unpacks it.
func (s AgentStore) fetch(ctx context.Context, b *RegistryArchive, root, dir string) error {
	if b.SHA256 == "" && !s.AllowUnverified {
		return errors.New("the registry has no checksum for it: " +
			"set AgentStore.AllowUnverified to trust its server")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.Archive, nil)
	if err != nil {
		return err
	}
	res, err := httpClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("download: the server answers %s", res.Status)
	}
	file, err := os.CreateTemp(root, ".download-")
	if err != nil {
		return err
	}
	defer func() {
		_ = file.Close()
		_ = os.Remove(file.Name())
	}()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(file, sum), io.LimitReader(res.Body, maxArchive+1))
	switch {
	case err != nil:
		return fmt.Errorf("download: %w", err)
	case n > maxArchive:
		return fmt.Errorf("download: the archive is larger than %d bytes", maxArchive)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); b.SHA256 != "" && !strings.EqualFold(got, b.SHA256) {
		return fmt.Errorf("the download has the checksum %s, but the registry lists %s", got, strings.ToLower(b.SHA256))
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	to, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer to.Close()
	cmd := path.Clean(b.Cmd)
	if err := unpack(ctx, format(b.Archive), file, n, to, cmd); err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	info, err := to.Stat(cmd)
	switch {
	case err != nil:
		return fmt.Errorf("there is no %s in the archive", cmd)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s in the archive is not a file", cmd)
	}
	return to.Chmod(cmd, 0o755)
}
